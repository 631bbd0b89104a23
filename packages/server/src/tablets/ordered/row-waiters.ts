/** Those who wait for rows of a tablet that are not there yet: woken by the append, never by polling. */

interface Waiter {
  readonly rowIndex: number;
  wake(): void;
}

export class RowWaiters {
  readonly #waiters = new Set<Waiter>();
  #isClosed = false;

  get count(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves when the total row count is above `rowIndex`; rejects with the signal's reason when that
   * aborts first.
   */
  wait(rowIndex: number, totalRowCount: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      if (totalRowCount > rowIndex || this.#isClosed) {
        resolve();
        return;
      }
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        rowIndex,
        wake: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Wakes all that wait for a row below the total. */
  notify(totalRowCount: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.rowIndex < totalRowCount) {
        this.#waiters.delete(waiter);
        waiter.wake();
      }
    }
  }

  /** Wakes all: something about the tablet changed, and they must look again. */
  notifyAll(): void {
    this.notify(Number.POSITIVE_INFINITY);
  }

  /** Wakes all, and from now on lets nobody wait: the tablet goes away, and they must look again. */
  close(): void {
    this.#isClosed = true;
    this.notifyAll();
  }
}
