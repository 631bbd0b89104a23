/**
 * Timers of one partition: all in memory, each a row of the pipeline's table.
 * Specified in: yt/yt/flow/library/cpp/computation/stores/timer_store.cpp; documentation "Flow", timers.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import { YsonAny } from "@qyt/schema";
import { bare, isList, stringToBytes, Uint64, type YsonValue } from "@qyt/yson";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import { keyText } from "../model/group-by.ts";
import type { ComputationId, FlowTimestamp, Key, KeyRange, StreamId, Timer } from "../model/message.ts";
import { messageId } from "../model/message-ids.ts";
import { minTimestamp } from "../model/timestamps.ts";
import { documentOf, textCell, textOf } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { keyCell } from "../tables/input-keys.ts";
import { scanRows } from "./scan.ts";
import { TimerHeap } from "./timer-heap.ts";

const timerOverhead = 128;
const keyColumns = ["computation_id", "key", "message_id"];
const columns = [...keyColumns, "stream_id", "system_timestamp", "event_timestamp", "trigger_timestamp"];

/** A timer with the text of its key. */
export interface StoredTimer {
  readonly timer: Timer;
  readonly keyText: string;
  isGone: boolean;
}

export interface TimerStoreOptions {
  readonly cluster: FlowCluster;
  readonly pipelinePath: string;
  readonly computationId: ComputationId;
  readonly keyTypes: readonly PhysicalType[];
  /** Streams whose equal timers are merged. */
  readonly deduplicated: ReadonlySet<StreamId>;
  readonly countLimit: () => number;
  readonly byteSizeLimit: () => number;
}

export class TimerStore {
  readonly #options: TimerStoreOptions;
  readonly #path: string;
  readonly #heaps = new Map<StreamId, TimerHeap<StoredTimer>>();
  /** By stream, trigger and key. */
  readonly #equal = new Map<string, StoredTimer>();
  readonly #counts = new Map<StreamId, number>();
  #inserted = new Set<StoredTimer>();
  #deleted: StoredTimer[] = [];
  #count = 0;
  #byteSize = 0;

  constructor(options: TimerStoreOptions) {
    this.#options = options;
    this.#path = pipelineTablePath(options.pipelinePath, "timers");
  }

  get isDirty(): boolean {
    return this.#inserted.size > 0 || this.#deleted.length > 0;
  }

  get count(): number {
    return this.#count;
  }

  countOf(streamId: StreamId): number {
    return this.#counts.get(streamId) ?? 0;
  }

  /** Reads the timers of a partition's keys. */
  async load(range: KeyRange | { readonly key: Key }): Promise<void> {
    const { cluster, computationId, keyTypes } = this.#options;
    const rows = await scanRows(cluster, this.#path, {
      keyColumns: ["key", "message_id"],
      columns: ["key", "message_id", "stream_id", "system_timestamp", "event_timestamp", "trigger_timestamp"],
      prefix: [["computation_id", textCell(computationId)], ...prefixOf(range, keyTypes)],
      ...boundsOf(range, keyTypes),
    });
    for (const [key, id, stream, system, event, trigger] of rows) {
      this.#enter({
        messageId: messageId(textOf(id)),
        streamId: textOf(stream),
        key: keyFromYson(documentOf(key)),
        systemTimestamp: secondsOf(system),
        eventTimestamp: secondsOf(event),
        triggerTimestamp: secondsOf(trigger),
      });
    }
    this.#checkLimits();
  }

  /**
   * Takes timers that are due, in the order of trigger and id.
   * @param watermark of each timer stream; `undefined` for streams that must not fire
   */
  take(watermark: (streamId: StreamId) => FlowTimestamp | undefined, limit: number): StoredTimer[] {
    const due: StoredTimer[] = [];
    for (const [streamId, heap] of this.#heaps) {
      const until = watermark(streamId);
      if (until !== undefined) {
        for (let top = heap.peek(); top !== undefined && due.length < limit; top = heap.peek()) {
          if (top.timer.triggerTimestamp > until) {
            break;
          }
          heap.pop();
          if (!top.isGone) {
            due.push(top);
          }
        }
      }
    }
    return due.sort(compareTimers);
  }

  /** Whether a timer is due. */
  hasDue(watermark: (streamId: StreamId) => FlowTimestamp | undefined): boolean {
    for (const [streamId, heap] of this.#heaps) {
      const until = watermark(streamId);
      let top = heap.peek();
      while (top?.isGone === true) {
        heap.pop();
        top = heap.peek();
      }
      if (top !== undefined && until !== undefined && top.timer.triggerTimestamp <= until) {
        return true;
      }
    }
    return false;
  }

  /** A timer has fired: its row goes with this epoch. */
  remove(stored: StoredTimer): void {
    this.#leave(stored);
    if (!this.#inserted.delete(stored)) {
      this.#deleted.push(stored);
    }
  }

  /** Sets a timer. An equal one stays, with the smaller event time. @throws YtError when there are too many */
  add(timer: Timer): void {
    const { deduplicated, keyTypes } = this.#options;
    if (deduplicated.has(timer.streamId)) {
      const equal = this.#equal.get(equalityOf(timer, keyText(timer.key, keyTypes)));
      if (equal !== undefined) {
        if (timer.eventTimestamp < equal.timer.eventTimestamp) {
          this.#leave(equal);
          this.#inserted.delete(equal);
          this.#inserted.add(this.#enter({ ...equal.timer, eventTimestamp: timer.eventTimestamp }));
        }
        return;
      }
    }
    this.#inserted.add(this.#enter(timer));
    this.#checkLimits();
  }

  write(transaction: FlowTransaction): void {
    const { computationId, keyTypes } = this.#options;
    const computation = textCell(computationId);
    const keyOf = ({ timer }: StoredTimer): RowValue[] => [
      computation,
      keyCell(timer.key, keyTypes),
      textCell(timer.messageId),
    ];
    if (this.#deleted.length > 0) {
      transaction.deleteRows(this.#path, { columns: keyColumns, rows: this.#deleted.map(keyOf) });
      this.#deleted = [];
    }
    if (this.#inserted.size > 0) {
      const rows = [...this.#inserted].map((stored) => [
        ...keyOf(stored),
        textCell(stored.timer.streamId),
        BigInt(stored.timer.systemTimestamp),
        BigInt(stored.timer.eventTimestamp),
        BigInt(stored.timer.triggerTimestamp),
      ]);
      transaction.insertRows(this.#path, { columns, rows });
      this.#inserted = new Set();
    }
  }

  /** Smallest times of a stream's timers. */
  minTimestamps(streamId: StreamId): { system: FlowTimestamp; event: FlowTimestamp } | undefined {
    let least: { system: FlowTimestamp; event: FlowTimestamp } | undefined;
    for (const { timer, isGone } of this.#heaps.get(streamId)?.items() ?? []) {
      if (!isGone) {
        const { systemTimestamp: system, eventTimestamp: event } = timer;
        least =
          least === undefined
            ? { system, event }
            : {
                system: minTimestamp(system, least.system),
                event: minTimestamp(event, least.event),
              };
      }
    }
    return least;
  }

  #enter(timer: Timer): StoredTimer {
    const text = keyText(timer.key, this.#options.keyTypes);
    const stored: StoredTimer = { timer, keyText: text, isGone: false };
    let heap = this.#heaps.get(timer.streamId);
    if (heap === undefined) {
      heap = new TimerHeap(compareTimers);
      this.#heaps.set(timer.streamId, heap);
    }
    heap.push(stored);
    this.#equal.set(equalityOf(timer, text), stored);
    this.#counts.set(timer.streamId, this.countOf(timer.streamId) + 1);
    this.#count += 1;
    this.#byteSize += sizeOf(stored);
    return stored;
  }

  #leave(stored: StoredTimer): void {
    stored.isGone = true;
    const equality = equalityOf(stored.timer, stored.keyText);
    if (this.#equal.get(equality) === stored) {
      this.#equal.delete(equality);
    }
    this.#counts.set(stored.timer.streamId, this.countOf(stored.timer.streamId) - 1);
    this.#count -= 1;
    this.#byteSize -= sizeOf(stored);
  }

  #checkLimits(): void {
    const count = this.#options.countLimit();
    if (this.#count > count) {
      throw new YtError(`Too much timers in memory: count ${this.#count}, limit ${count}`);
    }
    const byteSize = this.#options.byteSizeLimit();
    if (this.#byteSize > byteSize) {
      throw new YtError(`Too much timers in memory: byte size ${this.#byteSize}, limit ${byteSize}`);
    }
  }
}

function compareTimers(left: StoredTimer, right: StoredTimer): number {
  const byTrigger = left.timer.triggerTimestamp - right.timer.triggerTimestamp;
  return byTrigger !== 0 ? byTrigger : left.timer.messageId < right.timer.messageId ? -1 : 1;
}

function equalityOf(timer: Timer, text: string): string {
  return `${timer.streamId}\0${timer.triggerTimestamp}\0${text}`;
}

function sizeOf(stored: StoredTimer): number {
  return stored.keyText.length + stored.timer.messageId.length + timerOverhead;
}

function secondsOf(cell: RowValue | undefined): FlowTimestamp {
  return Number(typeof cell === "bigint" ? cell : 0n) as FlowTimestamp;
}

function prefixOf(
  range: KeyRange | { readonly key: Key },
  types: readonly PhysicalType[],
): readonly (readonly [string, RowValue])[] {
  return "key" in range ? [["key", keyCell(range.key, types)]] : [];
}

function boundsOf(
  range: KeyRange | { readonly key: Key },
  types: readonly PhysicalType[],
): { from?: RowValue; isEnd?: (row: readonly RowValue[]) => boolean } {
  if ("key" in range || types[0] !== "uint64") {
    return {};
  }
  const { lower, upper } = range;
  return {
    from: keyCell([lower], types),
    isEnd: ([key]) => {
      const [first] = keyFromYson(documentOf(key));
      return upper !== undefined && typeof first === "bigint" && first >= upper;
    },
  };
}

/** A key from the list in a `key` column. */
export function keyFromYson(value: YsonValue): Key {
  return isList(value) ? value.map((item) => fromYson(item)) : [];
}

function fromYson(item: YsonValue): RowValue {
  const plain = bare(item);
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain === "string") {
    return stringToBytes(plain);
  }
  return plain !== null && typeof plain === "object" ? new YsonAny(new Uint8Array()) : plain;
}
