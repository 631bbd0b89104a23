/** How much a job does, averaged over about 30 seconds. */
import type { Clock } from "@qyt/base";
import type { JobStatus } from "../protocol/protocol.ts";

const windowMs = 30_000;

interface Totals {
  readonly messages: number;
  readonly bytes: number;
}

export class RateMeter {
  readonly #clock: Clock;
  #lastMs: number;
  #last: Totals = { messages: 0, bytes: 0 };
  #messages = 0;
  #bytes = 0;
  #epochs = 0;
  #busy = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  /** An epoch is over. `totals` count from the job's start; `durationMs` is how long it took. */
  epoch(totals: Totals, durationMs: number): void {
    const nowMs = this.#clock.monotonic();
    const passedMs = Math.max(1, nowMs - this.#lastMs);
    const weight = Math.min(1, passedMs / windowMs);
    const perSecond = 1_000 / passedMs;
    this.#messages += weight * ((totals.messages - this.#last.messages) * perSecond - this.#messages);
    this.#bytes += weight * ((totals.bytes - this.#last.bytes) * perSecond - this.#bytes);
    this.#epochs += weight * (perSecond - this.#epochs);
    this.#busy += weight * (Math.min(1, durationMs / passedMs) - this.#busy);
    this.#last = totals;
    this.#lastMs = nowMs;
  }

  /** `cpu`: the part of the time that epochs take, waiting for the cluster included. */
  metrics(): JobStatus["metrics"] {
    return {
      cpu: this.#busy,
      messagesPerSecond: this.#messages,
      bytesPerSecond: this.#bytes,
      epochsPerSecond: this.#epochs,
    };
  }
}
