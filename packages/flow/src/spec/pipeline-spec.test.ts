import { emptyMap } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { parseDynamicSpec } from "./dynamic-spec.ts";
import { parsePipelineSpec } from "./pipeline-spec.ts";
import { exampleSpec, lenientRegistry } from "./spec-fixture.ts";
import { streamsDependencyOf, topologicalOrder } from "./stream-graph.ts";
import { validateDynamicSpec, validatePipelineSpec } from "./validation.ts";

const context = { registry: lenientRegistry, pipelineCluster: "primary" };

function check(...replacements: readonly (readonly [string, string])[]): void {
  validatePipelineSpec(parsePipelineSpec(exampleSpec(...replacements)).spec, context);
}

function checkDynamic(text: string): void {
  const dynamic = parseDynamicSpec(parseYson(Buffer.from(text))).spec;
  validateDynamicSpec(dynamic, parsePipelineSpec(exampleSpec()).spec, context);
}

describe("the static spec", () => {
  it("gives every field its default", () => {
    const { spec, unknownFields } = parsePipelineSpec(exampleSpec());
    expect(unknownFields).toEqual([]);
    const reader = spec.computations.get("reader");
    expect(reader?.watermarkStrategy.watermarkGenerator).toEqual({
      useSourceWatermark: false,
      outOfOrdernessBound: 30_000,
      idlePartitions: { duration: 60_000, maxRatio: 0.5 },
      unavailablePartitionGroups: { maxUnavailableGroups: 1, minAvailableGroups: 1 },
      lateDataPartitions: undefined,
    });
    expect(spec.computations.get("counter")).toMatchObject({
      distributionOrdering: "strict",
      timerStreams: new Map([["tick", { timeType: "event_time", deduplicateEqualTimestamps: true }]]),
    });
    check();
  });

  it("keeps out unknown fields and names their paths", () => {
    const { unknownFields } = parsePipelineSpec(
      exampleSpec(["output_stream_ids = [lines];", "output_stream_ids = [lines]; colour = red;"]),
    );
    expect(unknownFields).toEqual(["/computations/reader/colour"]);
  });

  it("names the path of a wrong field, and of a missing one", () => {
    expect(() => parsePipelineSpec(exampleSpec(['"30s"', '"soon"']))).toThrow(
      /\/computations\/reader\/watermark_strategy\/watermark_generator\/out_of_orderness_bound/,
    );
    expect(() => parsePipelineSpec(exampleSpec(["sink_class_name = Sink;", ""]))).toThrow(
      "Missing required parameter /computations/counter/sinks/out/sink_class_name",
    );
  });

  it("derives which stream descends from which", () => {
    const counter = parsePipelineSpec(exampleSpec()).spec.computations.get("counter");
    if (counter === undefined) {
      throw new Error("there is a counter");
    }
    expect(streamsDependencyOf(counter)).toEqual(
      new Map([
        ["tick", new Set(["lines"])],
        ["counts", new Set(["lines", "tick"])],
      ]),
    );
    expect(topologicalOrder(counter)).toEqual(["lines", "tick", "counts"]);
  });

  it("[flow 101] refuses what does not fit together, with the text of the rule", () => {
    expect(() => check(["output_stream_ids = [counts]", "output_stream_ids = [counts; lines]"])).toThrow(
      'Stream "lines" is registered twice in computation "counter"',
    );
    expect(() =>
      check([
        "reader = {",
        'other = {computation_class_name = "NYT::NFlow::TSwiftPassthroughOrderedSourceComputation"; output_stream_ids = [lines]; source_streams = {q = {source_class_name = Source}}}; reader = {',
      ]),
    ).toThrow('Stream "lines" is registered both in computation "other" and "reader"');
    expect(() => check(["    lines = {schema", "    others = {schema"])).toThrow(
      'Stream "lines" in computation "reader" is not registered in "streams"',
    );
    expect(() =>
      check(["input_stream_ids = [counts]; parameters", "input_stream_ids = [lines]; parameters"]),
    ).toThrow(
      'Input stream "lines" of sink "out" in computation "counter" is not an output stream of this computation',
    );
    expect(() =>
      check(
        ["input_stream_ids = [lines];", "input_stream_ids = [lines; counts2]; "],
        [
          "counts = {schema",
          "counts2 = {schema = [{name = text; type = string; required = %true}]}; counts = {schema",
        ],
        [
          "computations = {",
          `computations = {
          back = {
            computation_class_name = "NYT::NFlow::TPassthroughComputation";
            group_by_schema = [{name = h; type = uint64; expression = "farm_hash(word)"}];
            input_stream_ids = [counts]; output_stream_ids = [counts2];
          };`,
        ],
      ),
    ).toThrow(/^Stream graph should be acyclic. Cycle found around the edge "/);
  });

  it("refuses streams that nobody produces, foreign dependencies and wrong keys", () => {
    expect(() =>
      check(["source_streams = {q", "source_streams = {q2 = {source_class_name = Source}; q"]),
    ).toThrow(/exactly one source stream but got 2/);
    expect(() => check(["timer_streams = {tick = {}};", "timer_streams = {counts = {}};"])).toThrow(
      /registered twice/,
    );
    expect(() => check(["timer_streams", "streams_dependency = {lines = []}; timer_streams"])).toThrow(
      'Stream "lines" in computation "counter" could not be registered in "streams_dependency" as a key',
    );
    expect(() => check(["timer_streams", "streams_dependency = {nobody = []}; timer_streams"])).toThrow(
      'Unknown stream "nobody" in computation "counter" in "streams_dependency"',
    );
    expect(() => check(["timer_streams", "streams_dependency = {tick = [counts]}; timer_streams"])).toThrow(
      'Timer stream "tick" in computation "counter" could not depend on output stream "counts"',
    );
    expect(() => check(['"farm_hash(text)"', '"farm_hash(text) % 10"'])).toThrow(
      '"%" is not allowed for usage in expression of the first column',
    );
    expect(() =>
      check([
        'hash; type = uint64; expression = "farm_hash(text)"',
        "text2; type = string; expression = text",
      ]),
    ).toThrow('First column in GroupBySchema is expected to have type "uint64" but it has "string"');
    expect(() => check(["    reader = {", '    "a:b" = {};    reader = {'])).toThrow(
      /computation_class_name/,
    );
  });

  it("refuses classes that are not known, and what a class cannot have", () => {
    expect(() => check(["NYT::NFlow::TProcessFunctionComputation", "NYT::NFlow::TUnknown"])).toThrow(
      /Computation class "NYT::NFlow::TUnknown" is not registered; known classes are "NYT/,
    );
    expect(() =>
      check(["NYT::NFlow::TProcessFunctionComputation", "NYT::NFlow::TProcessFunctionSwiftMapComputation"]),
    ).toThrow("TSwiftMapComputation does not support sinks");
  });
});

describe("the dynamic spec", () => {
  it("gives every field its default", () => {
    expect(parseDynamicSpec(emptyMap).spec.jobManager.lostJobTimeout).toBe(10_000);
    const { spec } = parseDynamicSpec(
      parseYson(Buffer.from('{computations={a={max_bytes_per_batch="50K"}}}')),
    );
    expect(spec.computations.get("a")).toMatchObject({
      maxBytesPerBatch: 50_000,
      maxRowsPerBatch: 1_000,
      batchDuration: 1_000,
    });
  });

  it("[flow 111] refuses throttlers that are not declared, and settings that contradict each other", () => {
    expect(() => checkDynamic("{computations={reader={input_rows_throttler_id=t}}}")).toThrow(
      'Throttler "t" referenced in computation "reader" is not declared in dynamic_spec/throttlers',
    );
    expect(() => checkDynamic("{computations={reader={input_rows_throttler_class_id=c}}}")).toThrow(
      "input_rows_throttler_class_id is set but input_rows_throttler_id is not",
    );
    expect(() =>
      checkDynamic(
        "{throttlers={t={}};computations={reader={input_rows_throttler_id=t;input_bytes_throttler_id=t}}}",
      ),
    ).toThrow(/^Throttler "t" is referenced by both input_rows_throttler_id and input_bytes_throttler_id; /);
    expect(() => checkDynamic("{throttlers={t={classes={c={weight=0.}}}}}")).toThrow(/finite and positive/);
  });
});
