/**
 * `pull_queue` and `pull_queue_consumer`: portions of rows of one partition.
 *
 * Specified in: yt/yt/ytlib/api/native/client_dynamic_tables_impl.cpp (DoPullQueueImpl), FetchTableRows
 * of yt/yt/server/node/tablet_node/query_service.cpp. Waiting for rows is an addition.
 */
import { YtError } from "@qyt/base";
import type { DataFormat, RichPath } from "@qyt/yson";
import { type DynamicTable, type RowSlice, SliceWriter } from "../tablets/index.ts";
import { consumerTable } from "./consumer-schemas.ts";
import { requireLocalConsumer, requireRegistration, storedOffset } from "./consumers.ts";
import type { QueueContext, QueueServices } from "./context.ts";
import { checkPermission, permittedTable } from "./permissions.ts";
import type {
  PullLimits,
  PullQueueConsumerParameters,
  PullQueueParameters,
  PullResult,
  PullStart,
} from "./pull-types.ts";
import { clusterOf, consumerNameOf, consumerOf, formatReference } from "./reference.ts";
import { requireKnownCluster, requireLocalCluster, resolveConsumer } from "./references.ts";
import { pullRemote } from "./remote-pulls.ts";

export const defaultMaxRowCount = 1000n;
/** In bytes of data weight. */
export const defaultMaxDataWeight = 16n * 1024n * 1024n;

/** Rows of a queue of this cluster. */
export async function pullQueue(
  services: QueueServices,
  context: QueueContext,
  parameters: PullQueueParameters,
): Promise<PullResult> {
  requireLocalCluster(
    services,
    parameters.queuePath,
    "read the queue with pull_queue_consumer through a registered consumer, or send pull_queue to its cluster",
  );
  checkLimits(parameters, parameters.offset, parameters.queuePath.path);
  const table = services.tables.dynamicTable(context, parameters.queuePath);
  const mayRead = (): Promise<void> | void =>
    isVouchedFor(context, parameters)
      ? requireForeignRegistration(services, context, table, parameters.consumerPath)
      : checkPermission(table, context, "read");
  await mayRead();
  requireOrdered(table);
  return pullLocal(services, context, table, parameters, { offset: parameters.offset, mayRead });
}

/** Rows of a queue, on any cluster, for who may read the registered consumer. Does not move the offset. */
export async function pullQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: PullQueueConsumerParameters,
): Promise<PullResult> {
  const { consumerPath, queuePath } = parameters;
  requireLocalConsumer(services, consumerPath);
  const table = permittedTable(services, context, consumerPath, "read");
  const queue = await requireRegistration(services, context, consumerPath, queuePath);
  requireKnownCluster(services, queue.cluster, queuePath);
  const offset =
    parameters.offset ??
    storedOffset(
      services,
      context,
      consumerTable(table, consumerNameOf(consumerPath)),
      queue,
      BigInt(parameters.partitionIndex),
    );
  checkLimits(parameters, offset, queuePath.path);
  if (!services.clusters.isLocal(queue.cluster)) {
    const consumer = await resolveConsumer(services, context, consumerPath, "strict");
    const mayReadHere = (): void => checkPermission(table, context, "read");
    return pullRemote(services, context, consumer, queue, parameters, { offset, mayRead: mayReadHere });
  }
  const queueTable = localQueue(services, context, queue.path, queuePath);
  requireOrdered(queueTable);
  const mayRead = async (): Promise<void> => {
    checkPermission(table, context, "read");
    await requireRegistration(services, context, consumerPath, queuePath);
  };
  return pullLocal(services, context, queueTable, parameters, { offset, mayRead });
}

/** The registered queue; or, where the path names a replica of it, that replica. */
function localQueue(
  { tables }: QueueServices,
  context: QueueContext,
  registered: string,
  given: RichPath,
): DynamicTable {
  const named = tables.dynamicTable(context, given);
  return named.upstreamReplicaId === undefined ? tables.dynamicTable(context, registered) : named;
}

type Vouched = PullQueueParameters & { readonly consumerPath: RichPath };

/**
 * Whether a trusted cluster says that the user may read a consumer of its own, so that the consumer's
 * registration stands for a right on the queue. What anybody else says of consumers does not count.
 */
function isVouchedFor(context: QueueContext, parameters: PullQueueParameters): parameters is Vouched {
  const { consumerPath } = parameters;
  return consumerPath !== undefined && context.peer !== undefined && clusterOf(consumerPath) === context.peer;
}

/** @throws YtError 901 without a registration */
async function requireForeignRegistration(
  services: QueueServices,
  context: QueueContext,
  table: DynamicTable,
  consumerPath: RichPath,
): Promise<void> {
  const queue = { cluster: services.clusterName, path: table.path };
  const consumer = consumerOf(
    { cluster: clusterOf(consumerPath) ?? "", path: consumerPath.path },
    consumerNameOf(consumerPath),
  );
  if ((await services.registrations.find(context, queue, consumer)) === undefined) {
    throw new YtError(
      `Consumer ${formatReference(consumer)} is not registered for queue ${formatReference(queue)}`,
      { code: "AuthorizationError" },
    );
  }
}

function requireOrdered(table: DynamicTable): void {
  if (table.sorted) {
    throw new YtError(`Table ${table.path} is not ordered`, { attributes: { path: table.path } });
  }
}

async function pullLocal(
  services: QueueServices,
  context: QueueContext,
  queue: DynamicTable,
  parameters: PullLimits & { readonly format: DataFormat },
  { offset: asked, mayRead }: PullStart,
): Promise<PullResult> {
  const offset = toRowIndex(asked);
  let table = readTarget(services, queue, parameters);
  if (parameters.waitTimeoutMs > 0) {
    const hasWaited = await waitForRow(services, context, table, parameters, offset);
    if (hasWaited) {
      await context.checkUserAgain?.();
      await mayRead();
      table = readTarget(services, queue, parameters);
    }
  }
  const tablet = table.readableTablet(parameters.partitionIndex);
  const { layoutRevision } = queue;
  const writer = new SliceWriter(parameters.format, table.schema, table.querySchema, { isSchemaful: true });
  let start: number | undefined;
  const onSlice = (slice: RowSlice): void => {
    start ??= slice.block.firstRowIndex + slice.from;
  };
  const slices = tablet.read(offset, {
    maxRowCount: rowLimit(parameters),
    maxDataWeight: toRowIndex(parameters.maxDataWeight),
    stopAtStoreEnd: true,
  });
  return {
    chunks: encode(slices, writer, parameters.partitionIndex, onSlice),
    summary: () => ({
      startOffset: start === undefined ? asked : BigInt(start),
      skippedRowCount: BigInt(Math.max(0, (start ?? tablet.visible.trimmedRowCount) - offset)),
      layoutRevision,
    }),
  };
}

/**
 * The table that has the rows: a synchronous replica of a replicated table, and, if the caller wants
 * consistency, also of the one that the table is a replica of.
 * @throws YtError 1736 when no such replica has all rows
 */
function readTarget(
  { tables }: QueueServices,
  queue: DynamicTable,
  { replicaConsistency }: PullLimits,
): DynamicTable {
  const replicated = replicaConsistency === "sync" ? tables.replication.logOfReplica(queue) : undefined;
  return (replicated?.table ?? queue).readTarget();
}

/** Waits until there is a row at the offset or after, or for as long as the caller wants. True if it had to. */
async function waitForRow(
  services: QueueServices,
  context: QueueContext,
  table: DynamicTable,
  limits: PullLimits,
  offset: number,
): Promise<boolean> {
  const longestMs = context.deadline?.remainingMs() ?? limits.waitTimeoutMs;
  const wait = services.waits.begin(
    Math.min(limits.waitTimeoutMs, longestMs),
    context.endOfWait ?? context.signal,
  );
  try {
    for (let hasWaited = false; ; hasWaited = true) {
      // Looked up anew: meanwhile it may be unmounted, which is an error, or another one.
      const tablet = table.readableTablet(limits.partitionIndex);
      const { totalRowCount, trimmedRowCount } = tablet.visible;
      const wanted = Math.max(offset, trimmedRowCount);
      if (wanted < totalRowCount || wait.signal.aborted) {
        return hasWaited;
      }
      await tablet.waitForRows(wanted, wait.signal).catch(onlyWhenAborted(wait.signal));
    }
  } finally {
    wait.end();
  }
}

function onlyWhenAborted(signal: AbortSignal): (thrown: unknown) => void {
  return (thrown) => {
    if (!signal.aborted) {
      throw thrown;
    }
  };
}

/** A chunk is sent when so many bytes wait: large enough to be cheap, small enough to keep memory low. */
const chunkBytes = 256 * 1024;

async function* encode(
  slices: Iterable<RowSlice>,
  output: SliceWriter,
  tabletIndex: number,
  onSlice: (slice: RowSlice) => void,
): AsyncIterable<Buffer> {
  for (const slice of slices) {
    onSlice(slice);
    output.write(slice, tabletIndex);
    if (output.writer.length >= chunkBytes) {
      yield output.writer.take();
    }
  }
  const rest = output.writer.finish();
  if (rest.length > 0) {
    yield rest;
  }
}

function checkLimits(limits: PullLimits, offset: bigint, path: string): void {
  if (offset < 0n) {
    throw new YtError(`Cannot read table ${path} at a negative offset ${offset}`);
  }
  if (limits.maxRowCount <= 0n) {
    throw new YtError("MaxRowCount is non-positive");
  }
  if (limits.maxDataWeight <= 0n) {
    throw new YtError("MaxDataWeight is non-positive");
  }
  if (limits.dataWeightPerRowHint !== undefined && limits.dataWeightPerRowHint <= 0n) {
    throw new YtError("DataWeightPerRowHint is non-positive");
  }
}

/** The row limit, lowered by the hint how much a row weighs; never below 1. */
function rowLimit(limits: PullLimits): number {
  let limit = limits.maxRowCount;
  if (limits.dataWeightPerRowHint !== undefined) {
    const hinted = limits.maxDataWeight / limits.dataWeightPerRowHint;
    if (hinted < limit) {
      limit = hinted;
    }
  }
  return toRowIndex(limit < 1n ? 1n : limit);
}

/** A non-negative int64 as a number; beyond 2^53 there are no rows. */
function toRowIndex(value: bigint): number {
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value);
}
