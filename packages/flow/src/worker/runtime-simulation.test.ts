/**
 * Workers, cluster and network on a fake clock: a source, a swift map, a transform with states and timers, and a
 * transform with a sink, while processes are killed and cut off and requests and answers are lost.
 */
import { type Random, seededRandom } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { defineFunction } from "../functions/define-function.ts";
import { t } from "../functions/fields.ts";
import { functionRegistry } from "../functions/registry.ts";
import { textCell, textOf } from "../tables/cells.ts";
import { ListQueue, type ListRow, listRegistry, listSchema } from "../testing/connectors-fixture.ts";
import { FixedLayout } from "../testing/layout-fixture.ts";
import { MemoryCluster } from "../testing/memory-cluster-fixture.ts";
import { WorkerFleet } from "../testing/process-fixture.ts";

const path = "//pipeline";
const windowSeconds = 60;
const disorderSeconds = 20;
const firstEvent = 1_700_000_000;

const count = defineFunction({
  name: "Count",
  inputs: { mapped: { word: t.string, id: t.int64 } },
  outputs: { counted: { kind: t.string, word: t.string, id: t.int64, n: t.int64 } },
  key: { hash: t.uint64, word: t.string },
  states: { total: { n: t.int64 }, windows: t.any<Record<string, bigint>>() },
  timers: ["window"],
  onMessage({ row, eventTimestamp }, { states, emit, timers }) {
    const n = (states.total.get()?.n ?? 0n) + 1n;
    states.total.set({ n });
    const end = windowOf(eventTimestamp);
    const windows = { ...states.windows.get() };
    windows[end] = (windows[end] ?? 0n) + 1n;
    states.windows.set(windows);
    timers.window(end);
    emit.counted({ kind: "each", word: row.word, id: row.id, n });
  },
  onTimer({ key, triggerTimestamp }, { states, emit }) {
    const windows = { ...states.windows.get() };
    const n = windows[triggerTimestamp] ?? 0n;
    delete windows[triggerTimestamp];
    if (Object.keys(windows).length > 0) {
      states.windows.set(windows);
    } else {
      states.windows.clear();
    }
    emit.counted({ kind: "window", word: key.word, id: BigInt(triggerTimestamp), n });
  },
});

function windowOf(eventTimestamp: number): number {
  return (Math.floor(eventTimestamp / windowSeconds) + 1) * windowSeconds;
}

const spec = parseYson(
  Buffer.from(`{
  streams = {
    lines = {schema = [{name = word; type = string}; {name = id; type = int64}]};
    mapped = {schema = [{name = word; type = string}; {name = id; type = int64}]};
    counted = {schema = [{name = kind; type = string}; {name = word; type = string}; {name = id; type = int64}; {name = n; type = int64}]};
    written = {schema = [{name = kind; type = string}; {name = word; type = string}; {name = id; type = int64}; {name = n; type = int64}]};
  };
  computations = {
    reader = {
      computation_class_name = "NYT::NFlow::TSwiftPassthroughOrderedSourceComputation";
      output_stream_ids = [lines];
      source_streams = {q = {source_class_name = ListSource; parameters = {list = main}}};
      watermark_strategy = {watermark_generator = {out_of_orderness_bound = "${disorderSeconds}s"}};
    };
    mapper = {
      computation_class_name = "NYT::NFlow::TSwiftPassthroughComputation";
      group_by_schema = [{name = hash; type = uint64; expression = "farm_hash(id)"}];
      input_stream_ids = [lines]; output_stream_ids = [mapped];
    };
    counter = {
      computation_class_name = "NYT::NFlow::TProcessFunctionComputation";
      processing_function = Count;
      group_by_schema = [{name = hash; type = uint64; expression = "farm_hash(word)"}; {name = word; type = string}];
      input_stream_ids = [mapped]; output_stream_ids = [counted];
      timer_streams = {window = {}};
    };
    writer = {
      computation_class_name = "NYT::NFlow::TPassthroughComputation";
      group_by_schema = [{name = hash; type = uint64; expression = "farm_hash(id)"}];
      input_stream_ids = [counted]; output_stream_ids = [written];
      sinks = {out = {sink_class_name = ListSink; input_stream_ids = [written]; parameters = {path = "//out"}}};
    };
  };
}`),
);

const dynamicSpec = parseYson(
  Buffer.from(`{computations = {
    reader = {max_rows_per_batch = 7; batch_duration = 50};
    mapper = {max_rows_per_batch = 5; batch_duration = 50};
    counter = {max_rows_per_batch = 6; batch_duration = 50; output_store = {max_chunk_message_count = 3}};
    writer = {max_rows_per_batch = 9; batch_duration = 50};
  }}`),
);

const half = 1n << 63n;

function ranges(computationId: string): {
  partitionId: string;
  computationId: string;
  range: { lower: bigint; upper: bigint | undefined };
  sourceKey: undefined;
}[] {
  return [
    {
      partitionId: `${computationId}-a`,
      computationId,
      range: { lower: 0n, upper: half },
      sourceKey: undefined,
    },
    {
      partitionId: `${computationId}-b`,
      computationId,
      range: { lower: half, upper: undefined },
      sourceKey: undefined,
    },
  ];
}

function rowsOf(random: Random, firstId: number, size: number): ListRow[] {
  let event = firstEvent + random.below(60);
  return Array.from({ length: size }, (_, index) => {
    event += random.below(15);
    const word = textCell(["ash", "birch", "cedar", "elm"][random.below(4)] ?? "fir");
    return {
      payload: [word, BigInt(firstId + index)],
      eventTimestamp: event - random.below(disorderSeconds),
    };
  });
}

interface World {
  readonly clock: FakeClock;
  readonly cluster: MemoryCluster;
  readonly layout: FixedLayout;
  readonly fleet: WorkerFleet;
  readonly rows: readonly ListRow[];
}

function world(seed: number, chaos: number): World {
  const random = seededRandom(seed);
  const clock = new FakeClock();
  const cluster = new MemoryCluster("primary", clock, random, {
    lostRequest: chaos,
    lostAnswer: chaos,
    lateRequest: chaos,
    maxDelayMs: 20,
  });
  cluster.createPipeline(path);
  const lists = [rowsOf(random, 0, 10 + random.below(40)), rowsOf(random, 1_000, 10 + random.below(40))];
  const queue = new ListQueue(listSchema, lists);
  const source = (index: number) => ({
    partitionId: `reader-${index}`,
    computationId: "reader",
    range: undefined,
    sourceKey: [textCell("q"), textCell("identity"), BigInt(index)],
  });
  const layout = new FixedLayout({
    cluster: cluster.connect({ isKilled: false }),
    clock,
    pipelinePath: path,
    spec,
    dynamicSpec,
    partitions: [source(0), source(1), ...ranges("mapper"), ...ranges("counter"), ...ranges("writer")],
  });
  const fleet = new WorkerFleet({
    cluster,
    clock,
    random,
    layout,
    pipelinePath: path,
    registry: listRegistry(new Map([["main", queue]])),
    functions: functionRegistry([count]),
    faults: { lostRequest: chaos, lostAnswer: chaos, maxDelayMs: 20 },
  });
  for (const address of ["w1", "w2", "w3"]) {
    fleet.start(address);
  }
  return { clock, cluster, layout, fleet, rows: lists.flat() };
}

/** Runs until everything is processed; while there is chaos, processes die and are cut off. */
async function run({ clock, cluster, layout, fleet }: World, seed: number, chaos: number): Promise<void> {
  const random = seededRandom(seed ^ 0x5eed);
  const cycles = { isRunning: false };
  const stepMs = 500;
  const chaosSteps = chaos > 0 ? 60 + random.below(120) : 0;
  for (let step = 0; !layout.isCompleted; ++step) {
    if (step > 2_000) {
      const failures = layout.failures.map((error) => error.message);
      throw new Error(
        `not completed: ${layout.describe()}; ${failures.join("; ")}; ${fleet.messages.slice(-20).join("\n")}`,
      );
    }
    if (step < chaosSteps) {
      const address = fleet.addresses[random.below(3)];
      if (address !== undefined && random.next() < 0.05) {
        fleet.kill(address);
        clock.after(random.below(5_000), () => fleet.start(address));
      } else if (address !== undefined && random.next() < 0.03) {
        fleet.cutOff(address, true);
        clock.after(random.below(30_000), () => fleet.cutOff(address, false));
      }
    } else if (step === chaosSteps) {
      Object.assign(cluster.faults, { lostRequest: 0, lostAnswer: 0, lateRequest: 0 });
    }
    if (!cycles.isRunning) {
      cycles.isRunning = true;
      void layout.cycle().finally(() => {
        cycles.isRunning = false;
      });
    }
    await clock.advance(stepMs);
  }
}

/** Some cycles of half a second. */
async function steps({ clock, layout }: World, count: number): Promise<void> {
  for (let step = 0; step < count; ++step) {
    let isOver = false;
    void layout.cycle().finally(() => {
      isOver = true;
    });
    await clock.advance(500);
    await clock.advanceUntil(() => isOver);
  }
}

interface OutRow {
  readonly kind: string;
  readonly word: string;
  readonly id: bigint;
  readonly n: bigint;
}

function check({ cluster, rows }: World): void {
  const out = (cluster.queues.get("//out") ?? []).map(
    ([kind, word, id, n]): OutRow => ({
      kind: textOf(kind),
      word: textOf(word),
      id: typeof id === "bigint" ? id : -1n,
      n: typeof n === "bigint" ? n : -1n,
    }),
  );
  const each = out.filter((row) => row.kind === "each");
  expect(sorted(each.map((row) => row.id))).toEqual(
    sorted(rows.map(({ payload }) => BigInt(String(payload[1])))),
  );
  const words = new Map<string, bigint>();
  const windows = new Map<string, bigint>();
  for (const { payload, eventTimestamp } of rows) {
    const word = textOf(payload[0]);
    words.set(word, (words.get(word) ?? 0n) + 1n);
    const window = `${word} ${windowOf(eventTimestamp)}`;
    windows.set(window, (windows.get(window) ?? 0n) + 1n);
  }
  for (const [word, total] of words) {
    const numbers = each.filter((row) => row.word === word).map((row) => row.n);
    expect(sorted(numbers)).toEqual(Array.from({ length: Number(total) }, (_, index) => BigInt(index + 1)));
  }
  const given = out
    .filter((row) => row.kind === "window")
    .map((row) => [`${row.word} ${row.id}`, row.n] as const);
  expect(given.toSorted()).toEqual([...windows].toSorted());
  expect(cluster.rowsOf(`${path}/timers`)).toEqual([]);
  expect(cluster.rowsOf(`${path}/compact_partition_output_messages`)).toEqual([]);
}

function sorted(values: readonly bigint[]): bigint[] {
  return values.toSorted((left, right) => (left < right ? -1 : left > right ? 1 : 0));
}

describe("the runtime", () => {
  it("brings every row to the sink once when nothing goes wrong", async () => {
    const quiet = world(1, 0);
    await run(quiet, 1, 0);
    check(quiet);
    expect(quiet.layout.failures).toEqual([]);
  });

  it("[flow 58] a drained pipeline has nothing under way, and goes on where it was", async () => {
    const drained = world(2, 0);
    const { layout, clock, cluster } = drained;
    await steps(drained, 3);
    layout.state = "draining";
    for (let step = 0; !layout.isDrained; ++step) {
      expect(step).toBeLessThan(200);
      await steps(drained, 1);
    }
    expect(cluster.rowsOf(`${path}/compact_partition_output_messages`)).toEqual([]);
    const written = cluster.queues.get("//out")?.length ?? 0;
    await steps(drained, 20);
    expect(cluster.queues.get("//out")?.length ?? 0).toBe(written);
    expect(cluster.rowsOf(`${path}/timers`)).not.toEqual([]);
    layout.state = "working";
    await clock.advance(1_000);
    await run(drained, 2, 0);
    check(drained);
  });

  it("[flow 59] a pause under load loses nothing and repeats nothing", async () => {
    const paused = world(3, 0.03);
    await steps(paused, 5);
    paused.layout.pause();
    await steps(paused, 10);
    paused.layout.state = "working";
    await run(paused, 3, 0.03);
    check(paused);
  });

  const seeds = Number(process.env.QYT_FLOW_SEEDS ?? 20);
  const first = Number(process.env.QYT_FLOW_FIRST_SEED ?? 1);
  it(`[flow 98] every row's effect is there once, whatever dies (${seeds} seeds from ${first})`, async () => {
    for (let seed = first; seed < first + seeds; ++seed) {
      const wild = world(seed, 0.03);
      try {
        await run(wild, seed, 0.03);
        check(wild);
      } catch (thrown) {
        throw new Error(`seed ${seed}`, { cause: thrown });
      }
    }
  }, 600_000);
});
