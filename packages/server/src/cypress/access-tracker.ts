/**
 * Accesses counted in memory between two sweeps, when they are written down in one batch. A crash loses
 * those of the last seconds, as upstream.
 * Specified in: yt/yt/server/master/cypress_server/access_tracker.cpp.
 */

export interface PendingAccess {
  counter: number;
  timeUs: number;
  /** Last access that renews an expiration timeout. */
  touchTimeUs?: number;
}

export class AccessTracker {
  readonly #pending = new Map<string, PendingAccess>();

  get(nodeId: string): PendingAccess | undefined {
    return this.#pending.get(nodeId);
  }

  /** Counts a `get` or `list`. */
  access(nodeId: string, timeUs: number): void {
    const pending = this.#of(nodeId);
    pending.counter += 1;
    pending.timeUs = timeUs;
  }

  /** Renews the expiration timeout. */
  touch(nodeId: string, timeUs: number): void {
    this.#of(nodeId).touchTimeUs = timeUs;
  }

  /** What has come together, in the order of the first access. */
  entries(): Iterable<readonly [string, PendingAccess]> {
    return this.#pending;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Forgets what was written down; accesses that came meanwhile stay. */
  written(nodeId: string, counter: number): void {
    const pending = this.#pending.get(nodeId);
    if (pending === undefined) {
      return;
    }
    pending.counter -= counter;
    if (pending.counter <= 0) {
      this.#pending.delete(nodeId);
    }
  }

  #of(nodeId: string): PendingAccess {
    let pending = this.#pending.get(nodeId);
    if (pending === undefined) {
      pending = { counter: 0, timeUs: 0 };
      this.#pending.set(nodeId, pending);
    }
    return pending;
  }
}
