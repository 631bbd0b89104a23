/** What a job reports of its streams: how far they are and what is under way. */
import type { FlowTimestamp, StreamId } from "../model/message.ts";
import { undefinedTimestamp } from "../model/timestamps.ts";
import type { InflightReport, StreamReport, Traverse } from "../protocol/protocol.ts";
import type { ComputationSpec } from "../spec/computation-spec.ts";
import { streamsDependencyOf, topologicalOrder } from "../spec/stream-graph.ts";
import { jobTraverse, type StreamInflight } from "../watermarks/traverse.ts";

/** What of one stream is under way. */
export interface StreamState extends StreamInflight {
  readonly count: number;
  readonly byteSize: number;
  readonly idleDuration?: number | undefined;
  readonly lastIdleTimestamp?: FlowTimestamp | undefined;
  readonly unavailableInstant?: FlowTimestamp | undefined;
}

export const nothingInflight: StreamState = {
  count: 0,
  byteSize: 0,
  isEmpty: true,
  isSuspended: false,
  minSystemTimestamp: undefined,
  minEventTimestamp: undefined,
};

/** What an input stream is while the controller has not said anything of it. */
const unknownInput: Traverse = {
  epoch: 0n,
  state: "active",
  systemWatermark: undefinedTimestamp,
  eventWatermark: undefinedTimestamp,
};

export interface ReportInput {
  readonly inputTraverse: ReadonlyMap<string, Traverse>;
  readonly stateOf: (streamId: StreamId) => StreamState;
  readonly sourceWatermark: (streamId: StreamId) => FlowTimestamp | undefined;
  readonly isExecuting: boolean;
  readonly now: FlowTimestamp;
  readonly ownSystemWatermark: FlowTimestamp;
}

/** Makes the reports of one computation's jobs. */
export class StreamReporter {
  readonly #order: readonly StreamId[];
  readonly #dependency: ReadonlyMap<StreamId, ReadonlySet<StreamId>>;
  readonly #inputs: readonly StreamId[];
  readonly #specGeneration: bigint;

  constructor(spec: ComputationSpec, specGeneration: bigint) {
    this.#order = topologicalOrder(spec);
    this.#dependency = streamsDependencyOf(spec);
    this.#inputs = spec.inputStreamIds;
    this.#specGeneration = specGeneration;
  }

  report(input: ReportInput): ReadonlyMap<StreamId, StreamReport> {
    const inputs = new Map(
      this.#inputs.map((streamId) => [streamId, input.inputTraverse.get(streamId) ?? unknownInput]),
    );
    const states = new Map(this.#order.map((streamId) => [streamId, input.stateOf(streamId)]));
    const traverse = jobTraverse({
      order: this.#order,
      dependency: this.#dependency,
      inputs: input.isExecuting ? inputs : new Map(),
      inflight: (streamId) => states.get(streamId) ?? nothingInflight,
      sourceWatermark: input.sourceWatermark,
      isExecuting: input.isExecuting,
      specGeneration: this.#specGeneration,
      now: input.now,
      ownSystemWatermark: input.ownSystemWatermark,
    });
    const reports = new Map<StreamId, StreamReport>();
    for (const [streamId, value] of traverse) {
      reports.set(streamId, { ...value, inflight: inflightOf(states.get(streamId) ?? nothingInflight) });
    }
    return reports;
  }
}

function inflightOf(state: StreamState): InflightReport {
  return {
    count: state.count,
    byteSize: state.byteSize,
    idleDuration: state.idleDuration,
    lastIdleTimestamp: state.lastIdleTimestamp,
    unavailableInstant: state.unavailableInstant,
  };
}
