/**
 * Pulls through a consumer here from a queue on another cluster: that cluster reads and, if asked, waits;
 * its rows pass through as bytes.
 */
import { bare, isMap, toYtError, Uint64, withAttributes, type YsonValue, YtError } from "@qyt/base";
import { readChunks, type TransportResponse } from "@qyt/client";
import { parseYson } from "@qyt/yson";
import type { RemoteCall } from "../clusters/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";
import type { PullQueueConsumerParameters, PullResult, PullStart, PullSummary } from "./pull-types.ts";
import type { Wait } from "./pull-waits.ts";
import { type ConsumerReference, type Reference, referenceToYson } from "./reference.ts";

/** How long the other cluster may take for each piece of its answer, in milliseconds. */
const pieceTimeoutMs = 30_000;

/** How much of the time that the caller has is spent on waiting for rows. */
const waitShare = 0.8;

/**
 * The caller's right is the registered consumer, which was checked here; he needs none on the queue. Where
 * users are known, the other cluster is told the consumer, and looks for the registration itself; elsewhere
 * nobody's rights are checked, and it is not asked in his name.
 */
export async function pullRemote(
  services: QueueServices,
  context: QueueContext,
  consumer: ConsumerReference,
  queue: Reference,
  parameters: PullQueueConsumerParameters,
  { offset, mayRead }: PullStart,
): Promise<PullResult> {
  const client = services.clusters.client(queue.cluster, services.clusters.actingFor(context.user));
  if (client === undefined) {
    throw new YtError(`Queue cluster "${queue.cluster}" was not found for path ${parameters.queuePath.path}`);
  }
  // The other cluster says that there is nothing before the caller's time is over, not when it is.
  const waitTimeoutMs = Math.min(
    parameters.waitTimeoutMs,
    waitShare * (context.deadline?.remainingMs() ?? Number.MAX_SAFE_INTEGER),
  );
  const wait = services.waits.begin(
    undefined,
    parameters.waitTimeoutMs > 0 ? (context.endOfWait ?? context.signal) : context.signal,
  );
  const call = services.clusters.begin(queue.cluster, { deadline: context.deadline, signal: wait.signal });
  let response: TransportResponse;
  try {
    response = await call.step(pieceTimeoutMs + waitTimeoutMs, () =>
      client.requester.send({
        command: "pull_queue",
        method: "GET",
        isVolatile: false,
        parameters: {
          queue_path: queue.path,
          consumer_path: services.clusters.isAuthenticated ? referenceToYson(consumer) : undefined,
          partition_index: BigInt(parameters.partitionIndex),
          offset,
          max_row_count: parameters.maxRowCount,
          max_data_weight: parameters.maxDataWeight,
          data_weight_per_row_hint: parameters.dataWeightPerRowHint,
          replica_consistency: parameters.replicaConsistency,
          wait_timeout: waitTimeoutMs > 0 ? BigInt(Math.floor(waitTimeoutMs)) : undefined,
          output_format: withAttributes(parameters.format.name, parameters.format.attributes),
        },
        // The call looks at the time; the transport's own limit must not come first.
        timeoutMs: 2 * pieceTimeoutMs + waitTimeoutMs,
        signal: call.signal,
      }),
    );
  } catch (thrown) {
    wait.end();
    throw services.waits.isClosed ? stopping(thrown) : thrown;
  }
  const summary = summaryOf(response, offset);
  const checkAgain = async (): Promise<void> => {
    if (waitTimeoutMs > 0) {
      await context.checkUserAgain?.();
      await mayRead();
    }
  };
  return { chunks: passOn(call, response, wait, checkAgain), summary: () => summary };
}

function stopping(thrown: unknown): YtError {
  return new YtError("The cluster is stopping", { code: "Unavailable", inner: [toYtError(thrown)] });
}

function summaryOf(response: TransportResponse, offset: bigint): PullSummary {
  const header = response.headers.get("x-yt-response-parameters");
  const parameters = header === undefined ? undefined : parseYson(header);
  const integer = (name: string, fallback: bigint): bigint => {
    const value: YsonValue = isMap(parameters) ? bare(parameters.get(name) ?? null) : null;
    return typeof value === "bigint" ? value : fallback;
  };
  const revision = isMap(parameters) ? bare(parameters.get("tablet_layout_revision") ?? null) : null;
  return {
    startOffset: integer("start_offset", offset),
    skippedRowCount: integer("skipped_row_count", 0n),
    layoutRevision: revision instanceof Uint64 ? revision.value : undefined,
  };
}

/**
 * Errors of the stream say which cluster they come from.
 * @param checkAgain called before anything is passed on; throws when it must not be
 */
async function* passOn(
  call: RemoteCall,
  response: TransportResponse,
  wait: Wait,
  checkAgain: () => Promise<void>,
): AsyncIterable<Buffer> {
  const iterator = readChunks(response, "pull_queue")[Symbol.asyncIterator]();
  try {
    for (let isFirst = true; ; isFirst = false) {
      const next = await call.step(pieceTimeoutMs, () => iterator.next());
      if (isFirst) {
        await checkAgain();
      }
      if (next.done === true) {
        return;
      }
      yield next.value;
    }
  } finally {
    wait.end();
    await iterator.return?.();
  }
}
