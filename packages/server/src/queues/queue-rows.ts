/** What offsets need to know of single rows of a queue, on this cluster or on another. */
import type { QueueContext, QueueServices } from "./context.ts";
import type { Reference } from "./reference.ts";

/** Fields are absent when the queue's schema lacks the column or the value is null. */
export interface QueueRowInfo {
  readonly timestamp?: bigint;
  /** Bytes up to and including the row. */
  readonly cumulativeDataWeight?: bigint;
}

/**
 * Rows [from, to) of a partition that exist now. Reads under the caller's rights.
 * @throws YtError whatever reading throws
 */
export async function readRowInfos(
  services: QueueServices,
  context: QueueContext,
  queue: Reference,
  partitionIndex: bigint,
  from: bigint,
  to: bigint,
): Promise<Map<bigint, QueueRowInfo>> {
  const start = from < 0n ? 0n : from;
  const result = new Map<bigint, QueueRowInfo>();
  if (services.clusters.isLocal(queue.cluster)) {
    const table = services.tables.dynamicTable({ user: context.user }, queue.path, { permission: "read" });
    for (const info of table.readTarget().rowInfos(Number(partitionIndex), Number(start), Number(to))) {
      result.set(BigInt(info.rowIndex), info);
    }
    return result;
  }
  const rows = await services.clusters.call(queue.cluster, context.user, context, (client, options) =>
    client.pullQueue(queue.path, start, Number(partitionIndex), { ...options, maxRowCount: to - start }),
  );
  for (const row of rows) {
    const index = row.$row_index;
    if (typeof index === "bigint" && index < to) {
      const timestamp = row.$timestamp;
      const weight = row.$cumulative_data_weight;
      result.set(index, {
        ...(typeof timestamp === "bigint" ? { timestamp } : {}),
        ...(typeof weight === "bigint" ? { cumulativeDataWeight: weight } : {}),
      });
    }
  }
  return result;
}
