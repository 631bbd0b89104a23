/**
 * Where and when an error arose, as attributes of it: what the real system's errors carry everywhere.
 *
 * Specified in: yt/yt/core/misc/error.cpp (TErrorOr attributes).
 */
import { type Clock, type Random, Uint64, type YtError } from "@qyt/base";
import { instantFromMs } from "./instants.ts";

export interface OriginOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: string;
}

export class ErrorOrigin {
  readonly #options: OriginOptions;

  constructor(options: OriginOptions) {
    this.#options = options;
  }

  /** The error with `trace_id, span_id, thread, datetime, tid, pid, host, fid`; those it has already stay. */
  mark(error: YtError): YtError {
    const { clock, random, host } = this.#options;
    return error.withAttributes({
      trace_id: [1, 2, 3, 4].map(() => random.uint32().toString(16)).join("-"),
      span_id: this.#number(),
      thread: "Controller:0",
      datetime: instantFromMs(clock.now()),
      tid: new Uint64(BigInt(process.pid)),
      pid: BigInt(process.pid),
      host,
      fid: this.#number(),
    });
  }

  /** The same for an error found again: that of the previous pass when it says the same, so that it keeps its time. */
  again(error: YtError, previous: YtError | null | undefined): YtError {
    const isSame =
      previous !== null &&
      previous !== undefined &&
      previous.code === error.code &&
      previous.message === error.message &&
      sameInner(previous.innerErrors, error.innerErrors) &&
      [...error.attributes].every(([key, value]) => {
        const other = previous.attributes.get(key);
        return typeof value === "object" || other === value;
      });
    return isSame ? previous : this.mark(error);
  }

  #number(): Uint64 {
    const { random } = this.#options;
    return new Uint64((BigInt(random.uint32()) << 32n) | BigInt(random.uint32()));
  }
}

function sameInner(left: readonly YtError[], right: readonly YtError[]): boolean {
  return (
    left.length === right.length &&
    left.every((error, index) => error.code === right[index]?.code && error.message === right[index]?.message)
  );
}
