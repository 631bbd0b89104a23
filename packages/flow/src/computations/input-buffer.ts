/**
 * Messages that other jobs have sent to this one and that it has not finished with. Handed out by
 * (`alignment_timestamp`, `message_id`) within a stream; between streams by how far events are from alignment on the
 * average, and the configured delays.
 * Specified in: yt/yt/flow/library/cpp/worker/message_distributor_detail.cpp; documentation "Flow", ordering.
 */
import { type Clock, sleep } from "@qyt/base";
import { type PhysicalType, rowValuesWeight } from "@qyt/schema";
import { type KeyOf, keyText } from "../model/group-by.ts";
import type { FlowTimestamp, KeyedMessage, Message, MessageId, StreamId } from "../model/message.ts";

const messageOverhead = 100;
/** Weight of a new message in the average distance of events from alignment. */
const averageFactor = 0.01;

/** Where finished messages are told to: a job that has sent them. */
export interface FinishedListener {
  finished(ids: readonly MessageId[]): void;
}

/** A message with its key. */
export interface InputItem extends KeyedMessage {
  readonly keyText: string;
  readonly byteSize: number;
  readonly sender: FinishedListener;
  /** Others who have sent it too: a job and its successor may live at the same time. */
  otherSenders: FinishedListener[] | undefined;
}

interface StreamQueue {
  readonly streamId: StreamId;
  readonly keyOf: KeyOf;
  readonly delaySeconds: number;
  sorted: InputItem[];
  head: number;
  incoming: InputItem[];
  /** Average of event − alignment, in seconds. */
  average: number;
}

export interface InputBufferOptions {
  readonly clock: Clock;
  readonly keyTypes: readonly PhysicalType[];
  readonly streams: readonly {
    readonly streamId: StreamId;
    readonly keyOf: KeyOf;
    /** `input_ordering/stream_delays`, in milliseconds. */
    readonly delayMs: number;
  }[];
  readonly isOrderedByEvents: boolean;
  /** How many bytes may lie here. */
  readonly byteLimit: () => number;
}

export interface BatchRequest {
  readonly maxRows: number;
  readonly maxBytes: number;
}

export class InputBuffer {
  readonly #options: InputBufferOptions;
  readonly #queues = new Map<StreamId, StreamQueue>();
  /** Everything that is here or in the epoch under way. */
  readonly #known = new Map<MessageId, InputItem>();
  #byteSize = 0;
  /** Of those that wait, without those in the epoch under way. */
  #waitingCount = 0;
  #waitingBytes = 0;
  #oldestArrivalMs: number | undefined;
  #wake: (() => void) | undefined;

  constructor(options: InputBufferOptions) {
    this.#options = options;
    for (const { streamId, keyOf, delayMs } of options.streams) {
      this.#queues.set(streamId, {
        streamId,
        keyOf,
        delaySeconds: delayMs / 1_000,
        sorted: [],
        head: 0,
        incoming: [],
        average: 0,
      });
    }
  }

  get count(): number {
    return this.#known.size;
  }

  get byteSize(): number {
    return this.#byteSize;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** How many bytes more it takes; below 0 when it is over the limit. */
  get freeBytes(): number {
    return this.#options.byteLimit() - this.#byteSize;
  }

  /** Takes messages as long as there is room. @returns how many of them, from the front, are taken or known already */
  offer(messages: readonly Message[], sender: FinishedListener): number {
    for (let index = 0; index < messages.length; ++index) {
      const message = messages[index];
      if (message === undefined) {
        continue;
      }
      const known = this.#known.get(message.messageId);
      if (known !== undefined) {
        noteSender(known, sender);
      } else if (this.freeBytes <= 0) {
        return index;
      } else {
        this.#enter(message, sender);
      }
    }
    return messages.length;
  }

  #enter(message: Message, sender: FinishedListener): void {
    const queue = this.#queues.get(message.streamId);
    if (queue === undefined) {
      return;
    }
    const key = queue.keyOf(message.payload);
    const item: InputItem = {
      message,
      key,
      keyText: keyText(key, this.#options.keyTypes),
      byteSize: rowValuesWeight(message.payload) + message.messageId.length + messageOverhead,
      sender,
      otherSenders: undefined,
    };
    queue.incoming.push(item);
    this.#known.set(message.messageId, item);
    this.#byteSize += item.byteSize;
    this.#waitingCount += 1;
    this.#waitingBytes += item.byteSize;
    this.#oldestArrivalMs ??= this.#options.clock.monotonic();
    this.#wake?.();
  }

  /**
   * Waits until there is a full batch, or what is there has waited for `durationMs` (limits may change meanwhile). Returns at once when there is
   * nothing, when it is full, and when `isUrgent` says so.
   */
  async settleBatch(
    limits: () => BatchRequest & { readonly durationMs: number },
    isUrgent: () => boolean,
  ): Promise<void> {
    while (this.#oldestArrivalMs !== undefined && this.#waitingCount > 0 && !isUrgent()) {
      const { durationMs, ...request } = limits();
      const isFull = this.#waitingCount >= request.maxRows || this.#waitingBytes >= request.maxBytes;
      const restMs = this.#oldestArrivalMs + durationMs - this.#options.clock.monotonic();
      if (isFull || restMs <= 0) {
        return;
      }
      await this.wait(restMs);
    }
  }

  /** Waits for a message, for a nudge, or for the time to pass. */
  async wait(durationMs: number): Promise<void> {
    const controller = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    try {
      await Promise.race([woken, sleep(this.#options.clock, durationMs, controller.signal).catch(() => {})]);
    } finally {
      this.#wake = undefined;
      controller.abort();
    }
  }

  /** Ends a wait: something else has changed. */
  nudge(): void {
    this.#wake?.();
  }

  /** Takes the first messages of the streams that are allowed. They stay known until they are finished. */
  take(request: BatchRequest, isAllowed: (streamId: StreamId) => boolean): InputItem[] {
    const batch: InputItem[] = [];
    const queues = [...this.#queues.values()].filter((queue) => isAllowed(queue.streamId));
    for (const queue of queues) {
      mergeIncoming(queue);
    }
    let bytes = 0;
    while (batch.length < request.maxRows && (bytes < request.maxBytes || batch.length === 0)) {
      const queue = queues.length === 1 ? queues[0] : this.#nearest(queues);
      const item = queue?.sorted[queue.head];
      if (queue === undefined || item === undefined) {
        break;
      }
      queue.head += 1;
      bytes += item.byteSize;
      const { eventTimestamp, alignmentTimestamp } = item.message;
      queue.average += averageFactor * (eventTimestamp - alignmentTimestamp - queue.average);
      batch.push(item);
    }
    for (const queue of queues) {
      if (queue.head > 0) {
        queue.sorted.splice(0, queue.head);
        queue.head = 0;
      }
    }
    this.#waitingCount -= batch.length;
    this.#waitingBytes -= bytes;
    this.#oldestArrivalMs = this.#waitingCount > 0 ? this.#options.clock.monotonic() : undefined;
    return batch;
  }

  /** The messages are done with for good: forgets them and tells their senders. */
  finish(items: readonly InputItem[]): void {
    const bySender = new Map<FinishedListener, MessageId[]>();
    for (const item of items) {
      if (this.#known.delete(item.message.messageId)) {
        this.#byteSize -= item.byteSize;
      }
      addTo(bySender, item.sender, item.message.messageId);
      for (const sender of item.otherSenders ?? []) {
        addTo(bySender, sender, item.message.messageId);
      }
    }
    for (const [sender, ids] of bySender) {
      sender.finished(ids);
    }
  }

  /** Of a stream: count, bytes and smallest times of what is known. */
  inflightOf(streamId: StreamId): {
    count: number;
    byteSize: number;
    minSystemTimestamp: FlowTimestamp | undefined;
    minEventTimestamp: FlowTimestamp | undefined;
  } {
    let count = 0;
    let byteSize = 0;
    let system: FlowTimestamp | undefined;
    let event: FlowTimestamp | undefined;
    for (const { message, byteSize: size } of this.#known.values()) {
      if (message.streamId === streamId) {
        count += 1;
        byteSize += size;
        system = system === undefined || message.systemTimestamp < system ? message.systemTimestamp : system;
        event = event === undefined || message.eventTimestamp < event ? message.eventTimestamp : event;
      }
    }
    return { count, byteSize, minSystemTimestamp: system, minEventTimestamp: event };
  }

  #nearest(queues: readonly StreamQueue[]): StreamQueue | undefined {
    let nearest: StreamQueue | undefined;
    let least = 0;
    for (const queue of queues) {
      const item = queue.sorted[queue.head];
      if (item !== undefined) {
        const distance = this.#options.isOrderedByEvents ? queue.average : 0;
        const order = item.message.alignmentTimestamp + distance + queue.delaySeconds;
        if (nearest === undefined || order < least) {
          nearest = queue;
          least = order;
        }
      }
    }
    return nearest;
  }
}

function noteSender(item: InputItem, sender: FinishedListener): void {
  if (item.sender !== sender && item.otherSenders?.includes(sender) !== true) {
    item.otherSenders = [...(item.otherSenders ?? []), sender];
  }
}

function addTo(bySender: Map<FinishedListener, MessageId[]>, sender: FinishedListener, id: MessageId): void {
  const ids = bySender.get(sender);
  if (ids === undefined) {
    bySender.set(sender, [id]);
  } else {
    ids.push(id);
  }
}

function mergeIncoming(queue: StreamQueue): void {
  const { incoming, sorted } = queue;
  if (incoming.length === 0) {
    return;
  }
  queue.incoming = [];
  const last = sorted.at(-1);
  incoming.sort(compareItems);
  const [first] = incoming;
  const isBehind = last === undefined || (first !== undefined && compareItems(last, first) <= 0);
  for (const item of incoming) {
    sorted.push(item);
  }
  if (!isBehind) {
    sorted.sort(compareItems);
  }
}

function compareItems(left: InputItem, right: InputItem): number {
  const byAlignment = left.message.alignmentTimestamp - right.message.alignmentTimestamp;
  if (byAlignment !== 0) {
    return byAlignment;
  }
  return left.message.messageId < right.message.messageId ? -1 : 1;
}
