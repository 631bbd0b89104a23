/**
 * Pulls that wait for rows. Each waits on its tablet, with one timer, and is released by rows, by its
 * time, by its client going away, by the tablet going away and by the cluster stopping. Nothing polls.
 */
import type { Clock, Timer } from "@qyt/base";

/** One pull's permission to wait. */
export interface Wait {
  /** Aborts when the pull must not wait any longer. */
  readonly signal: AbortSignal;
  end(): void;
}

export class PullWaits {
  readonly #clock: Clock;
  readonly #controllers = new Set<AbortController>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait now. */
  get count(): number {
    return this.#controllers.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Begins a wait; the caller ends it.
   * @param timeoutMs absent: somebody else looks at the time
   */
  begin(timeoutMs: number | undefined, client: AbortSignal | undefined): Wait {
    const controller = new AbortController();
    const release = (): void => {
      this.#controllers.delete(controller);
      controller.abort();
    };
    let timer: Timer | undefined;
    if (this.#isClosed || client?.aborted === true) {
      release();
    } else {
      this.#controllers.add(controller);
      client?.addEventListener("abort", release, { once: true });
      timer = timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, release);
    }
    return {
      signal: controller.signal,
      end: () => {
        timer?.cancel();
        client?.removeEventListener("abort", release);
        this.#controllers.delete(controller);
      },
    };
  }

  /** Releases all, and lets nobody wait from now on. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#controllers) {
      controller.abort();
    }
    this.#controllers.clear();
  }
}
