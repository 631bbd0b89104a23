/** How far queues are trimmed, decided on snapshots alone. */
import { YtError } from "@qyt/base";
import { describe, expect, test } from "vitest";
import type { QueueExportProgress } from "../exports/queue-export-progress.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import {
  consumerSnapshot,
  lookupOf,
  type QueueOptions,
  queueSnapshot,
  registration,
} from "../testing/snapshots.ts";
import { type LifetimeFloor, planTrim, type TrimPlan } from "./trim-plan.ts";

const noExports: QueueExportProgress = { kind: "none" };
/** Snapshots are of the moment 0, where a test says nothing else. */
const consumersSinceMs = 0;

function plan(
  queue: QueueOptions,
  consumers: readonly ConsumerSnapshot[],
  exports: QueueExportProgress = noExports,
  floors?: ReadonlyMap<number, LifetimeFloor>,
): TrimPlan {
  const consumer = lookupOf(consumers);
  return planTrim({ queue: queueSnapshot(queue), consumer, consumersSinceMs, exports }, floors);
}

/** Partition → new index of the first row. */
function targets({ trims }: TrimPlan): Record<number, bigint> {
  return Object.fromEntries(
    trims.map(({ partitionIndex, trimmedRowCount }) => [partitionIndex, trimmedRowCount]),
  );
}

function exported(rowCounts: Readonly<Record<number, bigint>>): QueueExportProgress {
  return {
    kind: "rows",
    rowCounts: new Map(Object.entries(rowCounts).map(([key, value]) => [Number(key), value])),
  };
}

/** One partition and one vital consumer. */
function single(
  upper: bigint,
  offset: bigint,
  autoTrim: QueueOptions["autoTrim"] = {},
  lower = 0n,
): TrimPlan {
  return plan(
    {
      autoTrim,
      registrations: [registration("c", true)],
      partitions: [{ lowerRowIndex: lower, upperRowIndex: upper }],
    },
    [consumerSnapshot("c", [offset])],
  );
}

describe("vital consumers", () => {
  const registrations = [registration("c1", true), registration("c2", false), registration("c3", true)];
  const partitions = [{ upperRowIndex: 5n }, { upperRowIndex: 7n }];
  const offsets = (c1: bigint[], c2: bigint[], c3: bigint[]): ConsumerSnapshot[] => [
    consumerSnapshot("c1", c1),
    consumerSnapshot("c2", c2),
    consumerSnapshot("c3", c3),
  ];

  test("[queue-agent 43] [queue-agent 44] the slowest vital consumer of a partition is the limit", () => {
    const consumers = offsets([3n, 3n], [5n, 1n], [0n, 2n]);
    expect(targets(plan({ registrations, partitions }, consumers))).toEqual({ 1: 2n });
  });

  test("[queue-agent 45] as it moves on, so does the limit", () => {
    const trimmed = [partitions[0] ?? {}, { lowerRowIndex: 2n, upperRowIndex: 7n }];
    const first = plan({ registrations, partitions: trimmed }, offsets([3n, 3n], [5n, 1n], [2n, 2n]));
    expect(targets(first)).toEqual({ 0: 2n });
    const next = [{ lowerRowIndex: 2n, upperRowIndex: 5n }, trimmed[1] ?? {}];
    const second = plan({ registrations, partitions: next }, offsets([3n, 3n], [5n, 1n], [4n, 2n]));
    expect(targets(second)).toEqual({ 0: 3n });
  });

  test("[queue-agent 54] the limit follows changes of vitality", () => {
    const consumers = offsets([1n], [2n], [4n]);
    const at = (vital: readonly boolean[]): unknown =>
      targets(
        plan(
          {
            registrations: ["c1", "c2", "c3"].map((name, index) => registration(name, vital[index] === true)),
            partitions: [{ lowerRowIndex: 1n, upperRowIndex: 5n }],
          },
          consumers,
        ),
      );
    expect(at([true, false, true])).toEqual({});
    expect(at([false, false, true])).toEqual({ 0: 4n });
    expect(at([false, true, true])).toEqual({ 0: 2n });
  });

  test("an offset ahead of the queue trims no further than to its end", () => {
    expect(targets(single(5n, 1n << 60n))).toEqual({ 0: 5n });
  });

  test("an offset moved back never moves the boundary back", () => {
    expect(targets(single(9n, 3n, {}, 6n))).toEqual({});
  });

  test("partitions of a registration are the only ones that it holds back", () => {
    const partitions = [1, 2, 3].map(() => ({ upperRowIndex: 9n }));
    const some = plan(
      {
        registrations: [registration("c1", true, { partitions: [0n] }), registration("c2", true)],
        partitions,
      },
      [consumerSnapshot("c1", [1n, 0n, 0n]), consumerSnapshot("c2", [4n, 5n, 6n])],
    );
    expect(targets(some)).toEqual({ 0: 1n, 1: 5n, 2: 6n });
    const empty = plan({ registrations: [registration("c1", true, { partitions: [] })], partitions }, [
      consumerSnapshot("c1", [1n, 2n, 3n]),
    ]);
    expect(targets(empty)).toEqual({ 0: 1n, 1: 2n, 2: 3n });
  });

  test("a partition without a vital reader and without an export is not trimmed", () => {
    const registrations = [registration("c1", true, { partitions: [0n] }), registration("c2", false)];
    const partitions = [{ upperRowIndex: 9n }, { upperRowIndex: 9n }];
    const consumers = [consumerSnapshot("c1", [9n, 9n]), consumerSnapshot("c2", [9n, 9n])];
    expect(plan({ registrations, partitions }, consumers)).toEqual({
      trims: [{ partitionIndex: 0, trimmedRowCount: 9n }],
      errors: new Map(),
      floorsNeeded: [],
    });
    expect(targets(plan({ registrations, partitions }, consumers, exported({ 0: 4n, 1: 6n })))).toEqual({
      0: 4n,
      1: 6n,
    });
  });

  test("names of a multi-consumer count each for itself", () => {
    const registrations = ["left", "right"].map((consumerName) => registration("m", true, { consumerName }));
    const consumer = consumerSnapshot("m", [], { names: { left: [3n], right: [1n], other: [0n] } });
    expect(targets(plan({ registrations, partitions: [{ upperRowIndex: 5n }] }, [consumer]))).toEqual({
      0: 1n,
    });
  });
});

describe("floors", () => {
  test("[queue-agent 46] the last retained rows of each partition stay", () => {
    expect(targets(single(5n, 3n, { retainedRows: 3n }))).toEqual({ 0: 2n });
    expect(targets(single(10n, 3n, { retainedRows: 3n }, 2n))).toEqual({ 0: 3n });
  });

  test("[queue-agent 47] without the option the vital offset is the limit again", () => {
    expect(targets(single(7n, 6n, { retainedRows: 3n }))).toEqual({ 0: 4n });
    expect(targets(single(7n, 6n, {}, 4n))).toEqual({ 0: 6n });
    expect(targets(single(2n, 2n, { retainedRows: 3n }))).toEqual({});
  });

  const lifetime = (
    upper: bigint,
    offset: bigint,
    floor: LifetimeFloor | undefined,
    autoTrim: QueueOptions["autoTrim"] = {},
    lower = 0n,
  ): TrimPlan =>
    plan(
      {
        autoTrim: { retainedLifetimeDurationMs: 3_000, ...autoTrim },
        registrations: [registration("c", true)],
        partitions: [{ lowerRowIndex: lower, upperRowIndex: upper }],
      },
      [consumerSnapshot("c", [offset])],
      noExports,
      floor === undefined ? new Map() : new Map([[0, floor]]),
    );

  test("nothing goes before the lifetime floor is known, and it is asked for only where rows could go", () => {
    expect(lifetime(5n, 3n, undefined)).toEqual({ trims: [], errors: new Map(), floorsNeeded: [0] });
    expect(lifetime(5n, 0n, undefined)).toEqual({ trims: [], errors: new Map(), floorsNeeded: [] });
  });

  test("[queue-agent 48] [queue-agent 49] young rows stay", () => {
    expect(targets(lifetime(5n, 0n, 5n))).toEqual({});
    expect(targets(lifetime(5n, 3n, 0n))).toEqual({});
    expect(targets(single(5n, 3n))).toEqual({ 0: 3n });
  });

  test("[queue-agent 50] whole stores of old rows go, not a row more", () => {
    expect(targets(lifetime(8n, 7n, 3n))).toEqual({ 0: 3n });
  });

  test("[queue-agent 51] [queue-agent 52] of two floors the lower one holds", () => {
    expect(targets(lifetime(7n, 3n, 7n, { retainedRows: 6n }))).toEqual({ 0: 1n });
    expect(targets(lifetime(7n, 3n, 7n, {}, 1n))).toEqual({ 0: 3n });
    expect(targets(lifetime(8n, 6n, 0n, { retainedRows: 6n }))).toEqual({});
    expect(targets(single(8n, 6n, { retainedRows: 6n }))).toEqual({ 0: 2n });
    expect(targets(single(8n, 6n, {}, 2n))).toEqual({ 0: 6n });
  });

  test("a floor that could not be found out blocks its partition", () => {
    const error = new YtError("Tablet is gone", { code: "NoSuchTablet" });
    expect(lifetime(8n, 6n, error).errors).toEqual(new Map([[0, error]]));
  });
});

describe("exports", () => {
  const partitions = [{ upperRowIndex: 4n }, { upperRowIndex: 4n }];

  test("[queue-agent 118] exports alone trim, once they have the rows", () => {
    expect(targets(plan({ partitions }, [], exported({})))).toEqual({});
    expect(targets(plan({ partitions }, [], exported({ 0: 4n, 1: 4n })))).toEqual({ 0: 4n, 1: 4n });
  });

  test("[queue-agent 119] consumer and export wait for each other", () => {
    const registrations = [registration("c", true)];
    const at = (offset: bigint, rowCount: bigint): unknown =>
      targets(
        plan(
          { registrations, partitions: [{ upperRowIndex: 4n }] },
          [consumerSnapshot("c", [offset])],
          exported({ 0: rowCount }),
        ),
      );
    expect(at(4n, 1n)).toEqual({ 0: 1n });
    expect(at(2n, 4n)).toEqual({ 0: 2n });
    expect(at(4n, 4n)).toEqual({ 0: 4n });
  });

  test("[queue-agent 85] [queue-agent 120] exports in error, those of a banned queue too, block trimming", () => {
    const reason = new YtError("Incorrect queue exports");
    expect(() =>
      plan({ partitions, registrations: [registration("c", true)] }, [consumerSnapshot("c", [4n, 4n])], {
        kind: "error",
        error: reason,
      }),
    ).toThrow("Failed to get aggregate queue exports progress");
  });
});

describe("what could not be read", () => {
  const oneRow = [{ upperRowIndex: 1n }];
  const vital = [registration("c", true), registration("other", true)];
  const other = consumerSnapshot("other", [1n]);
  const reason = new YtError("No such node", { code: "ResolveError" });

  test.each([
    ["missing registered vital consumer", []],
    ["erroneous registered vital consumer", [consumerSnapshot("c", [1n], { error: reason })]],
    ["not containing information about queue", [consumerSnapshot("c", [1n], { isQueueUnknown: true })]],
    [
      "[queue-agent 55] erroneous queue sub-snapshot in registered vital consumer",
      [consumerSnapshot("c", [1n], { subError: reason })],
    ],
  ])("%s: nothing is trimmed", (text, consumers) => {
    const [, , message = text] = /^(\[queue-agent 55\] )?(.*)$/.exec(text) ?? [];
    expect(() => plan({ registrations: vital, partitions: oneRow }, [...consumers, other])).toThrow(message);
  });

  test("a registration that is not vital is not asked about at all", () => {
    const registrations = [registration("gone", false), registration("other", true)];
    expect(targets(plan({ registrations, partitions: oneRow }, [other]))).toEqual({ 0: 1n });
  });

  test("an unknown consumer of some partitions blocks those", () => {
    const registrations = [registration("gone", true, { partitions: [1n] }), registration("other", true)];
    const partitions = [{ upperRowIndex: 3n }, { upperRowIndex: 3n }];
    const result = plan({ registrations, partitions }, [consumerSnapshot("other", [2n, 2n])]);
    expect(targets(result)).toEqual({ 0: 2n });
    expect(result.errors.get(1)?.message).toMatch("missing registered vital consumer");
  });

  test("a partition that the consumer does not know yet, or that is in error there, stays", () => {
    const registrations = [registration("c", true)];
    const partitions = [1, 2, 3].map(() => ({ upperRowIndex: 3n }));
    const result = plan({ registrations, partitions }, [
      consumerSnapshot("c", [2n, { nextRowIndex: 3n, error: reason }]),
    ]);
    expect(targets(result)).toEqual({ 0: 2n });
    expect([...result.errors.keys()]).toEqual([1, 2]);
  });

  test("[queue-agent 56] [queue-agent 60] unmounted and frozen partitions are left out silently", () => {
    const states = ["unmounted", "mounted", "frozen", "unmounting"];
    const partitions = states.map((tabletState) => ({
      tabletState,
      upperRowIndex: 3n,
      error: tabletState === "unmounted" ? reason : null,
    }));
    const result = plan({ registrations: [registration("c", true)], partitions }, [
      consumerSnapshot("c", [2n, 2n, 2n, 2n]),
    ]);
    expect(result).toEqual({
      trims: [{ partitionIndex: 1, trimmedRowCount: 2n }],
      errors: new Map(),
      floorsNeeded: [],
    });
  });

  test("a mounted partition in error stays and says why", () => {
    const partitions = [{ upperRowIndex: 3n, error: reason }, { upperRowIndex: 3n }];
    const result = plan({ registrations: [registration("c", true)], partitions }, [
      consumerSnapshot("c", [2n, 2n]),
    ]);
    expect(targets(result)).toEqual({ 1: 2n });
    expect(result.errors).toEqual(new Map([[0, reason]]));
  });

  test("what was seen of a vital consumer too long ago counts for nothing: it may have gone back since", () => {
    const queue = { registrations: vital, partitions: [{ upperRowIndex: 5n }] };
    const old = consumerSnapshot("c", [5n], { passInstantMs: consumersSinceMs - 1 });
    expect(() => plan(queue, [old])).toThrow(
      "Trimming iteration skipped due to outdated registered vital consumer",
    );
  });

  test("a queue in error is not trimmed", () => {
    expect(() => plan({ error: reason, registrations: vital }, [])).toThrow(
      "Trimming iteration skipped due to queue error",
    );
  });
});

describe("configuration", () => {
  test("[queue-agent 58] without @auto_trim_config, or with enable=%false, nothing is trimmed", () => {
    const queue = { registrations: [registration("c", true)], partitions: [{ upperRowIndex: 3n }] };
    const consumers = [consumerSnapshot("c", [3n])];
    expect(plan({ ...queue, autoTrim: null }, consumers).trims).toEqual([]);
    expect(plan({ ...queue, autoTrim: { enable: false } }, consumers).trims).toEqual([]);
    expect(targets(plan(queue, consumers))).toEqual({ 0: 3n });
  });

  test("a queue in error whose own trimming is off raises nothing", () => {
    expect(plan({ autoTrim: { enable: false }, error: new YtError("Queue is gone") }, []).errors.size).toBe(
      0,
    );
  });

  test("with nothing to go by, nothing is trimmed and the error says what to do", () => {
    const queue = { registrations: [registration("c", false)], partitions: [{ upperRowIndex: 3n }] };
    expect(() => plan(queue, [consumerSnapshot("c", [3n])])).toThrow(
      'Attempted trimming iteration on queue "pythia://tmp/q" with no vital consumers and no configured static table exports: register a vital consumer',
    );
  });
});

describe("a replica of a replicated table", () => {
  const registrations = [registration("c", true)];
  const partitions = [{ upperRowIndex: 5n }];
  const consumers = [consumerSnapshot("c", [3n])];

  test("is not trimmed, whoever has its rows: vital consumers are registered with the replicated table", () => {
    const replica = { isReplica: true, partitions };
    const refusal =
      /is a replica, and replicas are not trimmed automatically: .* Trim it by hand \(trim_rows\)/;
    expect(() => plan(replica, [], exported({ 0: 4n }))).toThrow(refusal);
    expect(() => plan({ ...replica, registrations }, consumers)).toThrow(refusal);
    expect(targets(plan({ registrations, partitions }, consumers))).toEqual({ 0: 3n });
  });

  test("raises nothing where trimming is off", () => {
    expect(plan({ isReplica: true, partitions, autoTrim: { enable: false } }, []).trims).toEqual([]);
  });
});
