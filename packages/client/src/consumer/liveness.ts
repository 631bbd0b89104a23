/**
 * Who is alive, by what changes: a member counts as alive as long as its row was seen to change within the session
 * timeout of the own monotonic clock. No two clocks are compared, and a process that stood still draws no conclusion
 * from before: it looks at the row again first.
 */

interface Seen {
  readonly beat: bigint;
  readonly sinceMs: number;
}

export class Liveness {
  readonly #timeoutMs: number;
  #seen = new Map<string, Seen>();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Takes in what was just read. Who is not there any more is forgotten.
   * @param nowMs monotonic
   */
  observe(rows: Iterable<{ readonly id: string; readonly beat: bigint }>, nowMs: number): void {
    const seen = new Map<string, Seen>();
    for (const { id, beat } of rows) {
      const before = this.#seen.get(id);
      seen.set(id, before?.beat === beat ? before : { beat, sinceMs: nowMs });
    }
    this.#seen = seen;
  }

  isAlive(id: string, nowMs: number): boolean {
    return this.unchangedMs(id, nowMs) < this.#timeoutMs;
  }

  /** How long the row has stood unchanged; infinite when there is none. */
  unchangedMs(id: string, nowMs: number): number {
    const seen = this.#seen.get(id);
    return seen === undefined ? Number.POSITIVE_INFINITY : nowMs - seen.sinceMs;
  }
}
