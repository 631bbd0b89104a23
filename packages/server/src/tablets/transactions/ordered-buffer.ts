/**
 * What one transaction appends to one ordered table: batches of encoded rows with the tablet that each
 * row goes to.
 *
 * Rows without `$tablet_index` of one request go together to one mounted tablet, picked at random.
 * Specified in: yt/yt/ytlib/api/native/transaction.cpp, tablet_helpers.cpp.
 */
import { type Random, YtError } from "@qyt/base";
import { type EncodedRows, noTabletIndex, type TableSchema } from "@qyt/schema";
import type { WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { DynamicTable } from "../dynamic-table.ts";

interface Append {
  readonly tabletIndex: number;
  readonly rows: EncodedRows;
  /** `undefined`: all rows. */
  readonly selection: Uint32Array | undefined;
}

export class OrderedBuffer {
  readonly table: DynamicTable;
  readonly #appends: Append[] = [];
  /** Rows were routed by this layout of the tablets. */
  #layoutRevision: bigint | undefined;

  readonly #schema: TableSchema;

  constructor(table: DynamicTable) {
    this.table = table;
    this.#schema = table.schema;
  }

  /**
   * All rows or none.
   * @param layoutRevision now and at the commit the tablets must be as the caller knows them
   * @throws YtError 1704 when they are not, 1702 for a tablet that takes no writes, 1 for an index out of range
   */
  append(rows: EncodedRows, random: Random, layoutRevision?: bigint): void {
    if (layoutRevision !== undefined) {
      this.table.requireLayout(layoutRevision);
    }
    this.#append(rows, random);
    // An earlier one that is not the present one any more must make the commit fail.
    this.#layoutRevision ??= layoutRevision;
  }

  #append(rows: EncodedRows, random: Random): void {
    this.table.requireSchema(this.#schema);
    const writable = this.table.writableTabletIndexes();
    const picked = writable.length === 1 ? writable[0] : writable[random.below(writable.length)];
    if (picked === undefined || rows.rowCount === 0) {
      return;
    }
    const { tabletIndexes } = rows;
    if (tabletIndexes === undefined) {
      this.#appends.push({ tabletIndex: picked, rows, selection: undefined });
      return;
    }
    const counts = new Map<number, number>();
    for (let row = 0; row < rows.rowCount; row++) {
      const index = this.#route(tabletIndexes[row] ?? noTabletIndex, picked);
      counts.set(index, (counts.get(index) ?? 0) + 1);
    }
    const selections = new Map<number, { readonly rows: Uint32Array; length: number }>();
    for (const [index, count] of counts) {
      this.table.writableTablet(index);
      selections.set(index, { rows: new Uint32Array(count), length: 0 });
    }
    for (let row = 0; row < rows.rowCount; row++) {
      const selection = selections.get(this.#route(tabletIndexes[row] ?? noTabletIndex, picked));
      if (selection !== undefined) {
        selection.rows[selection.length++] = row;
      }
    }
    for (const [tabletIndex, selection] of selections) {
      this.#appends.push({
        tabletIndex,
        rows,
        selection: selection.length === rows.rowCount ? undefined : selection.rows,
      });
    }
  }

  /** Puts all appends into the batch; each prepared change goes to `prepared` as soon as it counts. */
  prepare(batch: WriteBatch, commitTimestamp: bigint, prepared: Prepared[]): void {
    this.table.requireSchema(this.#schema);
    if (this.#layoutRevision !== undefined) {
      this.table.requireLayout(this.#layoutRevision);
    }
    const { replication } = this.table;
    if (replication !== undefined) {
      const replicas = replication.syncReplicas();
      for (const { table } of replicas) {
        table.requireRoom();
      }
      for (const append of this.#appends) {
        replication.prepareAppend(batch, prepared, append, commitTimestamp, replicas);
      }
      return;
    }
    for (const { tabletIndex, rows, selection } of this.#appends) {
      prepared.push(
        this.table.writableTablet(tabletIndex).prepareAppend(batch, rows, selection, commitTimestamp),
      );
    }
  }

  #route(index: number, picked: number): number {
    if (index === noTabletIndex) {
      return picked;
    }
    if (index < 0 || index >= this.table.tabletCount) {
      throw new YtError(
        `Invalid tablet index: actual ${index}, expected in range [0, ${this.table.tabletCount - 1}]`,
      );
    }
    return index;
  }
}
