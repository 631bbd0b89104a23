/**
 * What a computation asks of user code, and what it offers it. `defineFunction` makes such functions of typed
 * TypeScript; pass-through is one of the runtime's own.
 * Specified in: yt/yt/flow/library/cpp/computation/process_function_computation.cpp; documentation "Flow",
 * process functions.
 */
import type { YsonValue } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type { StateCodec } from "../computations/key-states.ts";
import type { FlowTimestamp, Key, Message, Payload, StreamId, Timer, Visit } from "../model/message.ts";
import type { Parent } from "../model/meta-setters.ts";
import type { ComputationKind } from "../spec/computation-classes.ts";

/** Something to process, with its key. */
export interface KeyedItem<Item> {
  readonly item: Item;
  readonly key: Key;
  readonly keyText: string;
}

/** What one epoch gives a function. Sorted: messages in processing order, timers by trigger. */
export interface EpochBatch {
  readonly messages: readonly KeyedItem<Message>[];
  readonly timers: readonly KeyedItem<Timer>[];
  readonly visits: readonly KeyedItem<Visit>[];
}

/** The computation, as a function sees it during an epoch. */
export interface FunctionHost {
  /** «Now» of the epoch. */
  readonly now: FlowTimestamp;
  /** How far a stream has come, by its id in the computation. */
  watermark(streamId: StreamId): FlowTimestamp;
  /**
   * @param eventTimestamp 0: derived from the parents
   * @param isDistributed `false`: a source's watermark counts it, but nobody gets it
   */
  addMessage(
    streamId: StreamId,
    payload: Payload,
    eventTimestamp: FlowTimestamp,
    parents: readonly Parent[],
    isDistributed: boolean,
  ): void;
  addTimer(
    streamId: StreamId,
    key: Key,
    triggerTimestamp: FlowTimestamp,
    eventTimestamp: FlowTimestamp,
    parents: readonly Parent[],
  ): void;
  /** States of keys of the batch, by the index in `states`. */
  state(keyText: string, index: number): unknown;
  setState(keyText: string, index: number, value: unknown): void;
}

/** A function made fit for one computation. */
export interface CompiledFunction {
  /** States of keys, in the order of their indexes. */
  readonly states: readonly StateCodec[];
  process(batch: EpochBatch, host: FunctionHost): void | Promise<void>;
  /** Writes into the epoch's transaction. Transforms only. */
  readonly sync?: (transaction: FlowTransaction) => void | Promise<void>;
  /** New `processing_function_parameters` of the dynamic spec. */
  readonly reconfigure?: (parameters: YsonValue | undefined) => void;
}

/** What a function is made fit for. */
export interface FunctionContext {
  readonly computationId: string;
  readonly kind: ComputationKind;
  /** Schemas of what comes in: inputs, or the source. A source's is known with its first batch. */
  readonly inputs: ReadonlyMap<StreamId, TableSchema>;
  readonly outputs: ReadonlyMap<StreamId, TableSchema>;
  /** Of `group_by_schema`, or of the source key. */
  readonly keySchema: TableSchema;
  readonly timerStreams: readonly StreamId[];
  readonly parameters: YsonValue | undefined;
  readonly dynamicParameters: YsonValue | undefined;
}

export interface ProcessFunction {
  /** As `processing_function` names it. */
  readonly name: string;
  /** @throws YtError 1 when the function does not fit the computation's streams, keys or parameters */
  compile(context: FunctionContext): CompiledFunction;
}

/** Functions by name. */
export interface FunctionRegistry {
  /** @throws YtError 1 naming the known ones */
  get(name: string): ProcessFunction;
}
