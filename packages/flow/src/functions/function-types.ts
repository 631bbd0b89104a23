/** The types of `defineFunction`: what a definition says, and what its handlers get. */

import type { YsonValue } from "@qyt/base";
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type { Field, Fields, NewRowOf, RowOf, ValueOf } from "./fields.ts";

/** Streams by name, with their columns. */
export type Streams = Readonly<Record<string, Fields>>;
/** States of a key by name: an object with declared fields, or one value. */
export type States = Readonly<Record<string, Fields | Field<unknown>>>;

export type StateValueOf<S> = S extends Field<unknown> ? ValueOf<S> : S extends Fields ? RowOf<S> : never;
type NewStateValueOf<S> = S extends Field<unknown> ? ValueOf<S> : S extends Fields ? NewRowOf<S> : never;

/** A message of one of the input streams: `stream` tells which. */
export type MessageOf<Inputs extends Streams, Key extends Fields> = {
  readonly [Name in keyof Inputs & string]: {
    readonly kind: "message";
    readonly stream: Name;
    readonly messageId: string;
    readonly row: RowOf<Inputs[Name]>;
    readonly key: RowOf<Key>;
    /** Seconds since the epoch, as all times here. */
    readonly eventTimestamp: number;
    readonly systemTimestamp: number;
  };
}[keyof Inputs & string];

export interface TimerOf<Timers extends string, Key extends Fields> {
  readonly kind: "timer";
  readonly timer: Timers;
  readonly messageId: string;
  readonly key: RowOf<Key>;
  /** What it was set for. */
  readonly triggerTimestamp: number;
  readonly eventTimestamp: number;
}

export interface VisitOf<Key extends Fields> {
  readonly kind: "visit";
  readonly stream: string;
  readonly messageId: string;
  readonly key: RowOf<Key>;
}

/** One of a batch: what outputs may descend from. */
export interface ParentItem {
  readonly kind: "message" | "timer" | "visit";
  readonly messageId: string;
}

export interface EmitOptions {
  /** Seconds; by default the earliest of the parents. */
  readonly eventTimestamp?: number;
  /** `false`: a source's watermark counts the message, but nobody gets it. */
  readonly distribute?: boolean;
  /** What the output descends from; by default what is being processed, or what `setParents` said. */
  readonly parents?: readonly ParentItem[];
}

export interface TimerOptions<Key extends Fields> {
  readonly eventTimestamp?: number;
  /** By default the key of the parents. */
  readonly key?: RowOf<Key>;
  readonly parents?: readonly ParentItem[];
}

/** A state of the key at hand. */
export interface StateHandle<S> {
  /** `undefined` when it is empty. */
  get(): StateValueOf<S> | undefined;
  set(value: NewStateValueOf<S>): void;
  /** Empties it: its row goes. */
  clear(): void;
}

export interface EmitApi<Outputs extends Streams, Timers extends string, Key extends Fields> {
  /** Gives a message to a stream. */
  readonly emit: {
    readonly [Name in keyof Outputs]: (row: NewRowOf<Outputs[Name]>, options?: EmitOptions) => void;
  };
  /** Sets a timer for a time in seconds. */
  readonly timers: {
    readonly [Name in Timers]: (triggerTimestamp: number, options?: TimerOptions<Key>) => void;
  };
  /** «Now» of the epoch, in seconds: the same when the epoch is repeated is not promised. */
  readonly now: number;
  /** How far a stream has come in event time, in seconds. */
  watermark(stream: string): number;
}

/** What a handler of one key works with. */
export interface KeyContext<
  Outputs extends Streams,
  Key extends Fields,
  StateShapes extends States,
  Timers extends string,
  Parameters,
> extends EmitApi<Outputs, Timers, Key> {
  readonly key: RowOf<Key>;
  readonly states: { readonly [Name in keyof StateShapes]: StateHandle<StateShapes[Name]> };
  readonly parameters: Parameters;
  /** In handlers of batches and keys: what the next outputs descend from. */
  setParents(...parents: readonly ParentItem[]): void;
}

/** What a handler of a whole batch works with. */
export interface BatchContext<
  Outputs extends Streams,
  Key extends Fields,
  StateShapes extends States,
  Timers extends string,
  Parameters,
> extends EmitApi<Outputs, Timers, Key> {
  readonly parameters: Parameters;
  setParents(...parents: readonly ParentItem[]): void;
  /** The context of an item's key: its states; outputs descend from the item. Good until the next call. */
  at(item: ParentItem): KeyContext<Outputs, Key, StateShapes, Timers, Parameters>;
}

export interface BatchOf<Inputs extends Streams, Key extends Fields, Timers extends string> {
  readonly messages: readonly MessageOf<Inputs, Key>[];
  readonly timers: readonly TimerOf<Timers, Key>[];
  readonly visits: readonly VisitOf<Key>[];
}

type Done = void | Promise<void>;

export interface FunctionDefinition<
  Inputs extends Streams,
  Outputs extends Streams,
  Key extends Fields,
  StateShapes extends States,
  Timers extends string,
  Parameters,
> {
  /** As `processing_function` names it. */
  readonly name: string;
  /** By the stream's id. A lone one fits a lone stream of any id. */
  readonly inputs: Inputs;
  readonly outputs?: Outputs;
  /** The columns of `group_by_schema` that the function looks at. */
  readonly key?: Key;
  readonly states?: StateShapes;
  /** Ids of timer streams. */
  readonly timers?: readonly Timers[];
  /** Reads `processing_function_parameters`; called again when the dynamic ones change. */
  readonly parameters?: (fixed: YsonValue | undefined, dynamic: YsonValue | undefined) => Parameters;
  readonly onMessage?: (
    message: MessageOf<Inputs, Key>,
    context: KeyContext<Outputs, Key, StateShapes, Timers, Parameters>,
  ) => Done;
  readonly onTimer?: (
    timer: TimerOf<Timers, Key>,
    context: KeyContext<Outputs, Key, StateShapes, Timers, Parameters>,
  ) => Done;
  readonly onVisit?: (
    visit: VisitOf<Key>,
    context: KeyContext<Outputs, Key, StateShapes, Timers, Parameters>,
  ) => Done;
  /** Instead of the handlers above: all of a key at once. */
  readonly onKey?: (
    batch: BatchOf<Inputs, Key, Timers>,
    context: KeyContext<Outputs, Key, StateShapes, Timers, Parameters>,
  ) => Done;
  /** Instead of the handlers above: the whole batch of the epoch. */
  readonly onBatch?: (
    batch: BatchOf<Inputs, Key, Timers>,
    context: BatchContext<Outputs, Key, StateShapes, Timers, Parameters>,
  ) => Done;
  /** Writes rows of its own into the epoch's transaction. Transforms only. */
  readonly sync?: (transaction: Pick<FlowTransaction, "insertRows" | "deleteRows">) => Done;
}
