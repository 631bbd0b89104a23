/**
 * Which stream descends from which: inside a computation and over the whole pipeline.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp; documentation "Flow", spec.
 */
import type { StreamId } from "../model/message.ts";
import type { ComputationSpec } from "./computation-spec.ts";
import type { PipelineSpec } from "./pipeline-spec.ts";

/** The kinds of streams of one computation. */
export type StreamKind = "input" | "output" | "source" | "timer" | "visitor";

/** Every stream of a computation with its kind. A stream named twice is there once: see the validation. */
export function streamsOf(computation: ComputationSpec): ReadonlyMap<StreamId, StreamKind> {
  const streams = new Map<StreamId, StreamKind>();
  const add = (ids: Iterable<StreamId>, kind: StreamKind): void => {
    for (const id of ids) {
      streams.set(id, kind);
    }
  };
  add(computation.inputStreamIds, "input");
  add(computation.sourceStreams.keys(), "source");
  add(computation.keyVisitorStreams.keys(), "visitor");
  add(computation.timerStreams.keys(), "timer");
  add(computation.outputStreamIds, "output");
  return streams;
}

/**
 * The name of a stream in the whole pipeline: outputs (and so inputs) keep their id, the other kinds belong to
 * their computation.
 */
export function globalStreamName(computationId: string, streamId: StreamId, kind: StreamKind): string {
  return kind === "input" || kind === "output" ? streamId : `${computationId}/${streamId}`;
}

/**
 * `streams_dependency` with what is derived when it is not given: timers descend from inputs and sources,
 * outputs from inputs, sources and timers. Visitors are never added by themselves.
 */
export function streamsDependencyOf(
  computation: ComputationSpec,
): ReadonlyMap<StreamId, ReadonlySet<StreamId>> {
  const begins = [...computation.inputStreamIds, ...computation.sourceStreams.keys()];
  const timers = [...computation.timerStreams.keys()];
  const dependency = new Map<StreamId, ReadonlySet<StreamId>>();
  const given = (id: StreamId, derived: readonly StreamId[]): void => {
    dependency.set(id, new Set(computation.streamsDependency.get(id) ?? derived));
  };
  for (const timer of timers) {
    given(timer, begins);
  }
  for (const output of computation.outputStreamIds) {
    given(output, [...begins, ...timers]);
  }
  return dependency;
}

/** A computation's streams, each after those it descends from (a timer's dependency on itself apart). */
export function topologicalOrder(computation: ComputationSpec): readonly StreamId[] {
  const dependency = streamsDependencyOf(computation);
  const order: StreamId[] = [];
  const seen = new Set<StreamId>();
  const visit = (id: StreamId): void => {
    if (seen.has(id)) {
      return;
    }
    seen.add(id);
    for (const parent of dependency.get(id) ?? []) {
      visit(parent);
    }
    order.push(id);
  };
  for (const id of streamsOf(computation).keys()) {
    visit(id);
  }
  return order;
}

/** An edge of the pipeline's graph, by global names: `to` descends from `from`. */
export interface StreamEdge {
  readonly from: string;
  readonly to: string;
}

/** Edges of streams' descent and of read delays, by global names. */
export function streamEdges(spec: PipelineSpec): readonly StreamEdge[] {
  const edges: StreamEdge[] = [];
  for (const [computationId, computation] of spec.computations) {
    const kinds = streamsOf(computation);
    const named = (id: StreamId): string => globalStreamName(computationId, id, kinds.get(id) ?? "output");
    for (const [to, parents] of streamsDependencyOf(computation)) {
      for (const from of parents) {
        if (!(from === to && computation.allowTimerSelfDependency && kinds.get(to) === "timer")) {
          edges.push({ from: named(from), to: named(to) });
        }
      }
    }
    const delays = computation.watermarkStrategy.watermarkAlignment?.readDelays ?? new Map<string, number>();
    for (const from of delays.keys()) {
      for (const source of computation.sourceStreams.keys()) {
        edges.push({ from, to: named(source) });
      }
    }
  }
  return edges;
}

/** An edge that closes a cycle, if there is one. */
export function findCycle(edges: readonly StreamEdge[]): StreamEdge | undefined {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) {
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const finished = new Set<string>();
  const path = new Set<string>();
  const search = (node: string): StreamEdge | undefined => {
    path.add(node);
    for (const to of next.get(node) ?? []) {
      if (path.has(to)) {
        return { from: node, to };
      }
      const found = finished.has(to) ? undefined : search(to);
      if (found !== undefined) {
        return found;
      }
    }
    path.delete(node);
    finished.add(node);
    return undefined;
  };
  for (const node of next.keys()) {
    const found = finished.has(node) ? undefined : search(node);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}
