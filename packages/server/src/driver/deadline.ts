/** A limit on the time that a command works; the time in which its reader takes rows does not count. */
import { type Clock, type Timer, YtError } from "@qyt/base";

export class Deadline {
  readonly #clock: Clock;
  readonly #what: string;
  readonly #timeoutMs: number;
  readonly #abort = new AbortController();
  #leftMs: number;
  #startedAt = 0;
  #timer: Timer | undefined;

  /** @param what the beginning of the error's text */
  constructor(clock: Clock, timeoutMs: number, what: string) {
    this.#clock = clock;
    this.#what = what;
    this.#timeoutMs = timeoutMs;
    this.#leftMs = timeoutMs;
    this.resume();
  }

  /** Aborted with the error (code 3) when the time is over. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  pause(): void {
    if (this.#timer !== undefined) {
      this.#timer.cancel();
      this.#timer = undefined;
      this.#leftMs -= this.#clock.monotonic() - this.#startedAt;
    }
  }

  resume(): void {
    if (this.#timer === undefined) {
      this.#startedAt = this.#clock.monotonic();
      this.#timer = this.#clock.after(Math.max(0, this.#leftMs), () => this.#end());
    }
  }

  #end(): void {
    this.#abort.abort(
      new YtError(`${this.#what} timed out after ${this.#timeoutMs} ms`, {
        code: "Timeout",
        attributes: { timeout: BigInt(Math.round(this.#timeoutMs)) },
      }),
    );
  }
}
