/**
 * Versions of one row made one, from the newest to the oldest: a value hides what is older, an increment
 * of an aggregate column is folded into it.
 */
import { assert } from "@qyt/base";
import type { ColumnSchema, RowValue, TableSchema } from "@qyt/schema";
import { aggregate } from "./aggregates.ts";
import type { RowVersion, VersionCell, VersionInput } from "./version-record.ts";

interface FoldedCell {
  readonly columnId: number;
  value: RowValue;
  /** Of the newest write that the value comes from. */
  readonly timestamp: bigint;
  /** The value is the sum of increments: what is older counts too. */
  isOpen: boolean;
}

/** Stored columns by their ids. */
export interface StoredColumns {
  readonly schema: TableSchema;
  /** −1 for a column that is gone. */
  positionOfColumn(columnId: number): number;
}

export class VersionFold {
  readonly #columns: StoredColumns;
  readonly #cells = new Map<number, FoldedCell>();
  /** A whole row, when that is all there is: it needs no folding. */
  #only: RowVersion | undefined;
  #isEmpty = true;
  #end: "write" | "delete" | undefined;

  constructor(columns: StoredColumns) {
    this.#columns = columns;
  }

  /** Nothing older counts. */
  get isClosed(): boolean {
    return this.#end !== undefined;
  }

  /** Whether there is a row: a deletion alone is none. */
  get hasRow(): boolean {
    return !this.#isEmpty;
  }

  /** Takes the next older version. */
  add(version: RowVersion): void {
    assert(this.#end === undefined, "nothing is folded beneath a whole row or a deletion");
    if (version.kind === "delete") {
      this.#end = "delete";
      return;
    }
    if (this.#isEmpty && version.kind === "write") {
      this.#isEmpty = false;
      this.#only = version;
      this.#end = "write";
      return;
    }
    this.#isEmpty = false;
    for (const cell of version.cells) {
      this.#addCell(cell, cell.timestamp ?? version.timestamp);
    }
    if (version.kind === "write") {
      this.#end = "write";
    }
  }

  /** The values of all columns in schema order, those of the key null, if nothing older is left. */
  toRow(): RowValue[] {
    const row: RowValue[] = new Array<RowValue>(this.#columns.schema.columns.length).fill(null);
    for (const { columnId, value } of this.#only?.cells ?? this.#folded()) {
      const position = this.#columns.positionOfColumn(columnId);
      if (position >= 0) {
        row[position] = value;
      }
    }
    return row;
  }

  /**
   * The values as `toRow` gives them, and behind them for each value column the commit timestamp of its value:
   * null where that is null.
   */
  toTimestampedRow(): RowValue[] {
    const { columns, keyColumnCount } = this.#columns.schema;
    const row = this.toRow();
    row.length = 2 * columns.length - keyColumnCount;
    row.fill(null, columns.length);
    for (const { columnId, value, timestamp } of this.#folded()) {
      const position = this.#columns.positionOfColumn(columnId);
      if (position >= 0 && value !== null) {
        row[columns.length + position - keyColumnCount] = timestamp;
      }
    }
    return row;
  }

  /**
   * The same as one version.
   * @param isWhole nothing older is left, whatever the versions said
   * @param timestamp of that version
   * @param agedBefore values written earlier are left out
   */
  toVersion(isWhole: boolean, timestamp: bigint, agedBefore = 0n): VersionInput {
    const kind = isWhole || this.isClosed ? "write" : "update";
    return {
      kind,
      sharedWrite: false,
      cells: [...this.#folded()].flatMap(({ columnId, value, isOpen, timestamp: own }) => {
        const column = this.#columnOf(columnId);
        return column === undefined || own < agedBefore || (kind === "write" && value === null)
          ? []
          : [
              {
                columnId,
                value,
                aggregate: isOpen && kind === "update",
                isUnsigned: column.physical === "uint64",
                ...(own === timestamp ? {} : { timestamp: own }),
              },
            ];
      }),
    };
  }

  /** One cell a column. */
  #folded(): Iterable<FoldedCell> {
    const only = this.#only;
    if (only !== undefined && this.#cells.size === 0) {
      for (const cell of only.cells) {
        this.#addCell(cell, cell.timestamp ?? only.timestamp);
      }
    }
    return this.#cells.values();
  }

  #addCell({ columnId, value, aggregate: isIncrement }: VersionCell, timestamp: bigint): void {
    const known = this.#cells.get(columnId);
    if (known === undefined) {
      this.#cells.set(columnId, { columnId, value, timestamp, isOpen: isIncrement });
    } else if (known.isOpen) {
      const column = this.#columnOf(columnId);
      known.value = aggregate(column?.aggregate ?? "", value, known.value, column?.physical ?? "any");
      known.isOpen = isIncrement;
    }
  }

  #columnOf(columnId: number): ColumnSchema | undefined {
    return this.#columns.schema.columns[this.#columns.positionOfColumn(columnId)];
  }
}
