/** Calls the handlers of a defined function, and is the context that they get. */
import { YtError } from "@qyt/base";
import type { FlowTimestamp, Key, Payload, StreamId, Timer } from "../model/message.ts";
import type { Parent } from "../model/meta-setters.ts";
import { flowTimestamp, undefinedTimestamp } from "../model/timestamps.ts";
import type { Fields } from "./fields.ts";
import type { EmitOptions, ParentItem, TimerOptions } from "./function-types.ts";
import type { FunctionHost } from "./process-function.ts";

type PlainRow = Record<string, unknown>;
type Done = void | Promise<void>;

/** Handlers without their types. */
export interface Handlers {
  readonly onMessage?: (item: unknown, context: unknown) => Done;
  readonly onTimer?: (item: unknown, context: unknown) => Done;
  readonly onVisit?: (item: unknown, context: unknown) => Done;
  readonly onKey?: (batch: unknown, context: unknown) => Done;
  readonly onBatch?: (batch: unknown, context: unknown) => Done;
}

/** One of a batch, on its way to a handler. */
export interface WorkItem {
  readonly kind: "message" | "timer" | "visit";
  /** The stream or the timer, as the function calls it. */
  readonly name: string;
  readonly parent: Parent;
  readonly key: Key;
  readonly keyText: string;
  readonly timer: Timer | undefined;
  readonly row: unknown;
}

export interface CallOptions {
  readonly handlers: Handlers;
  readonly stateNames: readonly string[];
  readonly readKey: (key: Payload) => PlainRow;
  readonly writeKey: (row: PlainRow) => Key;
  readonly outputs: readonly {
    readonly name: string;
    readonly streamId: StreamId;
    readonly write: (row: PlainRow) => Payload;
  }[];
  readonly timers: readonly { readonly name: string; readonly streamId: StreamId }[];
  readonly parameters: unknown;
}

/** What handlers see of an item. */
interface ViewedItem extends ParentItem {
  readonly key: PlainRow;
}

export class CallContext {
  readonly #options: CallOptions;
  #host: FunctionHost | undefined;
  /** The item whose key's states are at hand. */
  #current: WorkItem | undefined;
  /** What outputs descend from when they do not say it themselves. */
  #parents: readonly WorkItem[] | undefined;
  /** By id, for parents that a handler names. */
  #items = new Map<string, WorkItem>();
  readonly emit: Readonly<Record<string, (row: PlainRow, options?: EmitOptions) => void>>;
  readonly timers: Readonly<Record<string, (at: number, options?: TimerOptions<Fields>) => void>>;
  readonly states: Readonly<Record<string, unknown>>;
  parameters: unknown;

  constructor(options: CallOptions) {
    this.#options = options;
    this.parameters = options.parameters;
    this.emit = Object.fromEntries(
      options.outputs.map(({ name, streamId, write }) => [
        name,
        (row: PlainRow, given?: EmitOptions) => this.#emit(streamId, write(row), given),
      ]),
    );
    this.timers = Object.fromEntries(
      options.timers.map(({ name, streamId }) => [
        name,
        (at: number, given?: TimerOptions<Fields>) => this.#setTimer(streamId, at, given),
      ]),
    );
    this.states = Object.fromEntries(
      options.stateNames.map((name, index) => [
        name,
        {
          get: () => this.#running.state(this.#item.keyText, index),
          set: (value: unknown) => this.#running.setState(this.#item.keyText, index, value),
          clear: () => this.#running.setState(this.#item.keyText, index, undefined),
        },
      ]),
    );
  }

  get key(): PlainRow {
    return this.#options.readKey(this.#item.key);
  }

  get now(): number {
    return this.#running.now;
  }

  // Handlers take contexts apart, so these know their context.
  readonly watermark = (stream: string): number => this.#running.watermark(stream);

  readonly setParents = (...parents: readonly ParentItem[]): void => {
    this.#parents = parents.map((parent) => this.#find(parent));
  };

  /** For handlers of batches: the context of an item's key. */
  readonly at = (item: ParentItem): this => {
    const found = this.#find(item);
    this.#current = found;
    this.#parents = [found];
    return this;
  };

  setParameters(parameters: unknown): void {
    this.parameters = parameters;
  }

  /** Calls the handlers for the items. Sequential; what is not asynchronous is not awaited. */
  process(items: readonly WorkItem[], host: FunctionHost): Done {
    this.#host = host;
    const { onKey, onBatch } = this.#options.handlers;
    if (onBatch !== undefined) {
      return this.#callBatch(items, onBatch);
    }
    return onKey === undefined ? this.#callEach(items, 0) : this.#callKeys(items, onKey);
  }

  #callEach(items: readonly WorkItem[], from: number): Done {
    for (let index = from; index < items.length; ++index) {
      const item = items[index];
      if (item !== undefined) {
        this.#current = item;
        this.#parents = [item];
        const running = this.#handlerOf(item)?.(this.#view(item), this);
        if (running !== undefined) {
          return running.then(() => this.#callEach(items, index + 1));
        }
      }
    }
    return undefined;
  }

  #handlerOf(item: WorkItem): Handlers["onMessage"] {
    const { onMessage, onTimer, onVisit } = this.#options.handlers;
    return item.kind === "message" ? onMessage : item.kind === "timer" ? onTimer : onVisit;
  }

  async #callKeys(items: readonly WorkItem[], onKey: NonNullable<Handlers["onKey"]>): Promise<void> {
    const byKey = new Map<string, WorkItem[]>();
    for (const item of items) {
      const list = byKey.get(item.keyText);
      if (list === undefined) {
        byKey.set(item.keyText, [item]);
      } else {
        list.push(item);
      }
    }
    this.#remember(items);
    for (const list of byKey.values()) {
      this.#current = list[0];
      this.#parents = undefined;
      await onKey(this.#batchOf(list), this);
    }
  }

  async #callBatch(items: readonly WorkItem[], onBatch: NonNullable<Handlers["onBatch"]>): Promise<void> {
    this.#remember(items);
    this.#current = undefined;
    this.#parents = undefined;
    await onBatch(this.#batchOf(items), this);
  }

  #batchOf(items: readonly WorkItem[]): unknown {
    const of = (kind: WorkItem["kind"]): ViewedItem[] =>
      items.filter((item) => item.kind === kind).map((item) => this.#view(item));
    return { messages: of("message"), timers: of("timer"), visits: of("visit") };
  }

  #remember(items: readonly WorkItem[]): void {
    this.#items = new Map(items.map((item) => [item.parent.messageId, item]));
  }

  #view(item: WorkItem): ViewedItem {
    return new ItemView(item, this.#options.readKey);
  }

  #emit(streamId: StreamId, payload: Payload, options: EmitOptions = {}): void {
    const { eventTimestamp, distribute = true, parents } = options;
    this.#running.addMessage(streamId, payload, timeOf(eventTimestamp), this.#parentsOf(parents), distribute);
  }

  #setTimer(streamId: StreamId, at: number, options: TimerOptions<Fields> = {}): void {
    const items = options.parents?.map((parent) => this.#find(parent)) ?? this.#parents ?? [];
    const key = options.key === undefined ? keyOfParents(items) : this.#options.writeKey(options.key);
    const parents = this.#parentsOf(options.parents);
    this.#running.addTimer(streamId, key, flowTimestamp(at), timeOf(options.eventTimestamp), parents);
  }

  #parentsOf(given: readonly ParentItem[] | undefined): readonly Parent[] {
    const items = given?.map((parent) => this.#find(parent)) ?? this.#parents;
    if (items === undefined) {
      throw new YtError(
        "It is not known what the output descends from: call `setParents` before, or give it `parents`",
      );
    }
    return items.map((item) => item.parent);
  }

  #find(parent: ParentItem): WorkItem {
    const current = this.#current;
    const found =
      current?.parent.messageId === parent.messageId ? current : this.#items.get(parent.messageId);
    if (found === undefined) {
      throw new YtError("A parent must be a message, timer or visit of the batch that is being processed");
    }
    return found;
  }

  get #running(): FunctionHost {
    if (this.#host === undefined) {
      throw new YtError("The context of a function is good only while its handler runs");
    }
    return this.#host;
  }

  get #item(): WorkItem {
    if (this.#current === undefined) {
      throw new YtError("A key is needed to reach a state: use `context.at(item)` in a handler of batches");
    }
    return this.#current;
  }
}

/** What a handler sees of an item; its key is decoded when it is looked at. */
class ItemView implements ViewedItem {
  readonly kind: WorkItem["kind"];
  readonly stream: string;
  readonly timer: string;
  readonly row: unknown;
  readonly messageId: string;
  readonly eventTimestamp: number;
  readonly systemTimestamp: number;
  readonly triggerTimestamp: number | undefined;
  readonly #item: WorkItem;
  readonly #readKey: CallOptions["readKey"];

  constructor(item: WorkItem, readKey: CallOptions["readKey"]) {
    this.kind = item.kind;
    this.stream = item.name;
    this.timer = item.name;
    this.row = item.row;
    this.messageId = item.parent.messageId;
    this.eventTimestamp = item.parent.eventTimestamp;
    this.systemTimestamp = item.parent.systemTimestamp;
    this.triggerTimestamp = item.timer?.triggerTimestamp;
    this.#item = item;
    this.#readKey = readKey;
  }

  get key(): PlainRow {
    return this.#readKey(this.#item.key);
  }
}

function keyOfParents(items: readonly WorkItem[]): Key {
  const [first] = items;
  if (first === undefined) {
    throw new YtError("Impossible to guess timer key: no parents");
  }
  if (items.some((item) => item.keyText !== first.keyText)) {
    throw new YtError("Impossible to guess timer key: different keys");
  }
  return first.key;
}

function timeOf(seconds: number | undefined): FlowTimestamp {
  return seconds === undefined ? undefinedTimestamp : flowTimestamp(seconds);
}
