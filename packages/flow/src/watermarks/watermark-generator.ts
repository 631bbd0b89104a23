/**
 * How far a source's partition has come in event time: from the events seen and the disorder that is allowed
 * for, or from what the source itself promises.
 * Specified in: yt/yt/flow/library/cpp/computation/watermark_generator.cpp.
 */
import { mapOf, type YsonMap } from "@qyt/base";
import type { FlowTimestamp } from "../model/message.ts";
import {
  flowTimestamp,
  maxTimestamp,
  minTimestamp,
  timestampFromYson,
  timestampToUint64,
  undefinedTimestamp,
} from "../model/timestamps.ts";

export interface GeneratorOptions {
  /** Whether the source's own watermark is the watermark. */
  readonly useSourceWatermark: boolean;
  /** `out_of_orderness_bound`, in seconds. */
  readonly bound: number;
}

/** A unit read but not yet persisted. */
interface PendingUnit {
  readonly offset: bigint;
  readonly min: FlowTimestamp;
  readonly max: FlowTimestamp;
  /** Its own maximum and those of later units that were persisted before it. */
  foldedMax: FlowTimestamp;
}

/** One partition's generator. Units are read in offset order and persisted in any. */
export class WatermarkGenerator {
  readonly #options: GeneratorOptions;
  /** Largest event time of the persisted prefix. */
  #max: FlowTimestamp = undefinedTimestamp;
  /** Of the head unit: read, not persisted. Kept in the state, since after a restart it is read again. */
  #minAhead: FlowTimestamp = undefinedTimestamp;
  #maxAhead: FlowTimestamp = undefinedTimestamp;
  /** Largest event time of all that was read. */
  #readMax: FlowTimestamp = undefinedTimestamp;
  readonly #pending: PendingUnit[] = [];

  constructor(options: GeneratorOptions, state?: YsonMap) {
    this.#options = options;
    if (state !== undefined) {
      this.#max = fieldOf(state, "max");
      this.#minAhead = fieldOf(state, "min_ahead");
      this.#maxAhead = fieldOf(state, "max_ahead");
      this.#readMax = maxTimestamp(this.#max, this.#maxAhead);
    }
  }

  /** A unit was read. Units without messages need not be told. */
  read(offset: bigint, min: FlowTimestamp, max: FlowTimestamp): void {
    this.#pending.push({ offset, min, max, foldedMax: max });
    this.#readMax = maxTimestamp(this.#readMax, max);
    this.#setAhead();
  }

  /**
   * A unit was processed to its end. Out of order its largest time is folded into the unit before and counts
   * when that one becomes the head and is persisted.
   */
  persisted(offset: bigint): void {
    const index = this.#pending.findIndex((unit) => unit.offset === offset);
    const unit = this.#pending[index];
    if (unit === undefined) {
      return;
    }
    const before = this.#pending[index - 1];
    if (before === undefined) {
      this.#max = maxTimestamp(this.#max, unit.foldedMax);
    } else {
      before.foldedMax = maxTimestamp(before.foldedMax, unit.foldedMax);
    }
    this.#pending.splice(index, 1);
    this.#setAhead();
  }

  /**
   * The watermark that survives a restart.
   * @param source the source's own, of the persisted prefix
   */
  watermark(source: FlowTimestamp | undefined): FlowTimestamp {
    const { useSourceWatermark, bound } = this.#options;
    if (useSourceWatermark) {
      return source ?? undefinedTimestamp;
    }
    const passed = behind(this.#max, bound);
    if (this.#minAhead !== undefinedTimestamp) {
      return maxTimestamp(passed, minTimestamp(this.#minAhead, behind(this.#maxAhead, bound)));
    }
    return source === undefined ? passed : minTimestamp(source, passed);
  }

  /** The watermark of everything read, for alignment. */
  readWatermark(source: FlowTimestamp | undefined): FlowTimestamp {
    const { useSourceWatermark, bound } = this.#options;
    return useSourceWatermark ? (source ?? undefinedTimestamp) : behind(this.#readMax, bound);
  }

  state(): YsonMap {
    return mapOf({
      max: timestampToUint64(this.#max),
      min_ahead: timestampToUint64(this.#minAhead),
      max_ahead: timestampToUint64(this.#maxAhead),
    });
  }

  #setAhead(): void {
    const [head] = this.#pending;
    this.#minAhead = head?.min ?? undefinedTimestamp;
    this.#maxAhead = head?.max ?? undefinedTimestamp;
  }
}

/** `max(time, bound) − bound`. */
function behind(time: FlowTimestamp, bound: number): FlowTimestamp {
  return flowTimestamp(Math.max(time, bound) - bound);
}

function fieldOf(state: YsonMap, name: string): FlowTimestamp {
  const value = state.get(name);
  return value === undefined || value === null ? undefinedTimestamp : timestampFromYson(value);
}
