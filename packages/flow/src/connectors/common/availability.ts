/**
 * Whether a source's partition is idle, and whether it is stably unavailable. Times are Unix milliseconds of the
 * worker's clock.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/ordered_source_base.cpp.
 */
import { Uint64, type YsonMap, type YsonValue } from "@qyt/base";

/** The last answers to one kind of request. */
export class AvailabilityState {
  /** When it last went well; 0 when it never did. */
  lastOkMs = 0;
  /** Since when it goes wrong; `undefined` while it does not. */
  brokenSinceMs: number | undefined;
  hasVerdict = false;

  ok(nowMs: number): void {
    this.hasVerdict = true;
    this.lastOkMs = nowMs;
    this.brokenSinceMs = undefined;
  }

  failed(nowMs: number): void {
    this.hasVerdict = true;
    this.brokenSinceMs ??= nowMs;
  }
}

/** Adds up for how long a partition was seen to be unavailable, jobs that ended included. */
export class Unavailability {
  #observedMs = 0;
  #lastMs = 0;

  /** @returns whether something has changed */
  observe(nowMs: number, states: readonly AvailabilityState[]): boolean {
    const known = states.filter((state) => state.hasVerdict);
    if (known.length === 0) {
      return false;
    }
    const broken = known.flatMap(({ brokenSinceMs }) => (brokenSinceMs === undefined ? [] : [brokenSinceMs]));
    if (broken.length === 0) {
      const isChanged = this.#observedMs !== 0 || this.#lastMs !== 0;
      this.#observedMs = 0;
      this.#lastMs = 0;
      return isChanged;
    }
    if (Math.min(...known.map((state) => state.lastOkMs)) > this.#lastMs) {
      this.#observedMs = 0;
    }
    this.#observedMs += Math.max(0, nowMs - Math.max(this.#lastMs, Math.min(...broken)));
    this.#lastMs = nowMs;
    return true;
  }

  /** When it was last seen to be unavailable, if that has gone on for longer than the threshold. */
  instant(thresholdMs: number): number | undefined {
    return this.#observedMs > thresholdMs ? this.#lastMs : undefined;
  }

  save(state: Map<string, YsonValue>): void {
    state.set("last_unavailable_instant", milliseconds(this.#lastMs));
    state.set("observed_unavailable_duration", milliseconds(this.#observedMs));
  }

  load(state: YsonMap): void {
    this.#lastMs = numberIn(state, "last_unavailable_instant");
    this.#observedMs = numberIn(state, "observed_unavailable_duration");
  }
}

/** For how long nothing has come. */
export class Idleness {
  #lastNotIdleMs = 0;
  #lastIdleMs = 0;

  /** A report of the partition's end, asked for at `atMs`. */
  report(atMs: number, hasLag: boolean): void {
    if (hasLag) {
      this.#lastNotIdleMs = atMs;
      this.#lastIdleMs = 0;
    } else if (atMs > this.#lastNotIdleMs) {
      this.#lastIdleMs = Math.max(this.#lastIdleMs, atMs);
      if (this.#lastNotIdleMs === 0) {
        this.#lastNotIdleMs = atMs;
      }
    }
  }

  /** Rows were read. */
  markNotIdle(atMs: number): void {
    this.#lastNotIdleMs = Math.max(this.#lastNotIdleMs, atMs);
    this.#lastIdleMs = 0;
  }

  get durationMs(): number {
    return this.#lastIdleMs === 0 ? 0 : this.#lastIdleMs - this.#lastNotIdleMs;
  }

  get lastIdleMs(): number {
    return this.#lastIdleMs;
  }

  save(state: Map<string, YsonValue>): void {
    state.set("last_not_idle_instant", milliseconds(this.#lastNotIdleMs));
    state.set("last_idle_instant", milliseconds(this.#lastIdleMs));
  }

  load(state: YsonMap): void {
    this.#lastNotIdleMs = numberIn(state, "last_not_idle_instant");
    this.#lastIdleMs = numberIn(state, "last_idle_instant");
  }
}

function milliseconds(value: number): Uint64 {
  return new Uint64(BigInt(Math.max(0, Math.round(value))));
}

function numberIn(state: YsonMap, name: string): number {
  const value = state.get(name);
  return value instanceof Uint64 ? Number(value.value) : typeof value === "bigint" ? Number(value) : 0;
}
