/**
 * Brings batches to the queue one after the other. A batch is sent again after any failure that another
 * attempt may not meet: the session skips the rows that it has, so none is written twice.
 *
 * Specified in: yt/yt/ytlib/api/native/transaction.cpp (DoPushQueueProducer).
 */
import { type ErrorCodeName, sleep, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { RowCommands } from "../commands/rows.ts";
import { isRetriable } from "../core.ts";
import type { PathInput } from "../types.ts";
import type { Batch } from "./batches.ts";
import { ProducerFenced, readSession } from "./fenced.ts";

export interface DeliveryOptions {
  readonly commands: RowCommands;
  readonly producerPath: PathInput;
  readonly queuePath: PathInput;
  readonly sessionId: string;
  readonly epoch: bigint;
  /** Rows have their numbers in `$sequence_number`. */
  readonly areNumbersInRows: boolean;
  readonly requireSyncReplica: boolean | undefined;
  /** How long one batch is tried, in milliseconds. */
  readonly deliveryTimeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Delivered {
  readonly lastNumber: bigint;
  readonly skippedRowCount: bigint;
}

/** What passes by itself: tablets that move or are mounted, and a push of this session that is still under way. */
const passing: readonly ErrorCodeName[] = [
  "TransactionLockConflict",
  "NoSuchTablet",
  "TabletNotMounted",
  "InvalidTabletState",
  "TabletIsInIntermediateState",
  "TableMountInfoNotReady",
  "AllWritesDisabled",
  "NoSyncReplicas",
  "SyncReplicaNotInSync",
  "NoSuchCell",
  "CellHasNoAssignedPeers",
  "RequestThrottled",
  "BundleResourceLimitExceeded",
];

/**
 * @throws ProducerFenced when the session was taken over
 * @throws YtError when the batch cannot be written, or not in time: whether it was is then told by the session
 */
export async function deliver(batch: Batch, options: DeliveryOptions): Promise<Delivered> {
  const { commands, signal } = options;
  const { clock, random, retries } = commands.requester.options;
  const endMs = clock.monotonic() + options.deliveryTimeoutMs;
  for (let attempt = 1; ; attempt++) {
    let error: YtError;
    try {
      return await push(batch, options);
    } catch (thrown) {
      error = toYtError(thrown);
    }
    if (error.has("ZombieEpoch")) {
      throw new ProducerFenced(options, await readSession(commands, options), error);
    }
    const mayPass = isRetriable(error) || passing.some((code) => error.has(code));
    const ceilingMs = Math.min(retries.maxDelayMs, retries.minDelayMs * 2 ** Math.min(attempt - 1, 20));
    const pauseMs = ceilingMs * (0.5 + random.next());
    if (!mayPass || signal.aborted) {
      throw error;
    }
    if (clock.monotonic() + pauseMs > endMs) {
      throw undelivered(options, error);
    }
    await sleep(clock, pauseMs, signal);
  }
}

async function push(batch: Batch, options: DeliveryOptions): Promise<Delivered> {
  const { commands, producerPath, queuePath, sessionId, epoch, signal } = options;
  const body = batch.writer.buffer.subarray(0, batch.writer.length);
  const format: YsonValue = "yson";
  const pushed = await commands.pushQueueProducer(
    producerPath,
    queuePath,
    sessionId,
    epoch,
    { body, format },
    {
      signal,
      attempts: 1,
      ...(options.areNumbersInRows ? {} : { sequenceNumber: batch.firstNumber }),
      ...(options.requireSyncReplica === undefined ? {} : { requireSyncReplica: options.requireSyncReplica }),
    },
  );
  return { lastNumber: batch.lastNumber, skippedRowCount: pushed.skippedRowCount };
}

function undelivered({ deliveryTimeoutMs, sessionId }: DeliveryOptions, last: YtError): YtError {
  return new YtError(
    `Rows could not be delivered within ${deliveryTimeoutMs} ms; open session "${sessionId}" again: its sequence number tells the last row that is written`,
    { code: "Timeout", inner: [last], attributes: { session_id: sessionId } },
  );
}
