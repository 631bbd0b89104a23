/**
 * Runs the function of a computation on the batch of an epoch and gathers what it gives: messages with their ids and
 * times filled in, timers, changed states.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, TableSchema } from "@qyt/schema";
import type { EpochTime } from "../connectors/connector.ts";
import { passThrough } from "../functions/pass-through.ts";
import type { CompiledFunction, EpochBatch, FunctionHost } from "../functions/process-function.ts";
import { keyText } from "../model/group-by.ts";
import type { FlowTimestamp, Key, Message, Payload, StreamId, Timer } from "../model/message.ts";
import { checkMessageMeta, checkMessageSize } from "../model/message-checks.ts";
import type { MetaSetter, Parent } from "../model/meta-setters.ts";
import { undefinedTimestamp } from "../model/timestamps.ts";
import { computationClass } from "../spec/computation-classes.ts";
import { compileAssigner } from "../watermarks/event-timestamp-assigner.ts";
import type { JobContext } from "./job-context.ts";
import type { KeyStates } from "./key-states.ts";

/** What a function has given in an epoch. */
export interface Outputs {
  readonly messages: {
    readonly message: Message;
    readonly parents: readonly Parent[];
    readonly isDistributed: boolean;
  }[];
  readonly timers: Timer[];
}

type Assigner = NonNullable<ReturnType<typeof compileAssigner>>;

/** The function that a spec names, made fit for its computation. @throws YtError when it does not fit */
export function compileFunction(
  job: JobContext,
  inputs: ReadonlyMap<StreamId, TableSchema>,
  keySchema: TableSchema,
): CompiledFunction {
  const { spec } = job;
  const { kind, isProcessFunction } = computationClass(spec.computationClassName);
  const definition = isProcessFunction ? job.functions.get(spec.processingFunction ?? "") : passThrough;
  return definition.compile({
    computationId: job.partition.computationId,
    kind,
    inputs,
    outputs: outputSchemas(job),
    keySchema,
    timerStreams: [...spec.timerStreams.keys()],
    parameters: spec.processingFunctionParameters,
    dynamicParameters: undefined,
  });
}

export function outputSchemas(job: JobContext): ReadonlyMap<StreamId, TableSchema> {
  const schemas = new Map<StreamId, TableSchema>();
  for (const streamId of job.spec.outputStreamIds) {
    const schema = job.streams.get(streamId);
    if (schema === undefined) {
      throw new YtError(`Stream "${streamId}" is not registered in "streams"`);
    }
    schemas.set(streamId, schema);
  }
  return schemas;
}

export class FunctionRunner {
  readonly #compiled: CompiledFunction;
  readonly #metas: MetaSetter;
  readonly #states: KeyStates;
  readonly #assigners = new Map<StreamId, Assigner>();
  readonly #timerStreams: ReadonlySet<StreamId>;
  readonly #outputStreams: ReadonlyMap<StreamId, TableSchema>;
  readonly #keyTypes: readonly PhysicalType[];
  readonly #watermark: (streamId: StreamId) => FlowTimestamp;

  constructor(
    job: JobContext,
    compiled: CompiledFunction,
    metas: MetaSetter,
    states: KeyStates,
    keyTypes: readonly PhysicalType[],
    watermark: (streamId: StreamId) => FlowTimestamp,
  ) {
    this.#compiled = compiled;
    this.#metas = metas;
    this.#states = states;
    this.#keyTypes = keyTypes;
    this.#watermark = watermark;
    this.#timerStreams = new Set(job.spec.timerStreams.keys());
    this.#outputStreams = outputSchemas(job);
    for (const [streamId, schema] of this.#outputStreams) {
      const assigner = compileAssigner(job.spec.watermarkStrategy.eventTimestampAssigner, schema);
      if (assigner !== undefined) {
        this.#assigners.set(streamId, assigner);
      }
    }
  }

  /** States of the batch's keys must be preloaded. @throws what the function throws */
  async run(batch: EpochBatch, time: EpochTime): Promise<Outputs> {
    const outputs: Outputs = { messages: [], timers: [] };
    this.#metas.begin(time);
    const running = this.#compiled.process(batch, this.#host(outputs, time));
    if (running !== undefined) {
      await running;
    }
    return outputs;
  }

  #host(outputs: Outputs, time: EpochTime): FunctionHost {
    return {
      now: time.now,
      watermark: this.#watermark,
      state: (text, index) => this.#states.get(text, index),
      setState: (text, index, value) => this.#states.set(text, index, value),
      addMessage: (streamId, payload, eventTimestamp, parents, isDistributed) => {
        const message = this.#message(streamId, payload, eventTimestamp, parents);
        outputs.messages.push({ message, parents, isDistributed });
      },
      addTimer: (streamId, key, triggerTimestamp, eventTimestamp, parents) => {
        if (!this.#timerStreams.has(streamId)) {
          throw new YtError(`Timer stream "${streamId}" is not in "timer_streams" of the computation`);
        }
        // Checks that the key fits: its text is what its states are found by.
        keyText(key, this.#keyTypes);
        const meta = this.#metas.fill(streamId, eventTimestamp, parents);
        outputs.timers.push({
          messageId: meta.messageId,
          streamId,
          key,
          systemTimestamp: meta.systemTimestamp,
          eventTimestamp: meta.eventTimestamp,
          triggerTimestamp,
        });
      },
    };
  }

  #message(
    streamId: StreamId,
    payload: Payload,
    eventTimestamp: FlowTimestamp,
    parents: readonly Parent[],
  ): Message {
    const schema = this.#outputStreams.get(streamId);
    if (schema === undefined) {
      throw new YtError(`Stream "${streamId}" is not an output stream of the computation`);
    }
    if (payload.length !== schema.columns.length) {
      throw new YtError("message.PayloadSchema has unexpected value", {
        attributes: { stream_id: streamId },
      });
    }
    const meta = this.#metas.fill(streamId, eventTimestamp, parents);
    const assigned = this.#assigners.get(streamId)?.(payload, meta.systemTimestamp) ?? undefinedTimestamp;
    const message: Message = {
      messageId: meta.messageId,
      streamId,
      systemTimestamp: meta.systemTimestamp,
      eventTimestamp: assigned === undefinedTimestamp ? meta.eventTimestamp : assigned,
      alignmentTimestamp: meta.alignmentTimestamp,
      payload,
    };
    checkMessageMeta(message);
    checkMessageSize(message);
    return message;
  }
}

/** A key as the batches of functions have it. */
export function keyed<Item>(item: Item, key: Key, text: string): { item: Item; key: Key; keyText: string } {
  return { item, key, keyText: text };
}
