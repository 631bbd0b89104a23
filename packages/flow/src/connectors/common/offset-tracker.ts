/**
 * How far a source's partition is: four offsets, each exclusive, that follow one another, and what lies between
 * them. Pure: knows neither clusters nor times.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/ordered_source_base.cpp.
 */
import { bare, isList, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { FlowTimestamp, UniqueSeqNo } from "../../model/message.ts";

/** An offset that is read and not persisted. */
export interface InflightRecord {
  readonly offset: bigint;
  readonly seqNo: UniqueSeqNo;
  readonly hasPayload: boolean;
  readonly writeTimestamp: FlowTimestamp;
  readonly minEventTimestamp: FlowTimestamp | undefined;
  readonly eventWatermark: FlowTimestamp | undefined;
}

interface Tracked {
  readonly record: InflightRecord;
  isPublished: boolean;
  isPersisted: boolean;
}

/** What the cluster said of the partition. */
export interface OffsetReport {
  /** The consumer's offset, or the trim point when that is further. */
  readonly committed: bigint;
  /** The end of the partition. */
  readonly max: bigint;
}

/** Persisted records are taken off the list in lots. */
const compactAt = 1_024;

export class OffsetTracker {
  /** The consumer's offset as last seen, never above `persisted`. */
  committed = 0n;
  /** Everything below is processed to its end: where reading starts after a restart. */
  persisted = 0n;
  /** Everything below was handed out and may be visible downstream: the limit while draining. */
  published = 0n;
  /** The known end of the partition; `isMaxConfirmed` when the cluster has told it. */
  max = 0n;
  isMaxConfirmed = false;
  /** What is read next. */
  nextRead = 0n;
  #reported = 0n;
  #tracked: Tracked[] = [];
  /** Before this index all are persisted. */
  #head = 0;
  /** Before this index all are published. */
  #firstUnpublished = 0;
  readonly #onPersisted: (record: InflightRecord) => void;

  /** @param onPersisted called for each record, in offset order, when it and all before it are persisted */
  constructor(onPersisted: (record: InflightRecord) => void) {
    this.#onPersisted = onPersisted;
  }

  /** The oldest record that is read and not persisted. */
  get oldest(): InflightRecord | undefined {
    return this.#tracked[this.#head]?.record;
  }

  *inflight(): Iterable<InflightRecord> {
    for (let index = this.#head; index < this.#tracked.length; ++index) {
      const tracked = this.#tracked[index];
      if (tracked !== undefined) {
        yield tracked.record;
      }
    }
  }

  /** Rows that wait to be committed. */
  get lag(): bigint {
    return this.max - this.committed;
  }

  /** @returns the offset that reading jumped from, when the rows up to `report.committed` will never be read */
  report(report: OffsetReport): bigint | undefined {
    const before = this.nextRead;
    this.#reported = largest(report.committed, this.#reported);
    if (report.max >= this.max) {
      this.max = report.max;
      this.isMaxConfirmed = true;
    }
    if (report.committed > this.nextRead) {
      this.#moveTo(report.committed);
    }
    this.#settle();
    return this.nextRead > before ? before : undefined;
  }

  /** Nothing is left between the next offset and this one. */
  skipTo(offset: bigint): void {
    if (offset > this.nextRead) {
      this.#moveTo(offset);
      this.#settle();
    }
  }

  /** A record was read. In offset order. One without payload needs no marks. */
  read(record: InflightRecord): void {
    const isDone = !record.hasPayload;
    this.#tracked.push({ record, isPublished: isDone, isPersisted: isDone });
    this.#moveTo(record.offset + 1n);
  }

  /** To be called when a batch of `read` is complete. */
  settle(): void {
    this.#settle();
  }

  /** @throws YtError when the offset is not in flight */
  markPublished(offset: bigint): void {
    this.#find(offset).isPublished = true;
    this.#settle();
  }

  /** @throws YtError when the offset is not in flight */
  markPersisted(offset: bigint): void {
    const tracked = this.#find(offset);
    tracked.isPublished = true;
    tracked.isPersisted = true;
    this.#settle();
  }

  /** @throws YtError naming the two offsets that do not follow one another */
  check(): void {
    const chain = [
      ["Committed", this.committed],
      ["persisted", this.persisted],
      ["published", this.published],
      ["max", this.max],
    ] as const;
    for (const [index, [name, offset]] of chain.entries()) {
      const next = chain[index + 1];
      if (next !== undefined && offset > next[1]) {
        const subject = name.charAt(0).toUpperCase() + name.slice(1);
        throw new YtError(`${subject} offset ${offset} is greater than ${next[0]} offset ${next[1]}`);
      }
    }
  }

  save(state: Map<string, YsonValue>): void {
    for (const [name, offset] of Object.entries(this.#offsets())) {
      state.set(`${name}_v2`, offset === 0n ? [] : [offset]);
      state.set(name, offset);
    }
    state.set("max_offset_is_confirmed", this.isMaxConfirmed);
  }

  load(state: YsonMap): void {
    const offset = (name: string): bigint => {
      const key = bare(state.get(`${name}_v2`) ?? []);
      return integerIn(state.get(name)) ?? (isList(key) ? integerIn(key[0]) : undefined) ?? 0n;
    };
    this.committed = offset("committed_offset_exclusive");
    this.persisted = offset("persisted_offset_exclusive");
    this.published = offset("published_offset_exclusive");
    this.max = offset("max_offset_exclusive");
    this.isMaxConfirmed = state.get("max_offset_is_confirmed") === true;
    this.nextRead = this.persisted;
    this.#reported = this.committed;
    this.check();
  }

  #offsets(): Readonly<Record<string, bigint>> {
    return {
      committed_offset_exclusive: this.committed,
      persisted_offset_exclusive: this.persisted,
      published_offset_exclusive: this.published,
      max_offset_exclusive: this.max,
    };
  }

  #moveTo(offset: bigint): void {
    this.nextRead = offset;
    if (this.nextRead > this.max) {
      this.max = this.nextRead;
      this.isMaxConfirmed = false;
    }
  }

  /** Lets the offsets follow what was marked. */
  #settle(): void {
    let head = this.#tracked[this.#head];
    while (head?.isPersisted === true) {
      this.#onPersisted(head.record);
      this.#head += 1;
      head = this.#tracked[this.#head];
    }
    this.persisted = largest(this.persisted, head?.record.offset ?? this.nextRead);
    let index = Math.max(this.#firstUnpublished, this.#head);
    while (this.#tracked[index]?.isPublished === true) {
      ++index;
    }
    this.#firstUnpublished = index;
    const unpublished = this.#tracked[index]?.record.offset ?? this.nextRead;
    this.published = largest(this.published, largest(this.persisted, unpublished));
    const seen = smallest(this.#reported, this.persisted);
    this.committed = largest(this.committed, seen);
    if (this.#head >= compactAt) {
      this.#tracked = this.#tracked.slice(this.#head);
      this.#firstUnpublished -= this.#head;
      this.#head = 0;
    }
  }

  #find(offset: bigint): Tracked {
    let low = this.#head;
    let high = this.#tracked.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const tracked = this.#tracked[middle];
      if (tracked === undefined || tracked.record.offset > offset) {
        high = middle - 1;
      } else if (tracked.record.offset < offset) {
        low = middle + 1;
      } else {
        return tracked;
      }
    }
    throw new YtError(`Offset ${offset} is not in flight`);
  }
}

function integerIn(value: YsonValue | undefined): bigint | undefined {
  const plain = value instanceof Uint64 ? value.value : value;
  return typeof plain === "bigint" ? plain : undefined;
}

function smallest(left: bigint, right: bigint): bigint {
  if (left < right) {
    return left;
  }
  return right;
}

export function largest(left: bigint, right: bigint): bigint {
  if (left > right) {
    return left;
  }
  return right;
}
