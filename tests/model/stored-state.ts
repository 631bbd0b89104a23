/** What a cluster has stored, against what the model has. */
import { bare, Uint64 } from "@qyt/base";
import { compareMeta } from "./answers.ts";
import { type ConsumerName, consumerNames, type Place, type QueueModel, queueNames } from "./queue-model.ts";
import { consumerPath, producerPath } from "./real-cluster.ts";
import { expectSame } from "./same.ts";
import type { World } from "./world.ts";

/** The sessions that histories push in. */
export const sessionNames = ["a", "b"] as const;

/** Everything that is stored, against everything that the model has. All partitions must be readable. */
export async function compareAll(world: World, model: QueueModel): Promise<void> {
  for (const queue of queueNames) {
    const partitions = model.partitions(queue);
    expectSame(
      await world.calls.rowCounts(queue, [...partitions.keys()]),
      partitions.map(({ rows, trimmed }) => ({ total: BigInt(rows.length), trimmed: BigInt(trimmed) })),
    );
    for (const partition of partitions.keys()) {
      await compareRows(world, model, { queue, partition });
    }
  }
  await compareSessions(world, model);
  for (const consumer of consumerNames) {
    await compareOffsets(world, model, consumer);
  }
  // Later commits have later timestamps.
  const timestamps = model.commits.flatMap(({ timestamp }) => (timestamp === undefined ? [] : [timestamp]));
  expectSame(
    timestamps,
    [...new Set(timestamps)].sort((a, b) => (a < b ? -1 : 1)),
  );
}

async function compareRows(world: World, model: QueueModel, place: Place): Promise<void> {
  const { rows, trimmed } = model.partition(place);
  for (let offset = 0; offset < rows.length; ) {
    const request = { ...place, offset: BigInt(offset), maxRowCount: 1000, maxDataWeight: 1 << 24 };
    const count = await world.pull(request, undefined, model.pull(request), model.layouts[place.queue]);
    if (count === 0) {
      expectSame(trimmed, rows.length);
      return;
    }
    offset = Math.max(offset, trimmed) + count;
  }
}

async function compareSessions({ calls }: World, model: QueueModel): Promise<void> {
  const places = queueNames.flatMap((queue) => sessionNames.map((session) => ({ queue, session })));
  const rows = await calls.lookup(
    producerPath,
    places.map(({ queue, session }) => ({ queue_path: calls.path(queue), session_id: session })),
  );
  expectSame(
    rows.map((row) => row && [row.get("epoch"), row.get("sequence_number")]),
    places.map(({ queue, session }) => {
      const expected = model.session(queue, session);
      return expected === undefined ? null : [expected.epoch, expected.number];
    }),
  );
}

async function compareOffsets({ calls }: World, model: QueueModel, consumer: ConsumerName): Promise<void> {
  const places = queueNames.flatMap((queue) =>
    [...model.partitions(queue).keys()].map((partition) => ({ queue, partition })),
  );
  const rows = await calls.lookup(
    consumerPath(consumer),
    places.map(({ queue, partition }) => ({
      queue_path: calls.path(queue),
      partition_index: new Uint64(BigInt(partition)),
    })),
  );
  for (const [position, place] of places.entries()) {
    const expected = model.storedOffset(consumer, place);
    const row = rows[position] ?? null;
    expectSame(row?.get("offset"), expected === undefined ? undefined : new Uint64(expected.offset));
    compareMeta(bare(row?.get("meta") ?? null), expected?.meta ?? null);
  }
}
