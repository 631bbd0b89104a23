/** The sinks of one job: which stream goes to which, and their states. */
import { emptyMap, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type { ConnectorContext, Sink } from "../connectors/connector.ts";
import type { Message, StreamId } from "../model/message.ts";
import type { DynamicComputationSpec } from "../spec/dynamic-spec.ts";
import type { JobContext } from "./job-context.ts";
import type { ServiceStates } from "./service-states.ts";

export class SinkSet {
  readonly #sinks = new Map<string, Sink>();
  readonly #byStream = new Map<StreamId, Sink[]>();
  readonly #states: ServiceStates;

  /** @throws YtError as the classes of the sinks do */
  constructor(
    job: JobContext,
    dynamicSpec: DynamicComputationSpec,
    context: ConnectorContext,
    states: ServiceStates,
  ) {
    this.#states = states;
    for (const [sinkId, spec] of job.spec.sinks) {
      const sink = job.registry.sink(spec.sinkClassName).createSink(
        { ...context, status: below(context, `/sinks/${sinkId}`) },
        {
          sinkId,
          inputStreamIds: spec.inputStreamIds,
          inputSchemas: spec.inputStreamIds.map((id) => schemaOf(job, id)),
          parameters: spec.parameters,
          dynamicParameters: dynamicSpec.sinks.get(sinkId)?.parameters ?? emptyMap,
        },
      );
      this.#sinks.set(sinkId, sink);
      for (const streamId of spec.inputStreamIds) {
        this.#byStream.set(streamId, [...(this.#byStream.get(streamId) ?? []), sink]);
      }
    }
  }

  async init(): Promise<void> {
    for (const [sinkId, sink] of this.#sinks) {
      await sink.init(this.#states.get(stateName(sinkId)));
    }
  }

  /** How many sinks a stream goes to. */
  countOf(streamId: StreamId): number {
    return this.#byStream.get(streamId)?.length ?? 0;
  }

  /** Hands a message to its sinks; `done` is called once for each. */
  distribute(message: Message, done: () => void): void {
    for (const sink of this.#byStream.get(message.streamId) ?? []) {
      sink.distribute(message, done);
    }
  }

  /** Rows of synchronous sinks, and the states of all. */
  async sync(transaction: FlowTransaction): Promise<void> {
    for (const [sinkId, sink] of this.#sinks) {
      this.#states.set(stateName(sinkId), await sink.sync(transaction));
    }
  }

  committed(): void {
    for (const sink of this.#sinks.values()) {
      sink.committed();
    }
  }

  reconfigure(dynamicSpec: DynamicComputationSpec): void {
    for (const [sinkId, sink] of this.#sinks) {
      sink.reconfigure(dynamicSpec.sinks.get(sinkId)?.parameters ?? emptyMap);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map((sink) => sink.close()));
  }
}

function stateName(sinkId: string): string {
  return `sinks/${sinkId}/v0`;
}

function schemaOf(job: JobContext, streamId: StreamId): TableSchema {
  const schema = job.streams.get(streamId);
  if (schema === undefined) {
    throw new YtError(`Stream "${streamId}" is not registered in "streams"`);
  }
  return schema;
}

/** A reporter whose paths lie below another one's. */
export function below(context: ConnectorContext, prefix: string): ConnectorContext["status"] {
  return { report: (path, error) => context.status.report(prefix + path, error) };
}
