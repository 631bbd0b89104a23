/**
 * Which partitions of a queue are read: those that were there at first, and new ones after a reshard as soon as all
 * rows that are older have been read, so that rows with one key keep their order when they move to a new partition.
 */
import type { RowCommands } from "../commands/rows.ts";
import type { Layout } from "./group-table.ts";
import { type QueueLink, timestampOf } from "./queue-link.ts";

/** Where a consumer begins that has never read: at the first row, behind the last one, or at a time. */
export type StartPolicy = "first" | "end" | { readonly time: Date | bigint };

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The layout of a queue that is read for the first time, and the offsets at which its partitions begin. */
export async function firstLayout(
  link: QueueLink,
  start: StartPolicy,
): Promise<{ readonly layout: Layout; readonly starts: ReadonlyMap<number, bigint> }> {
  const count = await link.partitionCount();
  const starts = new Map<number, bigint>();
  if (start !== "first") {
    const stored = await link.storedOffsets(indexes(count));
    await inParallel(indexes(count), async (partition) => {
      if (!stored.has(partition)) {
        const bounds = await link.bounds(partition, 0n);
        const offset =
          start === "end" ? bounds.end : await link.offsetAt(partition, timestampOf(start.time), bounds);
        starts.set(partition, offset);
      }
    });
  }
  return { layout: { count, pending: count, barrier: [] }, starts };
}

/** Stores where the partitions begin. */
export async function storeStarts(
  link: QueueLink,
  starts: ReadonlyMap<number, bigint>,
  via: RowCommands,
): Promise<void> {
  await Promise.all([...starts].map(([partition, offset]) => link.advance(partition, 0n, offset, via)));
}

/** The layout after this one, or this one when nothing has changed: a reshard was seen, or was caught up with. */
export async function nextLayout(link: QueueLink, layout: Layout): Promise<Layout> {
  if (layout.pending > layout.count) {
    return (await isDrained(link, layout))
      ? { count: layout.pending, pending: layout.pending, barrier: [] }
      : layout;
  }
  const count = await link.partitionCount();
  if (count < layout.count) {
    return { count, pending: count, barrier: [] };
  }
  if (count === layout.count) {
    return layout;
  }
  const barrier: bigint[] = [];
  const stored = await link.storedOffsets(indexes(layout.count));
  await inParallel(indexes(layout.count), async (partition) => {
    barrier[partition] = (await link.bounds(partition, stored.get(partition) ?? 0n)).end;
  });
  return { count: layout.count, pending: count, barrier };
}

/** Whether all rows below the barrier were read, or are gone. */
async function isDrained(link: QueueLink, layout: Layout): Promise<boolean> {
  const stored = await link.storedOffsets(indexes(layout.count));
  for (const partition of indexes(layout.count)) {
    const offset = stored.get(partition) ?? 0n;
    const barrier = layout.barrier[partition] ?? 0n;
    if (offset < barrier && (await link.bounds(partition, offset)).first < barrier) {
      return false;
    }
  }
  return true;
}

const lanes = 8;

/** Does the work for each item, a few at a time. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let next = left.next(); next.done !== true; next = left.next()) {
        await work(next.value);
      }
    }),
  );
}
