/**
 * The ledger of a crash test: what clients sent and what they were told on one side, what the queues show on
 * the other. After each crash both must agree.
 *
 * A batch is the rows of one commit. It may lie in several queues, one partition each: then it must be in all
 * of them or in none.
 */
import { type CrashRow, integerOf, parseRow, weightOf } from "./rows.ts";

export interface Place {
  readonly queue: string;
  readonly partition: number;
}

interface Batch {
  readonly name: string;
  readonly size: number;
  readonly places: readonly Place[];
  /** Sent again after a crash until it is acknowledged, as producers do. */
  readonly isResent: boolean;
  isAcknowledged: boolean;
  /** Rows seen, by place. */
  readonly seen: number[];
}

interface Partition {
  /** `batch/place` by row index. */
  readonly rows: string[];
  cumulativeWeight: number;
  timestamp: bigint;
  /** Rows that a client saw at an index before a crash. */
  readonly known: Map<number, string>;
  trimAcknowledged: number;
  trimAsked: number;
}

/** What became of a batch whose answer was lost. */
export type Fate = "stored" | "lost" | "open";

export class Ledger {
  readonly #partitions = new Map<string, Partition>();
  /** Not known yet whether stored. */
  readonly #open = new Map<string, Batch>();
  readonly #stored = new Set<string>();
  readonly #lost = new Set<string>();
  /** Batches found stored by the last `settle`. */
  #settled: readonly string[] = [];

  get storedCount(): number {
    return this.#stored.size;
  }

  get lostCount(): number {
    return this.#lost.size;
  }

  /** Names of the batches that the last `settle` found. */
  get settled(): readonly string[] {
    return this.#settled;
  }

  get rowCount(): number {
    return [...this.#partitions.values()].reduce((sum, { rows }) => sum + rows.length, 0);
  }

  // What clients do

  send(name: string, size: number, places: readonly Place[], isResent = false): void {
    this.#open.set(name, { name, size, places, isResent, isAcknowledged: false, seen: places.map(() => 0) });
  }

  acknowledge(name: string): void {
    const batch = this.#open.get(name);
    if (batch !== undefined) {
      batch.isAcknowledged = true;
    } else if (!this.#stored.has(name)) {
      throw new Error(`Batch ${name} was acknowledged but never sent`);
    }
  }

  /** Its transaction was aborted: it must never appear. */
  abandon(name: string): void {
    this.#open.delete(name);
    this.#lost.add(name);
  }

  fate(name: string): Fate {
    return this.#stored.has(name) ? "stored" : this.#lost.has(name) ? "lost" : "open";
  }

  /** A client was shown a row: it must be at that index ever after. */
  show(place: Place, row: Readonly<Record<string, unknown>>): void {
    const index = Number(integerOf(row, "$row_index"));
    const partition = this.#partition(place);
    const text = textOf(parseRow(row));
    const before = partition.known.get(index) ?? partition.rows[index];
    if (before !== undefined && before !== text) {
      throw new Error(`Row ${index} of ${nameOf(place)} was ${before} and is ${text}`);
    }
    if (index >= partition.rows.length) {
      partition.known.set(index, text);
    }
  }

  askTrim(place: Place, rowCount: number): void {
    const partition = this.#partition(place);
    partition.trimAsked = Math.max(partition.trimAsked, rowCount);
  }

  acknowledgeTrim(place: Place, rowCount: number): void {
    const partition = this.#partition(place);
    partition.trimAcknowledged = Math.max(partition.trimAcknowledged, rowCount);
  }

  // What the queues show

  /** Index of the first row not seen yet. */
  seenRowCount(place: Place): number {
    return this.#partition(place).rows.length;
  }

  /** The next row of the partition, read after a crash and before any client runs again. */
  observe(place: Place, row: Readonly<Record<string, unknown>>): void {
    const partition = this.#partition(place);
    const index = Number(integerOf(row, "$row_index"));
    const parsed = parseRow(row);
    const text = textOf(parsed);
    const where = `row ${index} of ${nameOf(place)}, ${text}`;
    check(index === partition.rows.length, `${where}: expected row ${partition.rows.length}`);
    check(integerOf(row, "$tablet_index") === BigInt(place.partition), `${where}: wrong partition`);
    const known = partition.known.get(index);
    check(known === undefined || known === text, `${where}: was ${known} before the crash`);
    partition.known.delete(index);
    const weight = partition.cumulativeWeight + weightOf(parsed);
    const shownWeight = integerOf(row, "$cumulative_data_weight");
    check(shownWeight === BigInt(weight), `${where}: cumulative weight ${shownWeight}, not ${weight}`);
    const timestamp = integerOf(row, "$timestamp");
    check(timestamp >= partition.timestamp, `${where}: timestamp went back`);
    this.#countRow(place, parsed, partition.rows.at(-1), where);
    partition.rows.push(text);
    partition.cumulativeWeight = weight;
    partition.timestamp = timestamp;
  }

  /** A row that was observed before, read once more. */
  compare(place: Place, row: Readonly<Record<string, unknown>>): void {
    const index = Number(integerOf(row, "$row_index"));
    const expected = this.#partition(place).rows[index];
    const text = textOf(parseRow(row));
    check(text === expected, `row ${index} of ${nameOf(place)} is ${text}, not ${expected}`);
  }

  /** How many rows of the partition may be, and must be, trimmed away. */
  trimBounds(place: Place): { readonly atLeast: number; readonly atMost: number } {
    const { trimAcknowledged, trimAsked } = this.#partition(place);
    return { atLeast: trimAcknowledged, atMost: trimAsked };
  }

  /** All queues were read to their ends and nobody writes: every batch must be there as a whole or not at all. */
  settle(): void {
    const settled: string[] = [];
    for (const [name, batch] of this.#open) {
      const isSeen = batch.seen.some((count) => count > 0);
      const isWhole = batch.seen.every((count) => count === batch.size);
      const state = `batch ${name} of ${batch.size} rows in ${batch.places.map(nameOf).join(" and ")}: seen ${batch.seen.join(" and ")}`;
      check(!isSeen || isWhole, `half applied: ${state}`);
      check(!batch.isAcknowledged || isWhole, `acknowledged and lost: ${state}`);
      if (isWhole) {
        settled.push(name);
        this.#stored.add(name);
        this.#open.delete(name);
      } else if (!batch.isResent) {
        this.#lost.add(name);
        this.#open.delete(name);
      }
    }
    for (const [name, { known, rows }] of this.#partitions) {
      check(
        known.size === 0,
        `${name} has ${rows.length} rows; ${known.size} beyond were shown before the crash`,
      );
    }
    this.#settled = settled;
  }

  #countRow(place: Place, row: CrashRow, previous: string | undefined, where: string): void {
    check(!this.#stored.has(row.batch), `${where}: its batch was complete before`);
    check(!this.#lost.has(row.batch), `${where}: its batch had been lost`);
    const batch = this.#open.get(row.batch);
    if (batch === undefined) {
      throw new Error(`${where}: nobody sent its batch`);
    }
    const position = batch.places.findIndex(
      ({ queue, partition }) => queue === place.queue && partition === place.partition,
    );
    check(position >= 0, `${where}: not sent there`);
    check(row.size === batch.size && row.place === batch.seen[position], `${where}: twice, or out of order`);
    check(
      row.place === 0 || previous === textOf({ ...row, place: row.place - 1 }),
      `${where}: its batch is torn by ${previous}`,
    );
    batch.seen[position] = row.place + 1;
  }

  #partition(place: Place): Partition {
    const name = nameOf(place);
    let partition = this.#partitions.get(name);
    if (partition === undefined) {
      partition = {
        rows: [],
        cumulativeWeight: 0,
        timestamp: 0n,
        known: new Map(),
        trimAcknowledged: 0,
        trimAsked: 0,
      };
      this.#partitions.set(name, partition);
    }
    return partition;
  }
}

function textOf({ batch, place }: CrashRow): string {
  return `${batch}/${place}`;
}

function nameOf({ queue, partition }: Place): string {
  return `${queue}[${partition}]`;
}

export function check(condition: boolean, message: string): void {
  if (!condition) {
    throw new Error(message);
  }
}
