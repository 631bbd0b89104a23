/**
 * Where `read_table` finds its rows: the chunks of a static table, the tablets of an ordered one, the keys
 * of a sorted one. A source is taken when the read begins and shows what was visible then; its stores are
 * pinned until it is released.
 */
import { turn, YtError } from "@qyt/base";
import { encodeKeyPrefix, type PhysicalType, type RowValue } from "@qyt/schema";
import type { ChunkManager, RowFormat, RowSlice, StoreSpan } from "../chunks/index.ts";
import { overlappingStores, readStores } from "../chunks/store-reader.ts";
import { dynamicRowCount, dynamicSpan, type TabletState } from "../ordered/tablet-state.ts";
import { firstRowKey, rowKeyAfter, type SortedRows } from "../sorted/index.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import { settingOf } from "../tables/settings.ts";
import type { TableState } from "../tables/table-state.ts";
import type { KeyCut, ReadRange } from "./read-limits.ts";
import { KeyColumns, type KeyPart, typeRank } from "./row-keys.ts";
import { orderedSegments, type RowSegment, staticSegments } from "./row-segments.ts";
import { staticChunks } from "./table-rows.ts";

/** A piece of a source: rows of one block, or rows of a sorted table by their values. */
export type RowPiece =
  | {
      readonly kind: "slice";
      readonly slice: RowSlice;
      readonly rangeIndex: number;
      readonly tabletIndex: number;
    }
  | { readonly kind: "values"; readonly rows: readonly (readonly RowValue[])[]; readonly rangeIndex: number };

export interface RowSource {
  readonly formats: readonly RowFormat[];
  /** Undefined where it is not known beforehand. */
  readonly rowCount: number | undefined;
  /** Index of the first row to come; undefined when there is none, or it is not known beforehand. */
  readonly firstRowIndex: number | undefined;
  pieces(): AsyncGenerator<RowPiece, void, void> | Generator<RowPiece, void, void>;
  release(): void;
}

/** Stores that a read keeps until it ends. */
class Pins {
  readonly #chunks: ChunkManager;
  readonly #storeIds: bigint[] = [];

  constructor(chunks: ChunkManager) {
    this.#chunks = chunks;
  }

  add(spans: readonly StoreSpan[]): void {
    for (const { storeId } of spans) {
      this.#chunks.pin(storeId);
      this.#storeIds.push(storeId);
    }
  }

  release(): void {
    for (const storeId of this.#storeIds.splice(0)) {
      this.#chunks.unpin(storeId);
    }
  }
}

function formatsOf(spans: readonly StoreSpan[]): RowFormat[] {
  return [...new Set(spans.map(({ format }) => format))];
}

abstract class StoreSource implements RowSource {
  readonly formats: readonly RowFormat[];
  readonly #chunks: ChunkManager;
  readonly #segments: readonly RowSegment[];
  readonly #pins: Pins;

  constructor(
    chunks: ChunkManager,
    segments: readonly RowSegment[],
    spansOf: (segment: RowSegment) => readonly StoreSpan[],
  ) {
    this.#chunks = chunks;
    this.#segments = segments;
    this.#pins = new Pins(chunks);
    const spans = segments.flatMap(spansOf);
    this.#pins.add(spans);
    this.formats = formatsOf(spans);
  }

  get rowCount(): number {
    return this.#segments.reduce((sum, { fromRow, toRow }) => sum + toRow - fromRow, 0);
  }

  get firstRowIndex(): number | undefined {
    return this.#segments[0]?.fromRow;
  }

  protected abstract spansOf(segment: RowSegment): readonly StoreSpan[];

  *pieces(): Generator<RowPiece, void, void> {
    for (const segment of this.#segments) {
      const { rangeIndex, tabletIndex } = segment;
      for (const slice of readStores(this.#chunks, this.spansOf(segment), segment)) {
        yield { kind: "slice", slice, rangeIndex, tabletIndex };
      }
    }
  }

  release(): void {
    this.#pins.release();
  }
}

export class StaticSource extends StoreSource {
  readonly #refs: readonly StoreSpan[];

  constructor(environment: TableEnvironment, state: TableState, ranges: readonly ReadRange[]) {
    const refs = staticChunks(environment, state);
    const segments = staticSegments(environment.chunks, refs, ranges, new KeyColumns(state.schema));
    super(environment.chunks, segments, (segment) => overlappingStores(refs, segment));
    this.#refs = refs;
  }

  protected override spansOf(segment: RowSegment): readonly StoreSpan[] {
    return overlappingStores(this.#refs, segment);
  }
}

interface FrozenTablet {
  readonly state: TabletState;
  readonly format: RowFormat;
  readonly fromRow: number;
  readonly toRow: number;
}

function tabletSpans(tablet: FrozenTablet | undefined, segment: RowSegment): StoreSpan[] {
  if (tablet === undefined) {
    return [];
  }
  const { state, format } = tablet;
  const spans: StoreSpan[] = overlappingStores(state.sealed, segment);
  if (segment.toRow > state.dynamic.firstRowIndex && dynamicRowCount(state) > 0) {
    spans.push(dynamicSpan(state, format));
  }
  return spans;
}

export class OrderedSource extends StoreSource {
  readonly #tablets: readonly FrozenTablet[];

  constructor(environment: TableEnvironment, state: TableState, ranges: readonly ReadRange[]) {
    const readsDynamicStores = settingOf(state, "enable_dynamic_store_read") === true;
    const tablets = state.tablets.map(({ id }): FrozenTablet => {
      const tablet = environment.orderedTablets.get(id);
      if (tablet === undefined) {
        throw new YtError(`No such tablet ${id}`, { code: "NoSuchTablet", attributes: { tablet_id: id } });
      }
      const { visible, format } = tablet;
      const toRow = readsDynamicStores ? visible.totalRowCount : visible.dynamic.firstRowIndex;
      return { state: visible, format, fromRow: visible.trimmedRowCount, toRow };
    });
    super(environment.chunks, orderedSegments(tablets, ranges), (segment) =>
      tabletSpans(tablets[segment.tabletIndex], segment),
    );
    this.#tablets = tablets;
  }

  protected override spansOf(segment: RowSegment): readonly StoreSpan[] {
    return tabletSpans(this.#tablets[segment.tabletIndex], segment);
  }
}

const scanRows = 1_000;

/** A sorted dynamic table at one timestamp, which the caller keeps readable until `release`. */
export class SortedSource implements RowSource {
  readonly formats: readonly RowFormat[] = [];
  readonly rowCount = undefined;
  firstRowIndex: number | undefined;
  readonly release: () => void;
  readonly #rows: SortedRows;
  readonly #ranges: readonly ReadRange[];
  readonly #timestamp: bigint;

  constructor(rows: SortedRows, ranges: readonly ReadRange[], timestamp: bigint, release: () => void) {
    this.#rows = rows;
    this.#ranges = ranges;
    this.#timestamp = timestamp;
    this.release = release;
  }

  async *pieces(): AsyncGenerator<RowPiece, void, void> {
    const { keyTypes } = this.#rows;
    for (const [rangeIndex, { lower, upper }] of this.#ranges.entries()) {
      const to = upper.cut === undefined ? undefined : encodeCut(upper.cut, keyTypes);
      let from: Buffer | undefined =
        lower.cut === undefined ? Buffer.alloc(0) : encodeCut(lower.cut, keyTypes);
      while (from !== undefined && (to === undefined || Buffer.compare(from, to) < 0)) {
        const found: { rows: RowValue[][]; next: Buffer | undefined } = this.#rows.scan(
          from,
          to,
          this.#timestamp,
          scanRows,
        );
        if (found.rows.length > 0) {
          this.firstRowIndex ??= 0;
          yield { kind: "values", rows: found.rows, rangeIndex };
        }
        from = found.next;
        await turn();
      }
    }
  }
}

/** Tags of encoded keys by type; values that no key has lie between or beyond them. */
const tags = new Map<number, number>([
  [typeRank.null, 0x02],
  [typeRank.int64, 0x03],
  [typeRank.uint64, 0x04],
  [typeRank.double, 0x05],
  [typeRank.boolean, 0x06],
  [typeRank.string, 0x07],
  [typeRank.any, 0x08],
  [typeRank.max, 0xff],
]);
const ranks: Readonly<Record<PhysicalType, number>> = typeRank;

/** The first encoded key behind a cut. */
function encodeCut(cut: KeyCut, types: readonly PhysicalType[]): Buffer {
  const values: RowValue[] = [];
  for (const [index, type] of types.entries()) {
    const part: KeyPart | undefined = cut.key[index];
    if (part === undefined) {
      break;
    }
    if (part.rank !== typeRank.null && part.rank !== ranks[type]) {
      if (part.rank === typeRank.min) {
        return firstRowKey(values, types);
      }
      const tag = Buffer.of(tags.get(part.rank) ?? 0xff);
      return Buffer.concat([encodeKeyPrefix(values, types), tag]);
    }
    values.push(part.value);
  }
  return cut.after || cut.key.length > types.length ? rowKeyAfter(values, types) : firstRowKey(values, types);
}
