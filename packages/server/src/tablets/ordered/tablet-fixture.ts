/** What the tests of tablets share: rows of one string column, in and out. Imported by tests only. */
import { type Clock, seededRandom } from "@qyt/base";
import { EncodedRows } from "@qyt/schema";
import { Cell, type Store, WriteBatch } from "../../cell/index.ts";
import type { RowFormat } from "../chunks/chunk.ts";
import { ChunkManager } from "../chunks/chunk-manager.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { RowSlice } from "../chunks/store-reader.ts";
import { BlockMerger } from "./block-merger.ts";
import { OrderedTablet } from "./ordered-tablet.ts";
import type { MergeSettings } from "./policies.ts";
import type { NewTablet, PreparedAppend } from "./tablet-types.ts";

/** A table `{data: string}` without system columns. */
export const plainFormat: RowFormat = {
  columns: ["data"],
  hasTimestamp: false,
  hasCumulativeDataWeight: false,
};

/** Encoded rows of one string column; undefined is null. */
export function rowsOf(values: readonly (string | undefined)[]): EncodedRows {
  const cells = values.map((value) => (value === undefined ? Buffer.of(0x23) : stringCell(value)));
  const ends = new Uint32Array(values.length);
  let end = 0;
  cells.forEach((cell, i) => {
    end += cell.length;
    ends[i] = end;
  });
  return new EncodedRows({
    rowCount: values.length,
    bytes: Buffer.concat(cells),
    ends,
    weights: Uint32Array.from(values, (value) => 1 + (value === undefined ? 0 : Buffer.byteLength(value))),
  });
}

export interface SeenRow {
  readonly index: number;
  readonly value: string;
  readonly weight: number;
  readonly timestamp: bigint;
}

/** All rows of the slices. */
export function collectRows(slices: Iterable<RowSlice>): SeenRow[] {
  const rows: SeenRow[] = [];
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++) {
      const cell = block.bytes.subarray(block.rowStart(row), block.rowEnd(row));
      rows.push({
        index: block.firstRowIndex + row,
        value: cell[0] === 0x23 ? "#" : stringOfCell(cell),
        weight: block.cumulativeWeightAt(row),
        timestamp: block.timestampAt(row),
      });
    }
  }
  return rows;
}

export function valuesOf(slices: Iterable<RowSlice>): string[] {
  return collectRows(slices).map((row) => row.value);
}

export interface FixtureOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly mergeSettings?: MergeSettings;
}

/** A cell with its chunks and merger. */
export class TabletFixture {
  readonly cell: Cell;
  readonly chunks: ChunkManager;
  readonly merger: BlockMerger;

  private constructor(cell: Cell, chunks: ChunkManager, merger: BlockMerger) {
    this.cell = cell;
    this.chunks = chunks;
    this.merger = merger;
  }

  static async open({ store, clock, mergeSettings }: FixtureOptions): Promise<TabletFixture> {
    const cell = await Cell.open({ store, clock, random: seededRandom(7), cellTag: 1 });
    const chunks = await ChunkManager.open(cell);
    const merger = new BlockMerger(chunks, mergeSettings === undefined ? {} : { settings: mergeSettings });
    return new TabletFixture(cell, chunks, merger);
  }

  /** Prepares into a new batch and commits it. */
  async change<T extends Prepared>(prepare: (batch: WriteBatch) => T): Promise<T> {
    const batch = new WriteBatch();
    const change = prepare(batch);
    await this.cell.commit({ batch, onDurable: () => change.onDurable(), onFailed: () => change.onFailed() });
    return change;
  }

  async createTablet(options: Partial<NewTablet> = {}): Promise<OrderedTablet> {
    const { tablet } = await this.change((batch) =>
      OrderedTablet.create(this.cell, this.chunks, batch, {
        tabletId: this.cell.newObjectId(702),
        tableId: "0-0-0-0",
        format: plainFormat,
        merger: this.merger,
        ...options,
      }),
    );
    return tablet;
  }

  /** The same tablet as another process would find it. */
  openTablet(tablet: OrderedTablet): Promise<OrderedTablet> {
    const { tabletId, tableId, format } = tablet;
    return OrderedTablet.open(this.cell, this.chunks, { tabletId, tableId, format, merger: this.merger });
  }

  append(tablet: OrderedTablet, values: readonly (string | undefined)[]): Promise<PreparedAppend> {
    return this.change((batch) =>
      tablet.prepareAppend(batch, rowsOf(values), undefined, this.cell.nextTimestamp()),
    );
  }

  trim(tablet: OrderedTablet, count: number): Promise<Prepared> {
    return this.change((batch) => tablet.prepareTrim(batch, count));
  }

  flush(tablet: OrderedTablet): Promise<Prepared> {
    return this.change((batch) => tablet.prepareFlush(batch));
  }
}

function stringCell(value: string): Buffer {
  const bytes = Buffer.from(value);
  const header = [0x01];
  let length = 2 * bytes.length;
  while (length >= 0x80) {
    header.push((length % 0x80) | 0x80);
    length = Math.floor(length / 0x80);
  }
  header.push(length);
  return Buffer.concat([Buffer.from(header), bytes]);
}

function stringOfCell(cell: Uint8Array): string {
  let position = 1;
  while ((cell[position] ?? 0) >= 0x80) {
    position++;
  }
  return Buffer.from(cell.subarray(position + 1)).toString();
}
