/**
 * What one transaction wants to do to the rows of one sorted table, one entry a row: later changes of
 * the same row win or merge, as they would one after the other.
 */
import { YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { DynamicTable } from "../dynamic-table.ts";
import { aggregate } from "../sorted/aggregates.ts";
import { type LockMode, mainGroup, type RowWrite, type VersionCell, type VersionKind } from "../sorted/index.ts";

interface BufferedRow {
  readonly key: Buffer;
  kind: VersionKind | undefined;
  sharedWrite: boolean;
  /** By column id. */
  cells: Map<number, VersionCell>;
  /** Lock groups by mode. */
  readonly claims: Map<LockMode, number>;
}

export class RowBuffer {
  readonly table: DynamicTable;
  readonly #rows = new Map<string, BufferedRow>();

  constructor(table: DynamicTable) {
    this.table = table;
  }

  get rowCount(): number {
    return this.#rows.size;
  }

  /**
   * @param row cells in schema order, keys included; `undefined` is absent
   * @param options `update`: absent columns keep their values; otherwise they become null
   */
  write(
    row: readonly (RowValue | undefined)[],
    options: { readonly update: boolean; readonly aggregate: boolean; readonly lockMode: "exclusive" | "shared_write" },
  ): void {
    const { rows, schema } = this.table;
    const keyCount = schema.keyColumnCount;
    const key = rows.encodeKey(row.slice(0, keyCount).map((value) => value ?? null));
    const buffered = this.#row(key);
    let mask = 0;
    if (!options.update) {
      buffered.kind = "write";
      buffered.cells = new Map();
      mask = rows.lockGroups.all;
    } else if (buffered.kind === "delete") {
      buffered.kind = "write";
      buffered.cells = new Map();
    } else {
      buffered.kind ??= "update";
    }
    for (let position = keyCount; position < schema.columns.length; position++) {
      const value = row[position];
      if (value === undefined || (value === null && !options.update)) {
        continue;
      }
      mask |= rows.lockGroups.ofColumn(position);
      this.#setCell(buffered, position, value, options.aggregate && schema.columns[position]?.aggregate !== undefined);
    }
    buffered.sharedWrite = options.lockMode === "shared_write";
    this.#claim(buffered, options.lockMode, mask === 0 ? mainGroup : mask);
  }

  delete(keyValues: readonly RowValue[]): void {
    const buffered = this.#row(this.table.rows.encodeKey(keyValues));
    buffered.kind = "delete";
    buffered.cells = new Map();
    buffered.sharedWrite = false;
    this.#claim(buffered, "exclusive", this.table.rows.lockGroups.all);
  }

  lock(keyValues: readonly RowValue[], groups: readonly string[], mode: LockMode): void {
    const buffered = this.#row(this.table.rows.encodeKey(keyValues));
    const { lockGroups } = this.table.rows;
    let mask = groups.length === 0 ? mainGroup : 0;
    for (const name of groups) {
      const bit = lockGroups.ofName(name);
      if (bit === 0) {
        throw new YtError(`Lock group "${name}" not found in table ${this.table.path}`);
      }
      mask |= bit;
    }
    this.#claim(buffered, mode, mask);
  }

  /** The rows in the form the store takes. */
  writes(): RowWrite[] {
    const { schema, rows } = this.table;
    return [...this.#rows.values()].map((row): RowWrite => ({
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
                isUnsigned: schema.columns[rows.positionOfColumn(cell.columnId)]?.physical === "uint64",
              })),
            },
    }));
  }

  #row(key: Buffer): BufferedRow {
    const text = key.toString("latin1");
    const known = this.#rows.get(text);
    if (known !== undefined) {
      return known;
    }
    const row: BufferedRow = { key, kind: undefined, sharedWrite: false, cells: new Map(), claims: new Map() };
    this.#rows.set(text, row);
    return row;
  }

  #setCell(row: BufferedRow, position: number, value: RowValue, isAggregate: boolean): void {
    const columnId = this.table.rows.columnIdOf(position);
    const column = this.table.schema.columns[position];
    const before = row.cells.get(columnId);
    if (isAggregate && before !== undefined) {
      const folded = aggregate(column?.aggregate ?? "", before.value, value, column?.physical ?? "any");
      row.cells.set(columnId, { columnId, value: folded, aggregate: before.aggregate });
      return;
    }
    // A whole row starts from nothing, so there is nothing below to fold into.
    row.cells.set(columnId, { columnId, value, aggregate: isAggregate && row.kind === "update" });
  }

  #claim(row: BufferedRow, mode: LockMode, mask: number): void {
    row.claims.set(mode, (row.claims.get(mode) ?? 0) | mask);
  }
}
