/**
 * What one transaction wants to do to the rows of one sorted table, one entry a row: later changes of
 * the same row win or merge, as they would one after the other.
 *
 * A change is encoded first, which may fail, and applied then, which may not: so that a request with one
 * bad row changes nothing.
 */
import { YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { DynamicTable } from "../dynamic-table.ts";
import { aggregate, requireAggregate } from "../sorted/aggregates.ts";
import {
  type LockMode,
  mainGroup,
  type RowWrite,
  type SortedRows,
  type VersionCell,
  type VersionKind,
} from "../sorted/index.ts";

interface BufferedRow {
  readonly key: Buffer;
  kind: VersionKind | undefined;
  /** All writes of the row were made under shared locks. */
  sharedWrite: boolean;
  /** By column id. */
  cells: Map<number, VersionCell>;
  /** Lock groups by mode. */
  readonly claims: Map<LockMode, number>;
}

export interface WriteOptions {
  /** Absent columns keep their values; otherwise they become null. */
  readonly update: boolean;
  /** Values of aggregate columns are folded into what is there. */
  readonly aggregate: boolean;
  readonly lockMode: "exclusive" | "shared_write";
}

/** A change of one row, ready to be applied. */
export interface RowChange {
  readonly key: Buffer;
  apply(row: BufferedRow): void;
}

export class RowBuffer {
  readonly table: DynamicTable;
  readonly #rows = new Map<string, BufferedRow>();

  readonly #schema: TableSchema;

  constructor(table: DynamicTable) {
    this.table = table;
    this.#schema = table.schema;
  }

  get rowCount(): number {
    return this.#rows.size;
  }

  apply(change: RowChange): void {
    const text = change.key.toString("latin1");
    let row = this.#rows.get(text);
    if (row === undefined) {
      row = { key: change.key, kind: undefined, sharedWrite: true, cells: new Map(), claims: new Map() };
      this.#rows.set(text, row);
    }
    change.apply(row);
  }

  /** The rows in the form the store takes, one by one. */
  *writes(): Generator<RowWrite> {
    this.table.requireSchema(this.#schema);
    const { schema, rows } = this.table;
    const isUnsigned = (columnId: number): boolean =>
      schema.columns[rows.positionOfColumn(columnId)]?.physical === "uint64";
    for (const row of this.#rows.values()) {
      yield {
        key: row.key,
        claims: [...row.claims].map(([mode, mask]) => ({ mode, mask })),
        version:
          row.kind === undefined
            ? undefined
            : {
                kind: row.kind,
                sharedWrite: row.sharedWrite,
                cells: [...row.cells.values()].map((cell) => ({
                  ...cell,
                  isUnsigned: isUnsigned(cell.columnId),
                })),
              },
      };
    }
  }
}

/** Makes changes of the rows of one table; what does not depend on the row is looked up once. */
export class RowChanges {
  readonly #table: DynamicTable;
  readonly #rows: SortedRows;
  readonly #keyCount: number;

  constructor(table: DynamicTable) {
    this.#table = table;
    this.#rows = table.rows;
    this.#keyCount = table.schema.keyColumnCount;
  }

  /**
   * @param row cells in schema order, keys included; `undefined` is absent
   * @throws YtError 308, 325 for the key; for an aggregate that is not there
   */
  write(row: readonly (RowValue | undefined)[], options: WriteOptions): RowChange {
    const key = this.#rows.encodeKey(row.slice(0, this.#keyCount).map((value) => value ?? null));
    const isWhole = !options.update && !options.aggregate;
    const cells: VersionCell[] = [];
    const { columns } = this.#table.schema;
    let mask = options.update ? 0 : this.#rows.lockGroups.all;
    for (let position = this.#keyCount; position < columns.length; position++) {
      const name = columns[position]?.aggregate;
      const isIncrement = options.aggregate && name !== undefined;
      if (isIncrement) {
        requireAggregate(name);
      }
      const value = options.update ? row[position] : (row[position] ?? null);
      if (value === undefined) {
        continue;
      }
      mask |= this.#rows.lockGroups.ofColumn(position);
      // A whole row is null where it says nothing, and null adds nothing.
      if (value !== null || !(isWhole || isIncrement)) {
        cells.push({ columnId: this.#rows.columnIdOf(position), value, aggregate: isIncrement });
      }
    }
    return {
      key,
      apply: (buffered) => {
        if (isWhole || buffered.kind === "delete") {
          buffered.kind = "write";
          buffered.cells = new Map();
        } else {
          buffered.kind ??= "update";
        }
        for (const cell of cells) {
          this.#setCell(buffered, cell);
        }
        buffered.sharedWrite &&= options.lockMode === "shared_write";
        claim(buffered, options.lockMode, mask === 0 ? mainGroup : mask);
      },
    };
  }

  delete(keyValues: readonly RowValue[]): RowChange {
    const { all } = this.#rows.lockGroups;
    return {
      key: this.#rows.encodeKey(keyValues),
      apply: (buffered) => {
        buffered.kind = "delete";
        buffered.cells = new Map();
        buffered.sharedWrite = false;
        claim(buffered, "exclusive", all);
      },
    };
  }

  /** @throws YtError for a lock group that the table does not have */
  lock(keyValues: readonly RowValue[], groups: readonly string[], mode: LockMode): RowChange {
    const mask = this.#maskOf(groups);
    return {
      key: this.#rows.encodeKey(keyValues),
      apply: (buffered) => claim(buffered, mode, mask),
    };
  }

  #maskOf(groups: readonly string[]): number {
    let mask = groups.length === 0 ? mainGroup : 0;
    for (const name of groups) {
      const bit = this.#rows.lockGroups.ofName(name);
      if (bit === 0) {
        throw new YtError(`Lock group "${name}" not found in table ${this.#table.path}`);
      }
      mask |= bit;
    }
    return mask;
  }

  #setCell(row: BufferedRow, cell: VersionCell): void {
    const before = row.cells.get(cell.columnId);
    if (!cell.aggregate) {
      row.cells.set(cell.columnId, cell);
      return;
    }
    const column = this.#table.schema.columns[this.#rows.positionOfColumn(cell.columnId)];
    if (before === undefined) {
      // A whole row starts from nothing, so there is nothing below to fold into.
      row.cells.set(cell.columnId, { ...cell, aggregate: row.kind === "update" });
      return;
    }
    row.cells.set(cell.columnId, {
      ...before,
      value: aggregate(column?.aggregate ?? "", before.value, cell.value, column?.physical ?? "any"),
    });
  }
}

function claim(row: BufferedRow, mode: LockMode, mask: number): void {
  row.claims.set(mode, (row.claims.get(mode) ?? 0) | mask);
}
