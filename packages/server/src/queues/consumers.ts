/**
 * `advance_queue_consumer`, and what `pull_queue_consumer` checks before it reads.
 *
 * Specified in: yt/yt/ytlib/api/native/transaction.cpp (DoAdvanceQueueConsumer),
 * client_dynamic_tables_impl.cpp (DoPullQueueConsumer).
 */
import { toYtError, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { TabletTransaction } from "../tablets/index.ts";
import { type ConsumerTable, consumerTable } from "./consumer-schemas.ts";
import { type ChangeOptions, inTransaction, type QueueContext, type QueueServices } from "./context.ts";
import {
  checkOldOffset,
  metaOf,
  type OffsetChange,
  type OffsetMeta,
  readOffset,
  writeOffset,
} from "./offsets.ts";
import { checkPermission, permittedTable } from "./permissions.ts";
import { readRowInfos } from "./queue-rows.ts";
import type { Reference } from "./reference.ts";
import { clusterOf, consumerNameOf, formatReference } from "./reference.ts";
import {
  requireKnownCluster,
  requireLocalCluster,
  resolveConsumer,
  resolveReference,
  unansweredBy,
} from "./references.ts";

export interface AdvanceParameters extends ChangeOptions {
  readonly consumerPath: RichPath;
  readonly queuePath: RichPath;
  readonly partitionIndex: bigint;
  readonly oldOffset: bigint | undefined;
  readonly newOffset: bigint;
  /** Writes the consumer's row directly: no registration needed, the queue need not exist, no meta. */
  readonly clientSide: boolean;
}

/** Sets the offset of one partition. In the caller's transaction it takes effect at its commit. */
export async function advanceQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: AdvanceParameters,
): Promise<void> {
  requireNotNegative("offset", parameters.newOffset);
  requireNotNegative("partition index", parameters.partitionIndex);
  requireLocalConsumer(services, parameters.consumerPath);
  await inTransaction(services, context, parameters, (transaction) =>
    parameters.clientSide
      ? advanceClientSide(services, context, transaction, parameters)
      : advanceServerSide(services, context, transaction, parameters),
  );
}

function advanceClientSide(
  services: QueueServices,
  context: QueueContext,
  transaction: TabletTransaction,
  parameters: AdvanceParameters,
): void {
  const table = permittedTable(services, context, parameters.consumerPath, "write");
  if (parameters.oldOffset !== undefined) {
    checkPermission(table, context, "read");
  }
  const consumer = consumerTable(table, consumerNameOf(parameters.consumerPath));
  const change = changeOf(parameters, {
    cluster: clusterOf(parameters.queuePath) ?? services.clusterName,
    path: parameters.queuePath.path,
  });
  checkOldOffset(transaction, consumer, change);
  writeOffset(transaction, consumer, change, undefined);
}

async function advanceServerSide(
  services: QueueServices,
  context: QueueContext,
  transaction: TabletTransaction,
  parameters: AdvanceParameters,
): Promise<void> {
  const table = permittedTable(services, context, parameters.consumerPath, "read");
  const queue = await requireRegistration(services, context, parameters.consumerPath, parameters.queuePath);
  requireKnownCluster(services, queue.cluster, parameters.queuePath);
  const consumer = consumerTable(table, consumerNameOf(parameters.consumerPath));
  checkPermission(table, context, "write");
  const change = changeOf(parameters, queue);
  checkOldOffset(transaction, consumer, change);
  writeOffset(transaction, consumer, change, await metaAt(services, context, change));
}

/** A failure to read the queue loses the meta, never the advance. */
async function metaAt(
  services: QueueServices,
  context: QueueContext,
  change: OffsetChange,
): Promise<OffsetMeta | undefined> {
  try {
    const rows = await readRowInfos(
      services,
      context,
      change.queue,
      change.partitionIndex,
      change.newOffset - 1n,
      change.newOffset + 1n,
    );
    return metaOf(rows, change.newOffset);
  } catch {
    return undefined;
  }
}

/**
 * The registered queue that the pair of paths means.
 * @throws YtError 901 without a registration, 500 when either table is missing
 */
export async function requireRegistration(
  services: QueueServices,
  context: QueueContext,
  consumerPath: RichPath,
  queuePath: RichPath,
): Promise<Reference> {
  const consumer = await resolveConsumer(services, context, consumerPath, "strict");
  const queue = await resolveQueue(services, context, queuePath);
  if ((await services.registrations.find(context, queue, consumer)) === undefined) {
    // It may be registered where the cluster of the queue keeps its registrations.
    const elsewhere = await services.keepers.disagreement(context, queue.cluster).catch(() => undefined);
    throw new YtError(
      `Consumer ${formatReference(consumer)} is not registered for queue ${formatReference(queue)}`,
      {
        code: "AuthorizationError",
        inner: elsewhere === undefined ? [] : [elsewhere],
        attributes: { raw_queue: queuePath.path, raw_consumer: consumerPath.path },
      },
    );
  }
  return queue;
}

/**
 * Refuses a consumer of another cluster: its offsets are read and written where it is. The real system takes
 * the table of the same path on this cluster then, and says nothing.
 */
export function requireLocalConsumer(services: QueueServices, consumerPath: RichPath): void {
  requireLocalCluster(
    services,
    consumerPath,
    "send pull_queue_consumer and advance_queue_consumer to the cluster of the consumer",
  );
}

/** Both texts are looked for by tests of the real system's two generations. */
async function resolveQueue(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
): Promise<Reference> {
  try {
    return await resolveReference(services, context, path, "strict");
  } catch (thrown) {
    const error = toYtError(thrown);
    throw error.wrap(`Failed to resolve queue path${unansweredBy(clusterOf(path), error)}`, {
      path: path.path,
    });
  }
}

/** The offset that a pull with offset null starts at. */
export function storedOffset(
  services: QueueServices,
  context: QueueContext,
  consumer: ConsumerTable,
  queue: Reference,
  partitionIndex: bigint,
): bigint {
  if (partitionIndex < 0n) {
    // No such partition, and no such key: the queue says so.
    return 0n;
  }
  const transaction = services.transactions.begin({ user: context.user });
  try {
    return readOffset(transaction, consumer, queue, partitionIndex).offset;
  } finally {
    transaction.abort();
  }
}

function changeOf(parameters: AdvanceParameters, queue: Reference): OffsetChange {
  return {
    queue,
    partitionIndex: parameters.partitionIndex,
    oldOffset: parameters.oldOffset,
    newOffset: parameters.newOffset,
  };
}

function requireNotNegative(what: string, value: bigint): void {
  if (value < 0n) {
    throw new YtError(`Queue consumer ${what} ${value} cannot be negative`);
  }
}
