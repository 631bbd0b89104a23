/**
 * How much may be under way: who wants to add more waits, in the order of asking, for what is given back.
 */

export class Room {
  readonly #bytes: number;
  #used = 0;
  #isOver = false;
  /** One that was woken and has not taken its part yet: nobody may overtake it. */
  #isPassing = false;
  readonly #waiting: (() => void)[] = [];

  /** @param bytes so much may be taken; the last one may go beyond it */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get isFull(): boolean {
    return !this.#isOver && (this.#used >= this.#bytes || this.hasWaiting);
  }

  get hasWaiting(): boolean {
    return this.#isPassing || this.#waiting.length > 0;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#wakeNext();
  }

  /** Waits for room; also resolves when it is over. Whoever waited calls `passed` when it has taken its part. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  passed(): void {
    this.#isPassing = false;
    this.#wakeNext();
  }

  /** Wakes all, and stops nobody any more. */
  end(): void {
    this.#isOver = true;
    for (const wake of this.#waiting.splice(0)) {
      wake();
    }
  }

  #wakeNext(): void {
    if (this.#isPassing || this.#used >= this.#bytes) {
      return;
    }
    const wake = this.#waiting.shift();
    if (wake !== undefined) {
      this.#isPassing = true;
      wake();
    }
  }
}
