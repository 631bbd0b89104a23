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
  type InputCell,
  type LockMode,
  mainGroup,
  type RowWrite,
  type SortedRows,
  type VersionKind,
} from "../sorted/index.ts";

interface BufferedRow {
  readonly key: Buffer;
  kind: VersionKind | undefined;
  /** All writes of the row were made under shared locks. */
  sharedWrite: boolean;
  /** One for a column at most. */
  cells: readonly InputCell[];
  /** Lock groups, one entry for a mode. */
  claims: readonly Claim[];
}

type Claim = RowWrite["claims"][number];

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
      row = { key: change.key, kind: undefined, sharedWrite: true, cells: [], claims: [] };
      this.#rows.set(text, row);
    }
    change.apply(row);
  }

  /** The rows in the form the store takes, one by one. */
  *writes(): Generator<RowWrite> {
    this.table.requireSchema(this.#schema);
    for (const [name, { key, kind, sharedWrite, cells, claims }] of this.#rows) {
      yield { key, name, claims, version: kind === undefined ? undefined : { kind, sharedWrite, cells } };
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
    const cells: InputCell[] = [];
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
        cells.push({
          columnId: this.#rows.columnIdOf(position),
          value,
          aggregate: isIncrement,
          isUnsigned: columns[position]?.physical === "uint64",
        });
      }
    }
    const claim: Claim = { mode: options.lockMode, mask: mask === 0 ? mainGroup : mask };
    return {
      key,
      apply: (buffered) => {
        if (isWhole || buffered.kind === "delete") {
          buffered.kind = "write";
          buffered.cells = [];
        } else {
          buffered.kind ??= "update";
        }
        buffered.cells = this.#merged(buffered, cells);
        buffered.sharedWrite &&= options.lockMode === "shared_write";
        addClaim(buffered, claim);
      },
    };
  }

  delete(keyValues: readonly RowValue[]): RowChange {
    const { all } = this.#rows.lockGroups;
    return {
      key: this.#rows.encodeKey(keyValues),
      apply: (buffered) => {
        buffered.kind = "delete";
        buffered.cells = [];
        buffered.sharedWrite = false;
        addClaim(buffered, { mode: "exclusive", mask: all });
      },
    };
  }

  /** @throws YtError for a lock group that the table does not have */
  lock(keyValues: readonly RowValue[], groups: readonly string[], mode: LockMode): RowChange {
    const mask = this.#maskOf(groups);
    return {
      key: this.#rows.encodeKey(keyValues),
      apply: (buffered) => addClaim(buffered, { mode, mask }),
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

  /** The cells of a row with those of a later change. */
  #merged(row: BufferedRow, later: readonly InputCell[]): readonly InputCell[] {
    if (row.cells.length === 0) {
      // A whole row starts from nothing, so there is nothing below to fold into.
      return row.kind === "write" && later.some((cell) => cell.aggregate)
        ? later.map((cell) => ({ ...cell, aggregate: false }))
        : later;
    }
    const cells = new Map(row.cells.map((cell) => [cell.columnId, cell]));
    for (const cell of later) {
      const before = cells.get(cell.columnId);
      cells.set(cell.columnId, this.#mergedCell(before, cell, row.kind));
    }
    return [...cells.values()];
  }

  #mergedCell(before: InputCell | undefined, cell: InputCell, kind: VersionKind | undefined): InputCell {
    if (!cell.aggregate) {
      return cell;
    }
    if (before === undefined) {
      return { ...cell, aggregate: kind === "update" };
    }
    const column = this.#table.schema.columns[this.#rows.positionOfColumn(cell.columnId)];
    const { aggregate: name = "", physical = "any" } = column ?? {};
    return { ...before, value: aggregate(name, before.value, cell.value, physical) };
  }
}

function addClaim(row: BufferedRow, claim: Claim): void {
  const known = row.claims.find(({ mode }) => mode === claim.mode);
  row.claims =
    known === undefined
      ? [...row.claims, claim]
      : row.claims.map((other) => (other === known ? { ...claim, mask: known.mask | claim.mask } : other));
}
