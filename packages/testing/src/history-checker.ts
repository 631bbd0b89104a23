/**
 * Judges what transactions over rows have seen and done: a history of reads, writes and locks against the versions
 * that are stored in the end. Each written value is unique, so a value tells who wrote it.
 *
 * What is looked for: dirty reads (of values that were never committed), reads that are not those of the
 * transaction's snapshot, reads that change, lost updates, half a transaction, lost or revived commits, and write
 * skew between transactions that lock what they read.
 */

/** A read: the value found, or undefined for no row. */
export interface HistoryRead {
  readonly key: number;
  readonly value: number | undefined;
  /** The row is locked against writers until the transaction ends. */
  readonly isLocked: boolean;
}

export interface HistoryWrite {
  readonly key: number;
  readonly value: number;
}

export interface HistoryTransaction {
  readonly id: number;
  readonly start: bigint;
  /** What the client was told; `unknown` when nobody answered any more. */
  readonly outcome: "committed" | "refused" | "unknown";
  /** As the client was told it. */
  readonly commit: bigint | undefined;
  readonly reads: readonly HistoryRead[];
  /** The last write of each key. */
  readonly writes: readonly HistoryWrite[];
}

/** A stored version of a row. */
export interface HistoryVersion {
  readonly timestamp: bigint;
  readonly value: number;
}

/**
 * @param versions of each key in the end, all that ever were
 * @returns what is wrong, in words; empty when nothing is
 */
export function checkHistory(
  transactions: readonly HistoryTransaction[],
  versions: ReadonlyMap<number, readonly HistoryVersion[]>,
): string[] {
  return new HistoryCheck(transactions, versions).run();
}

class HistoryCheck {
  readonly #transactions: readonly HistoryTransaction[];
  /** Oldest first. */
  readonly #versions: ReadonlyMap<number, readonly HistoryVersion[]>;
  readonly #problems: string[] = [];
  /** Commit timestamps of those that have taken effect. */
  readonly #commits = new Map<number, bigint>();

  constructor(
    transactions: readonly HistoryTransaction[],
    versions: ReadonlyMap<number, readonly HistoryVersion[]>,
  ) {
    this.#transactions = transactions;
    this.#versions = new Map(
      [...versions].map(([key, list]) => [
        key,
        [...list].sort((left, right) => (left.timestamp < right.timestamp ? -1 : 1)),
      ]),
    );
  }

  run(): string[] {
    for (const transaction of this.#transactions) {
      this.#checkEffect(transaction);
    }
    this.#checkForeignVersions();
    for (const transaction of this.#transactions) {
      this.#checkReads(transaction);
      this.#checkLostUpdates(transaction);
    }
    this.#checkCycles();
    return this.#problems;
  }

  #timestampOf({ key, value }: HistoryWrite): bigint | undefined {
    return this.#versions.get(key)?.find((version) => version.value === value)?.timestamp;
  }

  /** All writes or none, at one time, as the client was told. */
  #checkEffect({ id, outcome, commit, writes }: HistoryTransaction): void {
    const stamps = writes.map((write) => this.#timestampOf(write));
    const present = stamps.filter((stamp) => stamp !== undefined);
    const [first] = present;
    if (present.length > 0 && (present.length < writes.length || present.some((stamp) => stamp !== first))) {
      this.#problems.push(`transaction ${id} took effect in part, or at several times`);
    }
    if (outcome === "refused" && first !== undefined) {
      this.#problems.push(`transaction ${id} was refused and took effect`);
    }
    if (outcome === "committed" && writes.length > 0 && first !== commit) {
      this.#problems.push(`transaction ${id} committed at ${commit} and is found at ${first}`);
    }
    const at = first ?? (outcome === "committed" ? commit : undefined);
    if (at !== undefined) {
      this.#commits.set(id, at);
    }
  }

  #checkForeignVersions(): void {
    const written = new Set(
      this.#transactions.flatMap(({ writes }) => writes.map(({ key, value }) => `${key} ${value}`)),
    );
    for (const [key, list] of this.#versions) {
      for (const { value } of list) {
        if (!written.has(`${key} ${value}`)) {
          this.#problems.push(`row ${key} has the value ${value}, which nobody was to commit`);
        }
      }
    }
  }

  /** Every read, committed or not, is of the snapshot at the transaction's start. */
  #checkReads({ id, start, reads }: HistoryTransaction): void {
    for (const { key, value } of reads) {
      const seen = this.#versions.get(key)?.findLast(({ timestamp }) => timestamp <= start)?.value;
      if (seen !== value) {
        this.#problems.push(`transaction ${id} read ${value} in row ${key}, its snapshot has ${seen}`);
      }
    }
  }

  /** Nobody else writes a row between the start and the commit of who writes it. */
  #checkLostUpdates({ id, start, writes }: HistoryTransaction): void {
    const commit = this.#commits.get(id);
    for (const { key } of commit === undefined ? [] : writes) {
      const other = this.#versions
        .get(key)
        ?.find(({ timestamp }) => timestamp > start && timestamp < (commit ?? 0n));
      if (other !== undefined) {
        this.#problems.push(`transaction ${id} wrote over ${other.value} in row ${key} unseen`);
      }
    }
  }

  /** Who comes before whom: by versions of a row, by reading them, and by what is read under a lock. */
  #checkCycles(): void {
    const writers = new Map<string, number>();
    for (const { id, writes } of this.#transactions) {
      for (const { key, value } of writes) {
        writers.set(`${key} ${value}`, id);
      }
    }
    const behind = new Map<number, Set<number>>();
    const add = (from: number | undefined, to: number | undefined): void => {
      if (from !== undefined && to !== undefined && from !== to) {
        behind.set(from, (behind.get(from) ?? new Set()).add(to));
      }
    };
    for (const [key, list] of this.#versions) {
      for (const [index, { value }] of list.entries()) {
        const next = list[index + 1];
        add(writers.get(`${key} ${value}`), next && writers.get(`${key} ${next.value}`));
      }
    }
    for (const { id, reads } of this.#transactions) {
      for (const { key, value, isLocked } of this.#commits.has(id) ? reads : []) {
        const list = this.#versions.get(key) ?? [];
        const index = list.findIndex((version) => version.value === value);
        add(writers.get(`${key} ${value}`), id);
        const next = list[index + 1];
        if (isLocked && next !== undefined) {
          add(id, writers.get(`${key} ${next.value}`));
        }
      }
    }
    const cycle = findCycle(behind);
    if (cycle !== undefined) {
      this.#problems.push(
        `transactions ${cycle.join(", ")} are each before the next, and the last before the first`,
      );
    }
  }
}

function findCycle(behind: ReadonlyMap<number, ReadonlySet<number>>): number[] | undefined {
  const done = new Set<number>();
  const path: number[] = [];
  const visit = (id: number): number[] | undefined => {
    if (path.includes(id)) {
      return path.slice(path.indexOf(id));
    }
    if (done.has(id)) {
      return undefined;
    }
    done.add(id);
    path.push(id);
    for (const next of behind.get(id) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) {
        return cycle;
      }
    }
    path.pop();
    return undefined;
  };
  for (const id of behind.keys()) {
    const cycle = visit(id);
    if (cycle !== undefined) {
      return cycle;
    }
  }
  return undefined;
}
