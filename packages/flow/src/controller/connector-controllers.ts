/**
 * The controllers' side of a pipeline's connectors: one for each source and sink of the spec, with their states.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/source_controller_base.cpp.
 */
import { emptyMap, isMap, type YsonMap, type YsonValue, type YtError } from "@qyt/base";
import type {
  ConnectorContext,
  ConnectorRegistry,
  SinkController,
  SourceController,
} from "../connectors/connector.ts";
import type { ComputationId, FlowTimestamp, Key, StreamId } from "../model/message.ts";
import type { DynamicPipelineSpec } from "../spec/dynamic-spec.ts";
import type { PipelineSpec } from "../spec/pipeline-spec.ts";
import { textCell } from "../tables/cells.ts";

export interface ConnectorControllersOptions {
  readonly registry: ConnectorRegistry;
  /** A context whose status goes to a path of its own. */
  readonly contextAt: (report: (path: string, error: YtError | undefined) => void) => ConnectorContext;
  readonly spec: PipelineSpec;
  readonly dynamicSpec: DynamicPipelineSpec;
  /** States by `<computation>/sources/<stream>` and `<computation>/sinks/<sink>`. */
  readonly states: YsonMap;
}

interface Named<Controller> {
  readonly computationId: ComputationId;
  readonly id: string;
  readonly controller: Controller;
}

export class ConnectorControllers {
  readonly #sources: Named<SourceController>[] = [];
  readonly #sinks: (Named<SinkController> & { readonly inputStreamIds: readonly StreamId[] })[] = [];
  readonly #errors = new Map<string, YtError>();

  constructor(options: ConnectorControllersOptions) {
    const { spec, registry, states } = options;
    for (const [computationId, computation] of spec.computations) {
      const dynamic = options.dynamicSpec.computations.get(computationId);
      for (const [streamId, source] of computation.sourceStreams) {
        const place = `${computationId}/sources/${streamId}`;
        const controller = registry
          .source(source.sourceClassName)
          .createController(this.#context(options, place), {
            streamId,
            parameters: source.parameters,
            dynamicParameters: dynamic?.sourceStreams.get(streamId)?.parameters ?? emptyMap,
          });
        controller.start(stateAt(states, place));
        this.#sources.push({ computationId, id: streamId, controller });
      }
      for (const [sinkId, sink] of computation.sinks) {
        const place = `${computationId}/sinks/${sinkId}`;
        const inputSchemas = sink.inputStreamIds.flatMap((id) => {
          const stream = spec.streams.get(id);
          return stream === undefined ? [] : [stream.schema];
        });
        const controller = registry.sink(sink.sinkClassName).createController(this.#context(options, place), {
          sinkId,
          inputStreamIds: sink.inputStreamIds,
          inputSchemas,
          parameters: sink.parameters,
          dynamicParameters: dynamic?.sinks.get(sinkId)?.parameters ?? emptyMap,
        });
        controller.start(stateAt(states, place));
        this.#sinks.push({ computationId, id: sinkId, controller, inputStreamIds: sink.inputStreamIds });
      }
    }
  }

  /** Errors that are tried again, by path. */
  get errors(): ReadonlyMap<string, YtError> {
    return this.#errors;
  }

  /** `[stream, …key of the source]` of each partition; `undefined` while it is not known. */
  keysOf(computationId: ComputationId): readonly Key[] | undefined {
    const keys: Key[] = [];
    for (const source of this.#sources.filter((item) => item.computationId === computationId)) {
      const listed = source.controller.listKeys();
      if (listed === undefined) {
        return undefined;
      }
      keys.push(...listed.map((key) => [textCell(source.id), ...key]));
    }
    return keys;
  }

  /** The largest channel count of a computation's sinks; `undefined` when there is none or one is not known. */
  maxChannelCount(computationId: ComputationId): number | undefined {
    const counts = this.#sinks
      .filter((item) => item.computationId === computationId)
      .map((item) => item.controller.channelCount());
    const known = counts.filter((count) => count !== undefined);
    return known.length === 0 || known.length < counts.length ? undefined : Math.max(...known);
  }

  /** Channel counts of all sinks of a computation: when they change, partitions must get new producer ids. */
  sinkTopology(computationId: ComputationId): string | undefined {
    const counts = this.#sinks
      .filter((item) => item.computationId === computationId)
      .map((item) => [item.id, item.controller.channelCount()] as const);
    return counts.length === 0 || counts.some(([, count]) => count === undefined)
      ? undefined
      : counts.map(([id, count]) => `${id}=${count}`).join(",");
  }

  setWatermarks(eventWatermarks: ReadonlyMap<StreamId, FlowTimestamp>): void {
    for (const { controller, inputStreamIds } of this.#sinks) {
      const known = inputStreamIds.flatMap((id) => {
        const watermark = eventWatermarks.get(id);
        return watermark === undefined ? [] : [[id, watermark] as const];
      });
      controller.setWatermarks(known.length === inputStreamIds.length ? new Map(known) : undefined);
    }
  }

  /** Gives new dynamic parameters to sinks. @throws YtError naming the parameter */
  reconfigure(dynamicSpec: DynamicPipelineSpec): void {
    for (const { computationId, id, controller } of this.#sinks) {
      controller.reconfigure(
        dynamicSpec.computations.get(computationId)?.sinks.get(id)?.parameters ?? emptyMap,
      );
    }
  }

  states(): YsonMap {
    const states = new Map<string, YsonValue>();
    for (const { computationId, id, controller } of this.#sources) {
      states.set(`${computationId}/sources/${id}`, controller.state);
    }
    for (const { computationId, id, controller } of this.#sinks) {
      states.set(`${computationId}/sinks/${id}`, controller.state);
    }
    return states;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sources, ...this.#sinks].map(({ controller }) => controller.stop()));
  }

  #context(options: ConnectorControllersOptions, place: string): ConnectorContext {
    return options.contextAt((path, error) => {
      const full = `/computations/${place}${path}`;
      if (error === undefined) {
        this.#errors.delete(full);
      } else {
        this.#errors.set(full, error);
      }
    });
  }
}

function stateAt(states: YsonMap, place: string): YsonMap | undefined {
  const state = states.get(place);
  return isMap(state) ? state : undefined;
}
