/** The epoch of a transform and of a swift map, one by one. */
import { YtError } from "@qyt/base";
import { describe, expect, it } from "vitest";
import { defineFunction } from "../functions/define-function.ts";
import { t } from "../functions/fields.ts";
import { jobWorld, pipelinePath, wordMessage } from "../testing/job-fixture.ts";

const streams = `streams = {
  in = {schema = [{name = word; type = string}]};
  out = {schema = [{name = word; type = string}]};
  other = {schema = [{name = word; type = string}]};
  written = {schema = [{name = word; type = string}]};
}`;
const groupBy = `group_by_schema = [{name = hash; type = uint64; expression = "farm_hash(word)"}; {name = word; type = string}]`;

function transform(more: string): string {
  return `{${streams}; computations = {it = {
    computation_class_name = "NYT::NFlow::TProcessFunctionComputation"; processing_function = F;
    ${groupBy}; input_stream_ids = [in]; ${more}
  }}}`;
}

const echo = defineFunction({
  name: "F",
  inputs: { in: { word: t.string } },
  outputs: { out: { word: t.string } },
  onMessage({ row }, { emit }) {
    emit.out({ word: row.word });
  },
});

describe("the epoch of a transform", () => {
  it("[flow 96] a message delivered twice is processed once, and acknowledged twice", async () => {
    const seen: string[] = [];
    const note = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      onMessage: ({ row }) => void seen.push(row.word),
    });
    const world = jobWorld(transform(""), [note]);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    expect(seen).toEqual(["a"]);
    expect(world.finished).toEqual(["m0001", "m0001"]);
    const successor = await world.job({ jobId: "job-2" });
    successor.push([wordMessage(1, "a"), wordMessage(2, "b")]);
    await successor.epoch();
    expect(seen).toEqual(["a", "b"]);
  });

  it("[flow 97] a message older than the input's watermark is acknowledged, not processed", async () => {
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo]);
    const job = await world.job();
    job.conditions({ watermarks: { in: 500 } });
    job.push([wordMessage(1, "old", { system: 499 }), wordMessage(2, "new", { system: 500 })]);
    await job.epoch();
    expect(job.outbox.messages.map(({ payload: [word] }) => String(word))).toEqual(["new"]);
    expect(world.finished).toEqual(["m0001", "m0002"]);
  });

  it("at_least_once_consistent leaves out the look-up, not the watermark", async () => {
    const parameters = "output_stream_ids = [out]; parameters = {processing_mode = at_least_once_consistent}";
    const world = jobWorld(transform(parameters), [echo]);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    expect(job.outbox.sent).toHaveLength(2);
  });

  it("[flow 16] outputs and timers of an epoch share their indexes", async () => {
    const many = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      outputs: { out: { word: t.string }, other: { word: t.string } },
      timers: ["tick"],
      onMessage(_, { emit, timers }) {
        emit.out({ word: "1" });
        emit.other({ word: "2" });
        timers.tick(2_000_000_000);
        emit.out({ word: "3" });
      },
    });
    const spec = transform("output_stream_ids = [out; other]; timer_streams = {tick = {}}");
    const world = jobWorld(spec, [many]);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    const ids = job.outbox.messages.map((message) => message.messageId.slice(17));
    expect(ids).toEqual(["out:00", "other:01", "out:03"]);
    const [timer] = world.cluster.rowsOf(`${pipelinePath}/timers`);
    expect(String(timer?.get("message_id")).slice(17)).toBe("tick:02");
  });

  it("[flow 100] a timer fires when the watermark reaches it; equal ones are one, with the smaller event time", async () => {
    const fired: (readonly number[])[] = [];
    const timed = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      timers: ["tick"],
      onMessage: (_, { timers }) => timers.tick(1_000),
      onTimer: ({ triggerTimestamp, eventTimestamp }) => void fired.push([triggerTimestamp, eventTimestamp]),
    });
    const world = jobWorld(transform("timer_streams = {tick = {}}"), [timed]);
    const job = await world.job();
    job.push([wordMessage(1, "a", { event: 700 }), wordMessage(2, "a", { event: 600 })]);
    await job.epoch();
    job.conditions({ watermarks: { in: 999 } });
    await job.epoch();
    expect(fired).toEqual([]);
    const successor = await world.job({ jobId: "job-2" });
    successor.conditions({ watermarks: { in: 1_000 }, isDraining: true });
    await successor.epoch();
    expect(fired).toEqual([]);
    successor.conditions({ isDraining: false });
    await successor.epoch();
    expect(fired).toEqual([[1_000, 600]]);
    expect(world.cluster.rowsOf(`${pipelinePath}/timers`)).toEqual([]);
  });

  it("too many timers end the job", async () => {
    const timed = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      timers: ["tick"],
      onMessage: (_, { timers }) => timers.tick(1_000),
    });
    const dynamicSpec = "{batch_duration = 0; timer_store_count_limit = 1}";
    const world = jobWorld(transform("timer_streams = {tick = {}}"), [timed], dynamicSpec);
    const job = await world.job();
    job.push([wordMessage(1, "a"), wordMessage(2, "b")]);
    await expect(job.epoch()).rejects.toThrow("Too much timers in memory: count 2, limit 1");
  });

  it("[flow 98] the commit of a job that has lost its lease fails, and its successor's counts once", async () => {
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo]);
    const old = await world.job();
    const successor = await world.job({ jobId: "job-2" });
    successor.push([wordMessage(1, "a")]);
    old.push([wordMessage(1, "a")]);
    await successor.epoch();
    await expect(old.epoch()).resolves.toBe("worked");
    old.push([wordMessage(2, "b")]);
    await expect(old.epoch()).rejects.toThrow(/Job lease is lost/);
    expect(world.cluster.rowsOf(`${pipelinePath}/compact_input_messages`)).toHaveLength(1);
  });

  it("[flow 99] a commit whose answer is lost is recognised and not repeated", async () => {
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo]);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    const { commit } = world.cluster;
    let commits = 0;
    world.cluster.commit = (start, writes) => {
      commits += 1;
      commit.call(world.cluster, start, writes);
      throw new YtError("Connection was closed", { code: "TransportError" });
    };
    await job.epoch();
    expect(commits).toBe(1);
    expect(job.outbox.sent).toHaveLength(1);
    expect(world.cluster.rowsOf(`${pipelinePath}/compact_partition_output_messages`)).toHaveLength(1);
  });

  it("[flow 99] a commit that has not happened is repeated", async () => {
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo]);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    const { commit } = world.cluster;
    let isLost = true;
    world.cluster.commit = (start, writes) => {
      if (isLost) {
        isLost = false;
        throw new YtError("Connection was closed", { code: "TransportError" });
      }
      commit.call(world.cluster, start, writes);
    };
    await job.epoch();
    expect(job.outbox.sent).toHaveLength(1);
    expect(world.cluster.rowsOf(`${pipelinePath}/compact_partition_output_messages`)).toHaveLength(1);
  });

  it("[flow 60] rows of a synchronous sink come with the epoch, or not at all", async () => {
    const three = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      outputs: { written: { word: t.string } },
      onMessage(_, { emit }) {
        for (const word of ["1", "2", "3"]) {
          emit.written({ word });
        }
      },
    });
    const spec = transform(
      'output_stream_ids = [written]; sinks = {s = {sink_class_name = ListSink; input_stream_ids = [written]; parameters = {path = "//out"}}}',
    );
    const world = jobWorld(spec, [three]);
    const old = await world.job();
    const job = await world.job({ jobId: "job-2" });
    old.push([wordMessage(1, "a")]);
    await expect(old.epoch()).rejects.toThrow(/Job lease is lost/);
    expect(world.cluster.queues.get("//out")).toBeUndefined();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    expect(world.cluster.queues.get("//out")?.map(([word]) => String(word))).toEqual(["1", "2", "3"]);
  });

  it("outputs stay in chunks until they are delivered, and a successor sends what is left", async () => {
    const dynamicSpec = "{batch_duration = 0; output_store = {max_chunk_message_count = 2}}";
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo], dynamicSpec);
    const path = `${pipelinePath}/compact_partition_output_messages`;
    const job = await world.job();
    job.push(["a", "b", "c"].map((word, index) => wordMessage(index, word)));
    await job.epoch();
    expect(world.cluster.rowsOf(path).map((row) => row.get("chunk_id"))).toEqual([0n, 1n]);
    const [first] = job.outbox.sent.splice(0, 1);
    first?.done(first.output);
    await job.epoch();
    const [chunk] = world.cluster.rowsOf(path);
    expect(Buffer.from(chunk?.get("processed_mask") as Uint8Array)).toEqual(Buffer.from([0b01]));
    const successor = await world.job({ jobId: "job-2" });
    await successor.epoch();
    expect(successor.outbox.messages.map(({ payload: [word] }) => String(word))).toEqual(["b", "c"]);
    successor.outbox.deliverAll();
    await successor.epoch();
    expect(world.cluster.rowsOf(path)).toEqual([]);
  });

  it("[flow 109] a full output store stops what feeds it until outputs are delivered", async () => {
    const dynamicSpec = "{batch_duration = 0; max_rows_per_batch = 1; output_store_count_limit = 1}";
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo], dynamicSpec);
    const job = await world.job();
    job.push([wordMessage(1, "a"), wordMessage(2, "b")]);
    expect(await job.epoch()).toBe("worked");
    expect(await job.epoch()).toBe("held");
    expect(job.outbox.sent).toHaveLength(1);
    job.outbox.deliverAll();
    expect(await job.epoch()).toBe("worked");
    expect(job.outbox.messages.map(({ payload: [word] }) => String(word))).toEqual(["b"]);
  });

  it("streams that the controller blocks are held", async () => {
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo]);
    const job = await world.job();
    job.conditions({ blockedStreams: ["out"] });
    job.push([wordMessage(1, "a")]);
    expect(await job.epoch()).toBe("held");
    job.conditions({ blockedStreams: [] });
    expect(await job.epoch()).toBe("worked");
  });

  it("[flow 112] skipped messages are acknowledged without a row", async () => {
    const dynamicSpec = `{batch_duration = 0; skip_if_expression = "word = 'b'"}`;
    const world = jobWorld(transform("output_stream_ids = [out]"), [echo], dynamicSpec);
    const job = await world.job();
    job.push([wordMessage(1, "a"), wordMessage(2, "b")]);
    await job.epoch();
    expect(world.finished.toSorted()).toEqual(["m0001", "m0002"]);
    expect(job.outbox.sent).toHaveLength(1);
    expect(world.cluster.rowsOf(`${pipelinePath}/compact_input_messages`)).toHaveLength(1);
  });

  it("states come back to a successor, and an emptied one has no row", async () => {
    const counting = defineFunction({
      name: "F",
      inputs: { in: { word: t.string } },
      outputs: { out: { word: t.string } },
      states: { n: t.int64 },
      onMessage({ row }, { states, emit }) {
        const n = (states.n.get() ?? 0n) + 1n;
        emit.out({ word: `${row.word}${n}` });
        if (n === 3n) {
          states.n.clear();
        } else {
          states.n.set(n);
        }
      },
    });
    const world = jobWorld(transform("output_stream_ids = [out]"), [counting]);
    const job = await world.job();
    job.push([wordMessage(1, "a"), wordMessage(2, "a")]);
    await job.epoch();
    const successor = await world.job({ jobId: "job-2" });
    successor.push([wordMessage(3, "a")]);
    await successor.epoch();
    expect(successor.outbox.messages.map(({ payload: [word] }) => String(word))).toEqual(["a1", "a2", "a3"]);
    expect(world.cluster.rowsOf(`${pipelinePath}/states`)).toEqual([]);
  });
});

describe("the epoch of a swift map", () => {
  const spec = `{${streams}; computations = {it = {
    computation_class_name = "NYT::NFlow::TSwiftPassthroughComputation";
    ${groupBy}; input_stream_ids = [in]; output_stream_ids = [out];
  }}}`;

  it("[flow 15] outputs inherit ids, and an input is acknowledged when they are delivered", async () => {
    const world = jobWorld(spec);
    const job = await world.job();
    job.push([wordMessage(1, "a")]);
    await job.epoch();
    expect(job.outbox.messages.map((message) => message.messageId)).toEqual(["m0001-out:00"]);
    expect(world.finished).toEqual([]);
    job.outbox.deliverAll();
    expect(world.finished).toEqual(["m0001"]);
    expect(world.cluster.rowsOf(`${pipelinePath}/compact_input_messages`)).toEqual([]);
  });
});
