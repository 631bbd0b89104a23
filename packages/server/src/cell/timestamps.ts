/**
 * The cell's timestamps: `unix_seconds << 30 | counter`, strictly increasing over restarts. All that was
 * handed out lies below a bound that is on disk, so a restart goes on above the bound.
 * Specified in: yt/yt/client/transaction_client/public.h; yt/yt/server/master/transaction_server (timestamp manager).
 */
import type { Clock } from "@qyt/base";

const counterBits = 30n;
/** How far the bound goes ahead: what a crash may put the clock into the future. */
const reserve = 3n << counterBits;
/** Below this the bound is moved on in passing. */
const lowWater = 1n << counterBits;

export class TimestampSource {
  readonly #clock: Clock;
  #last: bigint;
  /** What the next batch carries. Every batch carries one, so a failed batch loses nothing. */
  #bound: bigint;
  #durableBound: bigint;
  #second = -1;
  #firstOfSecond = 0n;

  /** @param bound what the disk holds; 0 for a new cell */
  constructor(clock: Clock, bound: bigint) {
    this.#clock = clock;
    this.#last = bound;
    this.#bound = bound;
    this.#durableBound = bound;
  }

  next(): bigint {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#firstOfSecond = BigInt(second) << counterBits;
    }
    this.#last = this.#last < this.#firstOfSecond ? this.#firstOfSecond : this.#last + 1n;
    return this.#last;
  }

  get last(): bigint {
    return this.#last;
  }

  /** Whether a restart could hand out `timestamp` again: the bound on disk is not above it. */
  isCovered(timestamp: bigint): boolean {
    return timestamp <= this.#durableBound;
  }

  get isLow(): boolean {
    return this.#bound - this.#last < lowWater;
  }

  /** The bound that the next batch carries. Covers all timestamps handed out until now. */
  boundForBatch(): bigint {
    if (this.isLow) {
      this.#bound = this.#last + reserve;
    }
    return this.#bound;
  }

  /** The bound of the last batch before a clean shutdown: nothing is kept in reserve. */
  boundForClose(): bigint {
    this.#bound = this.#last;
    return this.#bound;
  }

  onDurable(bound: bigint): void {
    this.#durableBound = bound;
  }
}
