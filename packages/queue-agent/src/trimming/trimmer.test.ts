/** Trimming a queue on a cluster in memory: what is asked for, and what is sent. */
import { YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { describe, expect, test } from "vitest";
import type { AutoTrimConfig } from "../objects/object-configs.ts";
import type { QueuePartitionSnapshot } from "../snapshots/queue-snapshot.ts";
import { testContext } from "../testing/agent-context.ts";
import { FakeCluster, type Faults } from "../testing/fake-cluster.ts";
import type { FakeQueue } from "../testing/fake-queue.ts";
import { consumerSnapshot, lookupOf, queueSnapshot, registration, testQueue } from "../testing/snapshots.ts";
import { Trimmer } from "./trimmer.ts";

class TrimWorld {
  readonly clock = new FakeClock();
  readonly cluster = new FakeCluster(this.clock);
  queue: FakeQueue = this.cluster.createQueue(testQueue.path, 2);
  readonly #trimmer: Trimmer;

  constructor(faults?: Faults) {
    this.#trimmer = new Trimmer(testContext(this.clock, this.cluster.client(faults)));
  }

  trim(
    offsets: readonly bigint[],
    autoTrim: Partial<AutoTrimConfig> = {},
    objectId = this.queue.id,
  ): Promise<number> {
    const partitions: Partial<QueuePartitionSnapshot>[] = this.queue.tablets.map((tablet) => ({
      tabletState: tablet.state,
      lowerRowIndex: tablet.trimmedRowCount,
      upperRowIndex: tablet.upperRowIndex,
    }));
    const queue = queueSnapshot({ objectId, autoTrim, partitions, registrations: [registration("c", true)] });
    return this.#trimmer.trim({
      queue,
      consumer: lookupOf([consumerSnapshot("c", offsets)]),
      consumersSinceMs: 0,
      exports: { kind: "none" },
    });
  }

  lower(): bigint[] {
    return this.queue.tablets.map(({ trimmedRowCount }) => trimmedRowCount);
  }
}

describe("trims", () => {
  test("all partitions in one request, and none when there is nothing to trim", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 5);
    world.queue.pushFlushed(1, 5);
    expect(await world.trim([3n, 4n])).toBe(2);
    expect(world.lower()).toEqual([3n, 4n]);
    expect(world.cluster.executed).toEqual(["execute_batch", "trim_rows", "trim_rows"]);
    expect(await world.trim([3n, 4n])).toBe(0);
    expect(world.cluster.executed).toHaveLength(3);
  });

  test("[queue-agent 53] a queue made anew is not trimmed by what is known of the one before", async () => {
    const world = new TrimWorld();
    const formerId = world.queue.id;
    world.queue = world.cluster.createQueue(testQueue.path, 2);
    world.queue.pushFlushed(0, 5);
    await expect(world.trim([3n, 0n], {}, formerId)).rejects.toThrow("Error trimming 1 queue replicas");
    expect(world.lower()).toEqual([0n, 0n]);
    await world.trim([3n, 0n]);
    expect(world.lower()).toEqual([3n, 0n]);
  });

  test("an unknown object id trims nothing", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 5);
    const trimmer = new Trimmer(testContext(world.clock, world.cluster.client()));
    const queue = queueSnapshot({
      objectId: null,
      partitions: [{ upperRowIndex: 5n }],
      registrations: [registration("c", true)],
    });
    const view = {
      queue,
      consumer: lookupOf([consumerSnapshot("c", [3n])]),
      consumersSinceMs: 0,
      exports: { kind: "none" } as const,
    };
    await expect(trimmer.trim(view)).rejects.toThrow("Object id of queue pythia://tmp/q is not known yet");
  });

  test("a table that is not that of the row is not trimmed by the other one's counts and settings", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 5);
    const trimmer = new Trimmer(testContext(world.clock, world.cluster.client()));
    const view = {
      queue: queueSnapshot({
        objectId: world.queue.id,
        tableId: "9-9-9-9",
        partitions: [{ upperRowIndex: 5n }],
        registrations: [registration("c", true)],
      }),
      consumer: lookupOf([consumerSnapshot("c", [3n])]),
      consumersSinceMs: 0,
      exports: { kind: "none" } as const,
    };
    await expect(trimmer.trim(view)).rejects.toThrow(
      "Trimming iteration skipped since queue pythia://tmp/q has been made anew",
    );
    expect(world.lower()).toEqual([0n, 0n]);
  });

  test("an instance that lost its presence while it asked for floors trims nothing", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 5);
    await world.clock.advance(60_000);
    let isPresent = true;
    const client = world.cluster.client((command) => {
      isPresent &&= command !== "get_ordered_tablet_safe_trim_row_count";
      return "deliver";
    });
    const trimmer = new Trimmer({ ...testContext(world.clock, client), isPresent: () => isPresent });
    const view = {
      queue: queueSnapshot({
        objectId: world.queue.id,
        autoTrim: { retainedLifetimeDurationMs: 3_000 },
        partitions: [{ upperRowIndex: 5n }],
        registrations: [registration("c", true)],
      }),
      consumer: lookupOf([consumerSnapshot("c", [3n])]),
      consumersSinceMs: 0,
      exports: { kind: "none" } as const,
    };
    expect(await trimmer.trim(view)).toBe(0);
    expect(world.lower()).toEqual([0n, 0n]);
  });

  test("what fails in one partition leaves the others, and is told", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 5);
    world.queue.pushFlushed(1, 5);
    const partitions = world.trim([3n, 3n]);
    // Unmounted between the snapshot and the trim.
    world.queue.tablet(0).state = "unmounted";
    const error = await partitions.catch((thrown: unknown) => thrown);
    expect(world.lower()).toEqual([0n, 3n]);
    if (!(error instanceof YtError)) {
      throw new Error("An error was due");
    }
    expect(error.has("TabletNotMounted")).toBe(true);
    const [session] = error.innerErrors;
    expect(session?.message).toBe("Failed to trim 1 partitions");
    expect(session?.attributes.get("replica")).toBe("pythia://tmp/q");
    expect(session?.innerErrors[0]?.attributes.get("partition_index")).toBe(0n);
  });
});

describe("retained lifetime", () => {
  const retained = { retainedLifetimeDurationMs: 3_000 };

  test("[queue-agent 50] goes by whole stores: exactly the flushed old rows go", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 3);
    await world.clock.advance(4_000);
    world.queue.push(0, 5);
    await world.trim([7n, 0n], retained);
    expect(world.lower()).toEqual([3n, 0n]);
  });

  test("[queue-agent 48] [queue-agent 49] is asked for only where something could go", async () => {
    const world = new TrimWorld();
    world.queue.pushFlushed(0, 3);
    world.queue.pushFlushed(1, 3);
    await world.clock.advance(4_000);
    await world.trim([0n, 0n], retained);
    expect(world.cluster.executed).toEqual([]);
    await world.trim([3n, 0n], { retainedLifetimeDurationMs: 18_000_000 });
    expect(world.lower()).toEqual([0n, 0n]);
    await world.trim([3n, 0n], retained);
    expect(world.lower()).toEqual([3n, 0n]);
    expect(world.cluster.executed.filter((command) => command.startsWith("get_ordered"))).toHaveLength(2);
  });

  test.each(["generate_timestamp", "get_ordered_tablet_safe_trim_row_count"])(
    "nothing goes when %s fails",
    async (broken) => {
      const world = new TrimWorld((command) => (command === broken ? "lose request" : "deliver"));
      world.queue.pushFlushed(0, 3);
      await world.clock.advance(4_000);
      await expect(world.trim([3n, 0n], retained)).rejects.toThrow(
        broken === "generate_timestamp" ? "Cannot generate timestamp for cluster pythia" : "was lost",
      );
      expect(world.lower()).toEqual([0n, 0n]);
    },
  );
});

test("[queue-agent 57] a queue that is not mounted does not keep another from being trimmed", async () => {
  const [unmounted, mounted] = [new TrimWorld(), new TrimWorld()];
  for (const world of [unmounted, mounted]) {
    world.queue.pushFlushed(0, 5);
  }
  unmounted.queue.tablet(0).state = "unmounted";
  expect(await Promise.all([unmounted, mounted].map((world) => world.trim([3n, 0n])))).toEqual([0, 1]);
});
