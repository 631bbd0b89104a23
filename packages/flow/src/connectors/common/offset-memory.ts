/**
 * What a source remembers of offsets that are not persisted: the sequence number that each was first read with,
 * and the alignment time of each sequence number. A replay after a restart finds the same ids and times here.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/ordered_source_base.cpp (`offset_memory`,
 * `alignment_timestamp_memory`).
 */
import { bare, isList, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { FlowTimestamp, UniqueSeqNo } from "../../model/message.ts";
import {
  maxTimestamp,
  minTimestamp,
  timestampFromYson,
  timestampToUint64,
  undefinedTimestamp,
} from "../../model/timestamps.ts";

/** Offsets of `[begin, end)` that were read with one sequence number. */
interface Run {
  readonly begin: bigint;
  end: bigint;
  readonly seqNo: UniqueSeqNo;
}

export class OffsetMemory {
  /** In the order of offsets. */
  #runs: Run[] = [];
  readonly #alignments = new Map<UniqueSeqNo, FlowTimestamp>();
  #maxAlignment: FlowTimestamp = undefinedTimestamp;

  get isEmpty(): boolean {
    return this.#runs.length === 0 && this.#alignments.size === 0;
  }

  /** The sequence number an offset was first read with. */
  seqNoOf(offset: bigint): UniqueSeqNo | undefined {
    let low = 0;
    let high = this.#runs.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const run = this.#runs[middle];
      if (run === undefined || offset < run.begin) {
        high = middle - 1;
      } else if (offset >= run.end) {
        low = middle + 1;
      } else {
        return run.seqNo;
      }
    }
    return undefined;
  }

  /** Offsets are added in order. */
  add(offset: bigint, seqNo: UniqueSeqNo): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && last.seqNo === seqNo) {
      last.end = offset + 1n;
    } else {
      this.#runs.push({ begin: offset, end: offset + 1n, seqNo });
    }
  }

  /**
   * The alignment time of a sequence number: on first sight `max(largest so far, min(now, smallest write time of
   * its batch))`.
   */
  alignmentOf(seqNo: UniqueSeqNo, now: FlowTimestamp, smallestWrite: FlowTimestamp): FlowTimestamp {
    let alignment = this.#alignments.get(seqNo);
    if (alignment === undefined) {
      alignment = maxTimestamp(this.#maxAlignment, minTimestamp(now, smallestWrite));
      this.#alignments.set(seqNo, alignment);
      this.#maxAlignment = alignment;
    }
    return alignment;
  }

  /** Forgets what is persisted. */
  forgetBelow(offset: bigint): void {
    const kept = this.#runs.findIndex((run) => run.end > offset);
    const gone = this.#runs.splice(0, kept < 0 ? this.#runs.length : kept);
    for (const { seqNo } of gone) {
      if (this.#runs[0]?.seqNo !== seqNo) {
        this.#alignments.delete(seqNo);
      }
    }
  }

  save(state: Map<string, YsonValue>): void {
    state.set(
      "offset_memory_v2",
      this.#runs.map(({ begin, end, seqNo }) => [begin, end, new Uint64(seqNo)]),
    );
    state.set(
      "alignment_timestamp_memory",
      [...this.#alignments].map(([seqNo, time]) => [new Uint64(seqNo), timestampToUint64(time)]),
    );
    state.set("max_memorized_alignment_timestamp", timestampToUint64(this.#maxAlignment));
  }

  /** @throws YtError when the state is damaged */
  load(state: YsonMap): void {
    for (const [begin, end, seqNo] of rowsOf(state, "offset_memory_v2")) {
      this.#runs.push({ begin: integerOf(begin), end: integerOf(end), seqNo: seqNoFrom(seqNo) });
    }
    for (const [seqNo, time] of rowsOf(state, "alignment_timestamp_memory")) {
      this.#alignments.set(seqNoFrom(seqNo), timestampFromYson(time ?? null));
    }
    this.#maxAlignment = timestampFromYson(state.get("max_memorized_alignment_timestamp") ?? 0n);
  }
}

function rowsOf(state: YsonMap, name: string): readonly (readonly YsonValue[])[] {
  const list = bare(state.get(name) ?? []);
  return isList(list) ? list.filter(isList) : [];
}

function seqNoFrom(value: YsonValue | undefined): UniqueSeqNo {
  return integerOf(value) as UniqueSeqNo;
}

function integerOf(value: YsonValue | undefined): bigint {
  const plain = value instanceof Uint64 ? value.value : value;
  if (typeof plain !== "bigint") {
    throw new YtError("The state of a source's partition is damaged: an integer is missing");
  }
  return plain;
}
