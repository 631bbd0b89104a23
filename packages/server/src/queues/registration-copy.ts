/**
 * All registrations in memory, for listing them: reading ten thousand rows of a sorted table takes a tenth
 * of a second, and they hardly ever change. The copy is brought up to date before each use by looking up
 * the rows that were written since, by whatever command, so it is as fresh as the table.
 */
import type { DynamicTable, TableManager } from "../tablets/index.ts";
import { RowWatch } from "../tablets/index.ts";
import { type Registration, registrationOf } from "./registration-rows.ts";

/** Some 1 KB each; of more the table is read each time. */
const maxCopiedRows = 100_000;

export class RegistrationCopy {
  readonly #tables: TableManager;
  readonly #visibleTimestamp: () => bigint;
  #copy: Copy | undefined;

  constructor(tables: TableManager, visibleTimestamp: () => bigint) {
    this.#tables = tables;
    this.#visibleTimestamp = visibleTimestamp;
  }

  /** All registrations, in the order of their keys. */
  async all(table: DynamicTable): Promise<readonly Registration[]> {
    // It may have been removed and made anew, or altered.
    if (this.#copy?.isOf(table) !== true) {
      this.#copy?.watch.end();
      this.#copy = new Copy(table);
    }
    const copy = this.#copy;
    const timestamp = this.#visibleTimestamp();
    if (copy.isLoaded) {
      return copy.at(timestamp);
    }
    const rows = new Map<string, Registration>();
    for await (const batch of this.#tables.scanSorted(table)) {
      for (const row of batch) {
        rows.set(keyTextOf(table, row), registrationOf(row));
      }
    }
    if (timestamp >= copy.watch.since && rows.size <= maxCopiedRows) {
      copy.load(rows);
    } else if (rows.size > maxCopiedRows) {
      copy.watch.end();
    }
    return [...rows.values()];
  }
}

class Copy {
  readonly watch: RowWatch;
  readonly #table: DynamicTable;
  readonly #state: object;
  readonly #schema: object;
  #rows: Map<string, Registration> | undefined;
  /** `#rows` in order; another array whenever they change. */
  #ordered: readonly Registration[] | undefined;

  constructor(table: DynamicTable) {
    this.#table = table;
    this.#state = table.rows.state;
    this.#schema = table.schema;
    this.watch = new RowWatch(table.rows.state);
  }

  isOf(table: DynamicTable): boolean {
    return table.rows.state === this.#state && table.schema === this.#schema && !this.watch.hasEnded;
  }

  get isLoaded(): boolean {
    return this.#rows !== undefined;
  }

  load(rows: Map<string, Registration>): void {
    // Two may have read at the same time, and one of them may have gone on since.
    this.#rows ??= rows;
  }

  at(timestamp: bigint): readonly Registration[] {
    const rows = this.#rows ?? new Map<string, Registration>();
    for (const key of this.watch.changesUpTo(timestamp)) {
      const row = this.#table.rows.lookup(key, timestamp);
      const name = key.toString("latin1");
      if (row !== undefined) {
        rows.set(name, registrationOf(row));
        this.#ordered = undefined;
      } else if (rows.delete(name)) {
        this.#ordered = undefined;
      }
    }
    this.#ordered ??= [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, registration]) => registration);
    return this.#ordered;
  }
}

function keyTextOf(table: DynamicTable, row: Parameters<typeof registrationOf>[0]): string {
  return table.rows.encodeKey(row.slice(0, table.rows.keyTypes.length)).toString("latin1");
}
