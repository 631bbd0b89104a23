/**
 * The classes of computations: what each is, and what its spec may hold.
 * Specified in: yt/yt/flow/library/cpp/computation/*.cpp; documentation "Flow", computations.
 */
import { YtError } from "@qyt/base";
import type { ComputationSpec } from "./computation-spec.ts";
import { streamsDependencyOf } from "./stream-graph.ts";

export type ComputationKind = "transform" | "swift_map" | "swift_ordered_source" | "transform_ordered_source";

export interface ComputationClass {
  readonly name: string;
  readonly kind: ComputationKind;
  /** Runs the function named by `processing_function`; the others pass messages through. */
  readonly isProcessFunction: boolean;
}

function family(kind: ComputationKind, functional: string, plain: string): readonly ComputationClass[] {
  return [
    { name: `NYT::NFlow::${functional}`, kind, isProcessFunction: true },
    { name: `NYT::NFlow::${plain}`, kind, isProcessFunction: false },
  ];
}

const classes: readonly ComputationClass[] = [
  ...family("transform", "TProcessFunctionComputation", "TPassthroughComputation"),
  ...family("swift_map", "TProcessFunctionSwiftMapComputation", "TSwiftPassthroughComputation"),
  ...family(
    "swift_ordered_source",
    "TProcessFunctionSourceComputation",
    "TSwiftPassthroughOrderedSourceComputation",
  ),
  {
    name: "NYT::NFlow::TProcessFunctionTransformOrderedSourceComputation",
    kind: "transform_ordered_source",
    isProcessFunction: true,
  },
];

export const computationClassNames: readonly string[] = classes.map((item) => item.name);

/** @throws YtError 1 when there is no such class */
export function computationClass(name: string): ComputationClass {
  const found = classes.find((item) => item.name === name);
  if (found === undefined) {
    throw new YtError(
      `Computation class "${name}" is not registered; known classes are ${computationClassNames.map((known) => `"${known}"`).join(", ")}`,
    );
  }
  return found;
}

const baseNames: Readonly<Record<ComputationKind, string>> = {
  transform: "TTransformComputation",
  swift_map: "TSwiftMapComputation",
  swift_ordered_source: "TSwiftOrderedSourceComputation",
  transform_ordered_source: "TTransformOrderedSourceComputation",
};

/** The rules of a computation's kind. @throws YtError 1 with the text of the rule */
export function checkKind(computationId: string, spec: ComputationSpec): void {
  const { kind, isProcessFunction, name } = computationClass(spec.computationClassName);
  if (isProcessFunction && spec.processingFunction === undefined) {
    throw new YtError(`Computation "${computationId}" of class "${name}" needs "processing_function"`);
  }
  const base = baseNames[kind];
  const refuseIf = (condition: boolean, message: string): void => {
    if (condition) {
      throw new YtError(message);
    }
  };
  switch (kind) {
    case "transform":
      refuseIf(spec.sourceStreams.size > 0, `${base} does not support source streams`);
      refuseIf(
        spec.watermarkStrategy.watermarkGenerator !== undefined,
        `${base} does not support watermark generator`,
      );
      refuseIf(
        spec.watermarkStrategy.watermarkAlignment !== undefined,
        `${base} does not support watermark alignment`,
      );
      refuseIf(
        spec.inputStreamIds.length === 0 && spec.keyVisitorStreams.size === 0,
        `${base} requires at least one input stream or a key_visitor_streams entry`,
      );
      break;
    case "swift_map":
      refuseIf(spec.sourceStreams.size > 0, `${base} does not support source streams`);
      refuseIf(spec.inputStreamIds.length === 0, `${base} requires input streams`);
      refuseIf(spec.sinks.size > 0, `${base} does not support sinks`);
      checkSwiftOutputs(spec);
      break;
    default:
      refuseIf(spec.inputStreamIds.length > 0, `${base} does not support input streams`);
      refuseIf(
        kind === "swift_ordered_source" && spec.timerStreams.size > 0,
        `${base} does not support timers`,
      );
      refuseIf(spec.keyVisitorStreams.size > 0, `${base} does not support key_visitor_streams`);
      refuseIf(
        spec.sourceStreams.size !== 1,
        `${base} requires exactly one source stream but got ${spec.sourceStreams.size}`,
      );
      refuseIf(
        kind === "transform_ordered_source" && spec.groupBySchema.columns.length > 0,
        `${base} requires an empty "group_by_schema": its key is the source key`,
      );
  }
}

function checkSwiftOutputs(spec: ComputationSpec): void {
  const dependency = streamsDependencyOf(spec);
  for (const output of spec.outputStreamIds) {
    for (const parent of spec.streamsDependency.get(output) ?? []) {
      const what = spec.timerStreams.has(parent)
        ? "timer"
        : spec.keyVisitorStreams.has(parent)
          ? "visitor"
          : undefined;
      if (what !== undefined && dependency.get(output)?.has(parent)) {
        throw new YtError(
          `Output stream "${output}" of TSwiftMapComputation must not depend on ${what} stream "${parent}"; ` +
            `name its parents in "streams_dependency", or use a transform computation`,
        );
      }
    }
    if (!spec.streamsDependency.has(output) && spec.timerStreams.size > 0) {
      const [timer] = spec.timerStreams.keys();
      throw new YtError(
        `Output stream "${output}" of TSwiftMapComputation must not depend on timer stream "${timer}"; ` +
          `name its parents in "streams_dependency", or use a transform computation`,
      );
    }
  }
}
