/** A small valid pipeline for tests of specs: a source of lines, a counter with a sink. */
import type { YsonValue } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import type { ConnectorRegistry, SinkClass, SourceClass } from "../connectors/connector.ts";

function never(): never {
  throw new Error("not made in this test");
}

const source: SourceClass = {
  name: "Source",
  validate: () => [],
  createSource: never,
  createController: never,
};
const sink: SinkClass = {
  name: "Sink",
  validate: () => [],
  createSink: never,
  createController: never,
};

/** A registry whose classes accept everything. */
export const lenientRegistry: ConnectorRegistry = {
  source: () => source,
  sink: () => sink,
  sourceNames: ["Source"],
  sinkNames: ["Sink"],
};

const text = `{
  streams = {
    lines = {schema = [{name = text; type = string; required = %true}]};
    counts = {schema = [{name = word; type = string; required = %true}; {name = n; type = int64}]};
  };
  computations = {
    reader = {
      computation_class_name = "NYT::NFlow::TSwiftPassthroughOrderedSourceComputation";
      output_stream_ids = [lines];
      source_streams = {q = {source_class_name = Source; parameters = {}}};
      watermark_strategy = {watermark_generator = {out_of_orderness_bound = "30s"; idle_partitions = {duration = "1m"; max_ratio = 0.5}}};
    };
    counter = {
      computation_class_name = "NYT::NFlow::TProcessFunctionComputation";
      processing_function = "demo.CountWords";
      group_by_schema = [
        {name = hash; type = uint64; expression = "farm_hash(text)"; required = %true};
        {name = text; type = string; required = %true};
      ];
      input_stream_ids = [lines];
      output_stream_ids = [counts];
      timer_streams = {tick = {}};
      sinks = {out = {sink_class_name = Sink; input_stream_ids = [counts]; parameters = {}}};
    };
  };
}`;

/** The spec, with pieces of its text replaced: each must be there. */
export function exampleSpec(...replacements: readonly (readonly [from: string, to: string])[]): YsonValue {
  let changed = text;
  for (const [from, to] of replacements) {
    if (!changed.includes(from)) {
      throw new Error(`the example has no ${from}`);
    }
    changed = changed.replace(from, to);
  }
  return parseYson(Buffer.from(changed));
}
