/**
 * Runs a function with messages, timers and watermarks without a cluster: what it gives is gathered, its states and
 * timers are kept, timers fire as the watermark moves on.
 */
import { type YsonValue, YtError } from "@qyt/base";
import { column, type PhysicalType, type RowValue, TableSchema } from "@qyt/schema";
import type { StateCodec } from "../computations/key-states.ts";
import { keyText } from "../model/group-by.ts";
import type { FlowTimestamp, Key, Message, StreamId, Timer, UniqueSeqNo } from "../model/message.ts";
import { orderedMessageId } from "../model/message-ids.ts";
import { UniqueMetaSetter } from "../model/meta-setters.ts";
import { flowTimestamp, undefinedTimestamp } from "../model/timestamps.ts";
import type { DefinedFunction } from "./define-function.ts";
import type { Fields, NewRowOf, RowOf } from "./fields.ts";
import type { States, StateValueOf, Streams } from "./function-types.ts";
import type { CompiledFunction, EpochBatch, FunctionHost, KeyedItem } from "./process-function.ts";
import { compileReader, compileWriter } from "./row-codecs.ts";

export interface HarnessOptions {
  /** `processing_function_parameters`. */
  readonly parameters?: YsonValue;
  readonly dynamicParameters?: YsonValue;
  /** «Now» at the beginning, in seconds. */
  readonly now?: number;
}

export interface SendOptions<KeyFields extends Fields> {
  /** By default taken from the columns of the row that have the key's names. */
  readonly key?: NewRowOf<KeyFields>;
  /** In seconds; by default now. */
  readonly eventTimestamp?: number;
}

/** A message that a function has given. */
export interface GivenMessage<Row> {
  readonly row: Row;
  readonly messageId: string;
  readonly eventTimestamp: number;
  readonly isDistributed: boolean;
}

type Plain = Record<string, unknown>;

const defaultNow = 1_700_000_000;

/**
 * Makes a function ready to be tried.
 * @throws YtError as in a pipeline when declarations do not fit each other, or parameters are wrong
 */
export function harness<
  Inputs extends Streams,
  Outputs extends Streams,
  KeyFields extends Fields,
  StateShapes extends States,
  Timers extends string,
>(
  definition: DefinedFunction<Inputs, Outputs, KeyFields, StateShapes, Timers>,
  options: HarnessOptions = {},
): Harness<Inputs, Outputs, KeyFields, StateShapes> {
  return new Harness(definition, options);
}

export class Harness<
  Inputs extends Streams,
  Outputs extends Streams,
  KeyFields extends Fields,
  StateShapes extends States,
> {
  readonly #definition: DefinedFunction<Inputs, Outputs, KeyFields, StateShapes, string>;
  readonly #compiled: CompiledFunction;
  readonly #keySchema: TableSchema;
  readonly #keyTypes: readonly PhysicalType[];
  readonly #outputSchemas: ReadonlyMap<StreamId, TableSchema>;
  readonly #metas: UniqueMetaSetter;
  readonly #states = new Map<string, unknown[]>();
  #timers: Timer[] = [];
  #given: { readonly message: Message; readonly isDistributed: boolean }[] = [];
  #sequence = 0n;
  #now: FlowTimestamp;
  #watermark: FlowTimestamp = undefinedTimestamp;

  constructor(
    definition: DefinedFunction<Inputs, Outputs, KeyFields, StateShapes, string>,
    options: HarnessOptions,
  ) {
    this.#definition = definition;
    this.#now = flowTimestamp(options.now ?? defaultNow);
    this.#keySchema = schemaOf(definition.key);
    this.#keyTypes = this.#keySchema.columns.map((item) => item.physical);
    this.#outputSchemas = schemasOf(definition.outputs);
    const inputs = Object.keys(definition.inputs);
    const parents = new Set([...inputs, ...definition.timers]);
    this.#metas = new UniqueMetaSetter(
      new Map([...Object.keys(definition.outputs), ...definition.timers].map((id) => [id, parents])),
    );
    this.#compiled = definition.compile({
      computationId: "harness",
      kind: "transform",
      inputs: schemasOf(definition.inputs),
      outputs: this.#outputSchemas,
      keySchema: this.#keySchema,
      timerStreams: definition.timers,
      parameters: options.parameters,
      dynamicParameters: options.dynamicParameters,
    });
  }

  /** Gives one message to the function. */
  async send<Name extends keyof Inputs & string>(
    stream: Name,
    row: NewRowOf<Inputs[Name]>,
    options: SendOptions<KeyFields> = {},
  ): Promise<void> {
    await this.sendAll(stream, [row], options);
  }

  /** Gives several messages of a stream to the function, as one batch. */
  async sendAll<Name extends keyof Inputs & string>(
    stream: Name,
    rows: readonly NewRowOf<Inputs[Name]>[],
    options: SendOptions<KeyFields> = {},
  ): Promise<void> {
    const fields = this.#definition.inputs[stream];
    const write = compileWriter(fields ?? {}, schemaOf(fields ?? {}), `stream "${stream}"`);
    const event = flowTimestamp(options.eventTimestamp ?? this.#now);
    const messages = rows.map((row): KeyedItem<Message> => {
      const item: Message = {
        messageId: orderedMessageId(this.#nextSeqNo(), stream, 0),
        streamId: stream,
        systemTimestamp: this.#now,
        eventTimestamp: event,
        alignmentTimestamp: this.#now,
        payload: write({ ...row }),
      };
      return this.#keyed(item, this.#keyOf({ ...row }, options.key));
    });
    await this.#run({ messages, timers: [], visits: [] });
  }

  /** Moves «now» on, in seconds. */
  async advanceTime(seconds: number): Promise<void> {
    this.#now = flowTimestamp(this.#now + seconds);
  }

  /** Moves the watermark of all streams to a time in seconds, and fires the timers that are due. */
  async advanceWatermark(seconds: number): Promise<void> {
    this.#watermark = flowTimestamp(Math.max(seconds, this.#watermark));
    for (let due = this.#takeDue(); due.length > 0; due = this.#takeDue()) {
      await this.#run({
        messages: [],
        timers: due.map((timer) => this.#keyed(timer, timer.key)),
        visits: [],
      });
    }
  }

  /** The rows given to a stream since the last call for it. */
  take<Name extends keyof Outputs & string>(stream: Name): RowOf<Outputs[Name]>[] {
    return this.takeMessages(stream)
      .filter((message) => message.isDistributed)
      .map((message) => message.row);
  }

  /** The same with ids and times, and with those that are not distributed. */
  takeMessages<Name extends keyof Outputs & string>(stream: Name): GivenMessage<RowOf<Outputs[Name]>>[] {
    const fields = this.#definition.outputs[stream] ?? {};
    const read = compileReader(fields, schemaOf(fields), `stream "${stream}"`);
    const own = this.#given.filter(({ message }) => message.streamId === stream);
    this.#given = this.#given.filter(({ message }) => message.streamId !== stream);
    return own.map(({ message, isDistributed }) => ({
      row: read(message.payload) as RowOf<Outputs[Name]>,
      messageId: message.messageId,
      eventTimestamp: message.eventTimestamp,
      isDistributed,
    }));
  }

  /** A state of a key; `undefined` when it is empty. It is read as a restart would read it. */
  state<Name extends keyof StateShapes & string>(
    name: Name,
    key: NewRowOf<KeyFields>,
  ): StateValueOf<StateShapes[Name]> | undefined {
    const index = Object.keys(this.#definition.states).indexOf(name);
    const codec: StateCodec | undefined = this.#compiled.states[index];
    const value = this.#states.get(keyText(this.#keyOf({ ...key }, key), this.#keyTypes))?.[index];
    if (codec === undefined || value === undefined) {
      return undefined;
    }
    return codec.decode(codec.encode(value)) as StateValueOf<StateShapes[Name]>;
  }

  /** Times in seconds of the timers that are set, in order. */
  get pendingTimers(): readonly { readonly timer: string; readonly triggerTimestamp: number }[] {
    return this.#timers.map(({ streamId, triggerTimestamp }) => ({ timer: streamId, triggerTimestamp }));
  }

  async #run(batch: EpochBatch): Promise<void> {
    this.#metas.begin({ seqNo: this.#nextSeqNo(), now: this.#now });
    await this.#compiled.process(batch, this.#host());
  }

  #host(): FunctionHost {
    return {
      now: this.#now,
      watermark: () => this.#watermark,
      state: (text, index) => this.#states.get(text)?.[index],
      setState: (text, index, value) => {
        const values = this.#states.get(text) ?? [];
        values[index] = value;
        this.#states.set(text, values);
      },
      addMessage: (streamId, payload, eventTimestamp, parents, isDistributed) => {
        const meta = this.#metas.fill(streamId, eventTimestamp, parents);
        this.#given.push({ message: { ...meta, payload }, isDistributed });
      },
      addTimer: (streamId, key, triggerTimestamp, eventTimestamp, parents) => {
        const { messageId, ...meta } = this.#metas.fill(streamId, eventTimestamp, parents);
        const timer: Timer = { ...meta, messageId, key, triggerTimestamp };
        const text = keyText(key, this.#keyTypes);
        const isKnown = this.#timers.some(
          (other) =>
            other.streamId === streamId &&
            other.triggerTimestamp === triggerTimestamp &&
            keyText(other.key, this.#keyTypes) === text,
        );
        if (!isKnown) {
          this.#timers.push(timer);
          this.#timers.sort((left, right) => left.triggerTimestamp - right.triggerTimestamp);
        }
      },
    };
  }

  #takeDue(): Timer[] {
    const due = this.#timers.filter((timer) => timer.triggerTimestamp <= this.#watermark);
    this.#timers = this.#timers.filter((timer) => timer.triggerTimestamp > this.#watermark);
    return due;
  }

  #keyed<Item>(item: Item, key: Key): KeyedItem<Item> {
    return { item, key, keyText: keyText(key, this.#keyTypes) };
  }

  #keyOf(row: Plain, given: NewRowOf<KeyFields> | undefined): Key {
    const values: Plain = given === undefined ? row : { ...given };
    return this.#keySchema.columns.map((item): RowValue => {
      const value = values[item.name];
      const field = this.#definition.key[item.name];
      if (value === undefined || field === undefined) {
        throw new YtError(`The row has no column "${item.name}" of the key: give it as \`{ key: … }\``);
      }
      return value === null ? null : field.encode(value);
    });
  }

  #nextSeqNo(): UniqueSeqNo {
    this.#sequence += 1n;
    return ((BigInt(this.#now) << 30n) | this.#sequence) as UniqueSeqNo;
  }
}

function schemaOf(fields: Fields): TableSchema {
  return new TableSchema(
    Object.entries(fields).map(([name, field]) =>
      column(name, field.physical, { required: !field.isOptional && field.physical !== "any" }),
    ),
  );
}

function schemasOf(streams: Streams): ReadonlyMap<StreamId, TableSchema> {
  return new Map(Object.entries(streams).map(([streamId, fields]) => [streamId, schemaOf(fields)]));
}
