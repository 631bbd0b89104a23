/**
 * The rows of a consumer table: one offset per (queue, partition), with what is known of the queue's
 * rows around it.
 *
 * Specified in: yt/yt/client/queue_client/consumer_client.cpp.
 */
import { isMap, mapOf, Uint64, YtError } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import { parseYson, stringToBytes, writeYson } from "@qyt/yson";
import type { TabletTransaction } from "../tablets/index.ts";
import type { ConsumerTable } from "./consumer-schemas.ts";
import type { QueueRowInfo } from "./queue-rows.ts";
import type { Reference } from "./reference.ts";

/** The stored offset of a partition: the first row not yet processed. No row means 0. */
export function readOffset(
  transaction: TabletTransaction,
  consumer: ConsumerTable,
  queue: Reference,
  partitionIndex: bigint,
): { readonly offset: bigint; readonly meta: RowValue } {
  const key = keyOf(consumer, queue, partitionIndex);
  const [row] = transaction.lookup(consumer.table, [key]);
  const offset = row?.[key.length];
  return { offset: typeof offset === "bigint" ? offset : 0n, meta: row?.[key.length + 1] ?? null };
}

export interface OffsetChange {
  readonly queue: Reference;
  readonly partitionIndex: bigint;
  /** The offset that must be stored now, read at the start of the transaction. */
  readonly oldOffset: bigint | undefined;
  readonly newOffset: bigint;
}

/** @throws YtError 3100 when the stored offset is another one than expected */
export function checkOldOffset(
  transaction: TabletTransaction,
  consumer: ConsumerTable,
  change: OffsetChange,
): void {
  if (change.oldOffset === undefined) {
    return;
  }
  const { offset: current, meta } = readOffset(transaction, consumer, change.queue, change.partitionIndex);
  if (current !== change.oldOffset) {
    throw new YtError(
      `Offset conflict at partition ${change.partitionIndex} of consumer ${consumer.table.path}: expected offset ${change.oldOffset}, found offset ${current}`,
      {
        code: "ConsumerOffsetConflict",
        attributes: {
          partition: change.partitionIndex,
          consumer: consumer.table.path,
          expected_offset: change.oldOffset,
          current_offset: current,
          current_offset_timestamp: timestampOf(meta),
          ...(consumer.name === undefined ? {} : { queue_consumer_name: consumer.name }),
        },
      },
    );
  }
}

/** Writes the offset; `meta` too where the table has it, also when it is null, so that no stale value stays. */
export function writeOffset(
  transaction: TabletTransaction,
  consumer: ConsumerTable,
  change: OffsetChange,
  meta: OffsetMeta | undefined,
): void {
  const row: RowValue[] = [...keyOf(consumer, change.queue, change.partitionIndex), change.newOffset];
  if (consumer.hasMeta) {
    row.push(meta === undefined ? null : encodeMeta(meta));
  }
  transaction.writeRow(consumer.table, row);
}

/** What a consumer row says of the queue's rows at its offset. */
export interface OffsetMeta {
  /** Weight of everything before the offset, in bytes. */
  readonly cumulativeDataWeight: bigint | undefined;
  /** Commit timestamp of the row at the offset. */
  readonly offsetTimestamp: bigint | undefined;
}

/** From the rows `offset - 1` and `offset`; `undefined` when neither is there. */
export function metaOf(rows: ReadonlyMap<bigint, QueueRowInfo>, offset: bigint): OffsetMeta | undefined {
  const before = rows.get(offset - 1n);
  const at = rows.get(offset);
  if (before === undefined && at === undefined) {
    return undefined;
  }
  return { cumulativeDataWeight: before?.cumulativeDataWeight, offsetTimestamp: at?.timestamp };
}

function encodeMeta(meta: OffsetMeta): YsonAny {
  return new YsonAny(
    writeYson(
      mapOf({
        cumulative_data_weight: meta.cumulativeDataWeight ?? null,
        offset_timestamp: meta.offsetTimestamp === undefined ? null : new Uint64(meta.offsetTimestamp),
      }),
      "binary",
    ),
  );
}

function timestampOf(meta: RowValue): Uint64 | null {
  const timestamp = meta instanceof YsonAny ? decodeOffsetTimestamp(meta) : undefined;
  return timestamp ?? null;
}

function keyOf(consumer: ConsumerTable, queue: Reference, partitionIndex: bigint): RowValue[] {
  const key: RowValue[] = [stringToBytes(queue.cluster), stringToBytes(queue.path), partitionIndex];
  return consumer.name === undefined ? key : [stringToBytes(consumer.name), ...key];
}

function decodeOffsetTimestamp(meta: YsonAny): Uint64 | undefined {
  const value = parseYson(meta.bytes);
  const timestamp = isMap(value) ? value.get("offset_timestamp") : undefined;
  return timestamp instanceof Uint64 ? timestamp : undefined;
}
