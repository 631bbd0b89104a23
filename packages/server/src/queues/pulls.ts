/**
 * `pull_queue` and `pull_queue_consumer`: portions of rows of one partition.
 *
 * Specified in: yt/yt/ytlib/api/native/client_dynamic_tables_impl.cpp (DoPullQueueImpl), FetchTableRows
 * of yt/yt/server/node/tablet_node/query_service.cpp.
 */
import { withAttributes, YtError } from "@qyt/base";
import type { DataFormat, RichPath } from "@qyt/yson";
import { onCluster } from "../clusters/index.ts";
import { type DynamicTable, type RowSlice, SliceWriter } from "../tablets/index.ts";
import { requireRegistration, storedOffset } from "./consumers.ts";
import type { QueueContext, QueueServices } from "./context.ts";
import { type Reference, requireKnownCluster } from "./references.ts";

export const defaultMaxRowCount = 1000n;
/** In bytes of data weight. */
export const defaultMaxDataWeight = 16n * 1024n * 1024n;

export interface PullLimits {
  readonly partitionIndex: number;
  readonly maxRowCount: bigint;
  readonly maxDataWeight: bigint;
  readonly dataWeightPerRowHint: bigint | undefined;
  readonly replicaConsistency: "none" | "sync";
}

export interface PullResult {
  readonly chunks: AsyncIterable<Buffer>;
  /** Index of the first row returned, or the asked offset when there is none. Known once reading began. */
  readonly startOffset: () => bigint;
}

export type PullQueueParameters = PullLimits & {
  readonly queuePath: RichPath;
  readonly offset: bigint;
  readonly format: DataFormat;
};

/** Rows of a queue of this cluster; the cluster attribute of the path is ignored, as in the real system. */
export async function pullQueue(
  services: QueueServices,
  context: QueueContext,
  parameters: PullQueueParameters,
): Promise<PullResult> {
  checkLimits(parameters, parameters.offset, parameters.queuePath.path);
  const table = queueTable(services, context, parameters.queuePath);
  table.check(context.user, "read");
  return pullLocal(table, parameters, parameters.offset);
}

export type PullQueueConsumerParameters = PullLimits & {
  readonly consumerPath: RichPath;
  readonly queuePath: RichPath;
  /** Absent: the stored offset of the consumer. */
  readonly offset: bigint | undefined;
  readonly format: DataFormat;
};

/** Rows of a queue, on any cluster, for who may read the registered consumer. Does not move the offset. */
export async function pullQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: PullQueueConsumerParameters,
): Promise<PullResult> {
  const consumer = services.tables.dynamicTable(context, parameters.consumerPath, { permission: "read" });
  const queue = await requireRegistration(services, context, parameters.consumerPath, parameters.queuePath);
  requireKnownCluster(services, queue.cluster, parameters.queuePath);
  const offset =
    parameters.offset ?? storedOffset(services, context, consumer, queue, BigInt(parameters.partitionIndex));
  checkLimits(parameters, offset, parameters.queuePath.path);
  if (services.clusters.isLocal(queue.cluster)) {
    return pullLocal(services.tables.dynamicTable(context, queue.path), parameters, offset);
  }
  return pullRemote(services, context, queue, parameters, offset);
}

function queueTable(services: QueueServices, context: QueueContext, path: RichPath): DynamicTable {
  return services.tables.dynamicTable(context, path);
}

function pullLocal(
  table: DynamicTable,
  parameters: PullLimits & { readonly format: DataFormat },
  offset: bigint,
): PullResult {
  if (table.sorted) {
    throw new YtError(`Table ${table.path} is not ordered`, { attributes: { path: table.path } });
  }
  const tablet = table.readableTablet(parameters.partitionIndex);
  const writer = new SliceWriter(parameters.format, table.schema, table.querySchema, { isSchemaful: true });
  let start = offset;
  let isFirst = true;
  const onSlice = (slice: RowSlice): void => {
    if (isFirst) {
      start = BigInt(slice.block.firstRowIndex + slice.from);
      isFirst = false;
    }
  };
  const slices = tablet.read(toRowIndex(offset), {
    maxRowCount: rowLimit(parameters),
    maxDataWeight: toRowIndex(parameters.maxDataWeight),
    stopAtStoreEnd: true,
  });
  return { chunks: encode(slices, writer, parameters.partitionIndex, onSlice), startOffset: () => start };
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

/** The other cluster reads its queue and sends the rows in the asked format; they pass through as bytes. */
function pullRemote(
  services: QueueServices,
  context: QueueContext,
  queue: Reference,
  parameters: PullQueueConsumerParameters,
  offset: bigint,
): PullResult {
  const client = services.clusters.client(queue.cluster, context.user);
  if (client === undefined) {
    throw new YtError(`Queue cluster "${queue.cluster}" was not found for path ${parameters.queuePath.path}`);
  }
  const chunks = client.streamRows(
    "pull_queue",
    {
      queue_path: queue.path,
      partition_index: BigInt(parameters.partitionIndex),
      offset,
      max_row_count: parameters.maxRowCount,
      max_data_weight: parameters.maxDataWeight,
      data_weight_per_row_hint: parameters.dataWeightPerRowHint,
      replica_consistency: parameters.replicaConsistency,
      output_format: withAttributes(parameters.format.name, parameters.format.attributes),
    },
    context.signal === undefined ? {} : { signal: context.signal },
  );
  return { chunks: named(queue.cluster, chunks), startOffset: () => offset };
}

/** Errors of the stream say which cluster they come from. */
async function* named(cluster: string, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await onCluster(cluster, () => iterator.next());
      if (next.done === true) {
        return;
      }
      yield next.value;
    }
  } finally {
    await iterator.return?.();
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
  const hinted =
    limits.dataWeightPerRowHint === undefined
      ? limits.maxRowCount
      : limits.maxDataWeight / limits.dataWeightPerRowHint;
  const limit = hinted < limits.maxRowCount ? hinted : limits.maxRowCount;
  return toRowIndex(limit < 1n ? 1n : limit);
}

/** A non-negative int64 as a number; beyond 2^53 there are no rows. */
function toRowIndex(value: bigint): number {
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value);
}
