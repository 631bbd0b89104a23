/**
 * An ordered tablet: rows in the order of their commits, each with an index that is never used again. A
 * list of chunks, oldest first, and one dynamic store that takes new rows. It knows nothing of Cypress or
 * of mounting.
 *
 * Every change is prepared without awaiting into a caller's batch and shows to readers when that is
 * durable. Several may be in flight; each builds on the one before.
 */
import { assert, YtError } from "@qyt/base";
import { type EncodedRows, packBlocks, packBlocksOf, timestampSeconds } from "@qyt/schema";
import type { Cell, WriteBatch } from "../../cell/index.ts";
import { isSameRowFormat, type RowFormat } from "../chunks/chunk.ts";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import { tabletStateKey } from "../chunks/keys.ts";
import { combinePrepared, nothingPrepared, type Prepared } from "../chunks/prepared.ts";
import { type RowSlice, storePosition } from "../chunks/store-reader.ts";
import {
  dropStoreRefs,
  endOfStores,
  loadStoreRefs,
  putStoreRef,
  shareStoreRefs,
  storeRefOf,
} from "../chunks/store-ref.ts";
import { type FlushSettings, isFlushDue, planTtlTrim, type TtlSettings } from "./policies.ts";
import { RowWaiters } from "./row-waiters.ts";
import { SmallBlockTracker } from "./small-block-tracker.ts";
import { collectStatistics, type TabletStatistics } from "./statistics.ts";
import {
  findRowByCumulativeWeight,
  findRowByTimestamp,
  type ReadOptions,
  type RowFacts,
  readTablet,
  rowFacts,
  safeTrimRowCount,
} from "./tablet-reader.ts";
import {
  checkTabletState,
  decodeTabletState,
  dynamicRowCount,
  earlierOf,
  emptyDynamicStore,
  encodeTabletState,
  laterOf,
  type TabletState,
} from "./tablet-state.ts";
import type { NewTablet, PreparedAppend, PreparedFlush, TabletInfo, TabletOptions } from "./tablet-types.ts";

/** Weight of one 64-bit system column. */
const systemColumnWeight = 8;

export class OrderedTablet {
  readonly tabletId: string;
  readonly tableId: string;
  readonly #cell: Cell;
  readonly #chunks: ChunkManager;
  readonly #stateKey: Buffer;
  readonly #waiters = new RowWaiters();
  readonly #smallBlocks: SmallBlockTracker | undefined;
  #format: RowFormat;
  #visible: TabletState;
  #pending: TabletState;
  #barrier = 0n;
  readonly #visibleTimestamp: (() => bigint) | undefined;
  /** The change in flight that ends the tablet: nothing follows it. */
  #isEnding = false;
  /** Data weight that the counters have and that was never stored here: the preset of a new tablet. */
  readonly #presetDataWeight: number;
  /** This tablet's share of the flush splay, drawn anew for each store. */
  #splayShare: number;

  private constructor(cell: Cell, chunks: ChunkManager, options: TabletOptions, state: TabletState) {
    checkTabletState(options.tabletId, state);
    this.tabletId = options.tabletId;
    this.tableId = options.tableId;
    this.#cell = cell;
    this.#chunks = chunks;
    this.#stateKey = tabletStateKey(options.tabletId);
    this.#smallBlocks = options.merger === undefined ? undefined : new SmallBlockTracker(options.merger);
    this.#visibleTimestamp = options.visibleTimestamp;
    this.#format = options.format;
    this.#visible = state;
    this.#pending = state;
    this.#splayShare = cell.random.next();
    // Chunks that come add the same to both counters, and those that are trimmed move from one to the other.
    const sealedWeight = state.sealed.reduce((sum, { chunk }) => sum + chunk.dataWeight, 0);
    this.#presetDataWeight = state.dynamic.baseCumulativeWeight - state.trimmedDataWeight - sealedWeight;
  }

  /** Rebuilds a tablet from its small records. @throws YtError 1701 when there is none */
  static async open(cell: Cell, chunks: ChunkManager, options: TabletOptions): Promise<OrderedTablet> {
    const record = cell.get(tabletStateKey(options.tabletId));
    if (record === undefined) {
      throw new YtError(`No such tablet ${options.tabletId}`, {
        code: "NoSuchTablet",
        attributes: { tablet_id: options.tabletId },
      });
    }
    const sealed = loadStoreRefs(cell, chunks, options.tabletId);
    return new OrderedTablet(cell, chunks, options, decodeTabletState(record, sealed));
  }

  /** A new tablet, empty or with chunks that it shares with others. */
  static create(
    cell: Cell,
    chunks: ChunkManager,
    batch: WriteBatch,
    options: NewTablet,
  ): Prepared & { readonly tablet: OrderedTablet } {
    const { sealed = [], trimmedRowCount = 0 } = options;
    const flushed = endOfStores(sealed, trimmedRowCount);
    const weight = options.cumulativeDataWeight ?? sealed.reduce((sum, ref) => sum + ref.chunk.dataWeight, 0);
    assert(Number.isSafeInteger(flushed) && flushed >= 0, "Trimmed row count is a non-negative safe integer");
    assert(
      Number.isSafeInteger(weight) && weight >= 0,
      "Cumulative data weight is a non-negative safe integer",
    );
    const tablet = new OrderedTablet(cell, chunks, options, {
      sealed,
      dynamic: emptyDynamicStore(chunks.newStoreId(), flushed, weight),
      trimmedRowCount,
      totalRowCount: flushed,
      cumulativeDataWeight: weight,
      trimmedDataWeight: 0,
      lastWriteTimestamp: sealed.reduce((latest, ref) => laterOf(latest, ref.chunk.maxTimestamp), 0n),
    });
    batch.put(tablet.#stateKey, encodeTabletState(tablet.#visible));
    return { tablet, ...shareStoreRefs(batch, chunks, options.tabletId, sealed) };
  }

  /** What readers see. */
  get visible(): TabletState {
    return this.#visible;
  }

  /** What the next change builds on: changes in flight included. */
  get pending(): TabletState {
    return this.#pending;
  }

  /** Data weight of the rows still stored, those in flight included: what a limit on a tablet looks at. */
  get retainedDataWeight(): number {
    const { cumulativeDataWeight, trimmedDataWeight } = this.#pending;
    return cumulativeDataWeight - trimmedDataWeight - this.#presetDataWeight;
  }

  get format(): RowFormat {
    return this.#format;
  }

  /** After an alter. The dynamic store must be empty or of the same format: an unmounted tablet's is. */
  setFormat(format: RowFormat): void {
    assert(
      dynamicRowCount(this.#pending) === 0 || isSameRowFormat(format, this.#format),
      `Tablet ${this.tabletId} has unflushed rows of another schema`,
    );
    this.#format = format;
  }

  /**
   * Appends rows behind those in flight. Their bytes go into blocks as they are.
   *
   * @param selection indexes of `rows` that go here, in order; undefined for all
   * @param timestamp commit timestamp of all of them
   */
  prepareAppend(
    batch: WriteBatch,
    rows: EncodedRows,
    selection: readonly number[] | Uint32Array | undefined,
    timestamp: bigint,
  ): PreparedAppend {
    const state = this.#changeable();
    const { dynamic } = state;
    const rowCount = selection?.length ?? rows.rowCount;
    const firstRowIndex = state.totalRowCount;
    if (rowCount === 0) {
      return { ...nothingPrepared, firstRowIndex, rowCount, dataWeight: 0 };
    }
    const systemWeight =
      (this.#format.hasTimestamp ? systemColumnWeight : 0) +
      (this.#format.hasCumulativeDataWeight ? systemColumnWeight : 0);
    const packing = {
      firstRowIndex: firstRowIndex - dynamic.firstRowIndex,
      baseCumulativeWeight: state.cumulativeDataWeight,
      timestamp,
      countSystemWeight: systemWeight,
    };
    const blocks =
      selection === undefined
        ? packBlocks(rows, 0, rows.rowCount, packing)
        : packBlocksOf(rows, selection, packing);
    let byteSize = dynamic.byteSize;
    let cumulativeDataWeight = state.cumulativeDataWeight;
    for (const block of blocks) {
      this.#chunks.storage.put(batch, dynamic.storeId, block.firstRowIndex, block.bytes);
      byteSize += block.bytes.length;
      cumulativeDataWeight = block.cumulativeWeight;
    }
    const change = this.prepareState(batch, {
      ...state,
      totalRowCount: firstRowIndex + rowCount,
      cumulativeDataWeight,
      lastWriteTimestamp: laterOf(timestamp, state.lastWriteTimestamp),
      dynamic: {
        ...dynamic,
        minTimestamp: dynamic.minTimestamp === 0n ? timestamp : dynamic.minTimestamp,
        maxTimestamp: laterOf(timestamp, dynamic.maxTimestamp),
        byteSize,
      },
    });
    return {
      firstRowIndex,
      rowCount,
      dataWeight: cumulativeDataWeight - state.cumulativeDataWeight,
      onFailed: change.onFailed,
      onDurable: () => {
        change.onDurable();
        this.#smallBlocks?.append(dynamic.storeId, blocks);
      },
    };
  }

  /**
   * Makes rows below `count` disappear. Chunks wholly below leave the tablet; row indexes and weights of
   * the rest do not change. A count not above the present one changes nothing.
   *
   * @throws YtError 1 when the tablet has fewer rows
   */
  prepareTrim(batch: WriteBatch, count: number): Prepared {
    const state = this.#changeable();
    if (count > state.totalRowCount) {
      throw new YtError(
        `Cannot trim tablet ${this.tabletId} at row ${count} since it only has ${state.totalRowCount} row(s)`,
        { attributes: { tablet_id: this.tabletId } },
      );
    }
    if (count <= state.trimmedRowCount) {
      return nothingPrepared;
    }
    const dropCount = storePosition(state.sealed, count);
    const dropped = state.sealed.slice(0, dropCount);
    const drops = dropStoreRefs(batch, this.#chunks, this.tabletId, dropped);
    const droppedWeight = dropped.reduce((sum, ref) => sum + ref.chunk.dataWeight, 0);
    const change = this.prepareState(batch, {
      ...state,
      sealed: dropCount === 0 ? state.sealed : state.sealed.slice(dropCount),
      trimmedRowCount: count,
      trimmedDataWeight: state.trimmedDataWeight + droppedWeight,
    });
    // The rows go out of sight before their blocks may be removed.
    return combinePrepared([change, drops]);
  }

  /** Seals the dynamic store into a chunk, by its records only, and opens a new one. */
  prepareFlush(batch: WriteBatch): PreparedFlush {
    const state = this.#changeable();
    const { dynamic } = state;
    const rowCount = dynamicRowCount(state);
    const flushedRowCount = state.totalRowCount;
    if (rowCount === 0) {
      return { ...nothingPrepared, flushedRowCount, chunk: undefined };
    }
    const dataWeight = state.cumulativeDataWeight - dynamic.baseCumulativeWeight;
    const next = emptyDynamicStore(this.#chunks.newStoreId(), flushedRowCount, state.cumulativeDataWeight);
    if (state.trimmedRowCount >= state.totalRowCount) {
      const removal = this.#chunks.condemn(batch, dynamic.storeId);
      const trimmedDataWeight = state.trimmedDataWeight + dataWeight;
      const change = this.prepareState(batch, { ...state, dynamic: next, trimmedDataWeight });
      return { ...combinePrepared([change, removal]), flushedRowCount, chunk: undefined };
    }
    const creation = this.#chunks.create(batch, {
      storeId: dynamic.storeId,
      rowCount,
      dataWeight,
      baseCumulativeWeight: dynamic.baseCumulativeWeight,
      byteSize: dynamic.byteSize,
      minTimestamp: dynamic.minTimestamp,
      maxTimestamp: dynamic.maxTimestamp,
      format: this.#format,
    });
    const ref = storeRefOf(creation.chunk, dynamic.firstRowIndex);
    putStoreRef(batch, this.tabletId, ref);
    const change = this.prepareState(batch, { ...state, sealed: [...state.sealed, ref], dynamic: next });
    const onDurable = (): void => {
      this.#smallBlocks?.seal();
      this.#splayShare = this.#cell.random.next();
    };
    return {
      ...combinePrepared([creation, change, { onDurable, onFailed: () => undefined }]),
      flushedRowCount,
      chunk: creation.chunk,
    };
  }

  /** Loses the rows that are in no chunk, as a forced unmount does. */
  prepareDropUnflushed(batch: WriteBatch): Prepared {
    const state = this.#changeable();
    const { dynamic } = state;
    if (dynamicRowCount(state) === 0) {
      return nothingPrepared;
    }
    const flushed = dynamic.firstRowIndex;
    const removal = this.#chunks.condemn(batch, dynamic.storeId);
    const change = this.prepareState(batch, {
      ...state,
      dynamic: emptyDynamicStore(this.#chunks.newStoreId(), flushed, dynamic.baseCumulativeWeight),
      totalRowCount: flushed,
      trimmedRowCount: Math.min(state.trimmedRowCount, flushed),
      cumulativeDataWeight: dynamic.baseCumulativeWeight,
    });
    return combinePrepared([change, removal]);
  }

  /** The tablet goes, with the chunks that no other list names. No change may follow. */
  prepareDestroy(batch: WriteBatch): Prepared {
    const state = this.#changeable();
    const parts = [dropStoreRefs(batch, this.#chunks, this.tabletId, state.sealed)];
    if (dynamicRowCount(state) > 0) {
      parts.push(this.#chunks.condemn(batch, state.dynamic.storeId));
    }
    batch.remove(this.#stateKey);
    this.#isEnding = true;
    parts.push({
      onDurable: () => this.close(),
      onFailed: () => {
        this.#isEnding = false;
      },
    });
    return combinePrepared(parts);
  }

  /** Writes the next state of the tablet; used by changes that concern several tablets. */
  prepareState(batch: WriteBatch, next: TabletState): Prepared {
    const previous = this.#changeable();
    this.#pending = next;
    batch.put(this.#stateKey, encodeTabletState(next));
    return {
      onDurable: () => {
        this.#visible = next;
        this.#waiters.notify(next.totalRowCount);
      },
      onFailed: () => {
        assert(this.#pending === next, `Changes of tablet ${this.tabletId} are taken back out of order`);
        this.#pending = previous;
      },
    };
  }

  /** @throws YtError 1702 when the tablet is being removed: its rows are released once already */
  #changeable(): TabletState {
    if (this.#isEnding) {
      throw new YtError(`Tablet ${this.tabletId} is being removed`, {
        code: "TabletNotMounted",
        attributes: { tablet_id: this.tabletId, is_tablet_unmounted: true },
      });
    }
    return this.#pending;
  }

  /** Whether the dynamic store should be flushed now. */
  needFlush(settings: FlushSettings, nowMs: number): boolean {
    const state = this.#visible;
    return isFlushDue(
      {
        rowCount: dynamicRowCount(state),
        dataWeight: state.cumulativeDataWeight - state.dynamic.baseCumulativeWeight,
        firstWriteMs: timestampSeconds(state.dynamic.minTimestamp) * 1000,
        splayShare: this.#splayShare,
      },
      settings,
      nowMs,
    );
  }

  /** The trimmed row count that retention asks for; the present one when there is nothing to do. */
  planTtlTrim(settings: TtlSettings, nowMs: number): number {
    const { sealed, trimmedRowCount, totalRowCount } = this.#visible;
    const chunks = sealed.map(({ chunk, firstRowIndex, rowCount }) => ({
      firstRowIndex,
      rowCount,
      maxTimestamp: chunk.maxTimestamp,
    }));
    return planTtlTrim({ chunks, trimmedRowCount, totalRowCount }, settings, nowMs);
  }

  /** Visible rows from `fromRow` or the first that is not trimmed, in slices of blocks. See `ReadOptions`. */
  read(fromRow: number, options: ReadOptions = {}): Generator<RowSlice, void, void> {
    return readTablet(this.#chunks, () => this.#visible, this.#format, fromRow, options);
  }

  /** Index of the first row, not trimmed, whose commit timestamp is not below; the total when there is none. */
  findRowByTimestamp(timestamp: bigint): number {
    return findRowByTimestamp(this.#chunks, this.#visible, this.#format, timestamp);
  }

  /** Index of the first row, not trimmed, whose cumulative data weight is not below; the total if none. */
  findRowByCumulativeWeight(weight: number): number {
    return findRowByCumulativeWeight(this.#chunks, this.#visible, this.#format, weight);
  }

  /** How many rows can go so that whole stores without a row of the timestamp or later go, in row order. */
  safeTrimRowCount(timestamp: bigint): number {
    return safeTrimRowCount(this.#visible, timestamp);
  }

  /** Timestamp and cumulative weight of a row; undefined when it is trimmed or not there yet. */
  rowFacts(rowIndex: number): RowFacts | undefined {
    return rowFacts(this.#chunks, this.#visible, this.#format, rowIndex);
  }

  /**
   * Resolves when a row with an index of at least `rowIndex` is visible, or the tablet is unmounted or
   * closed: look again. Rejects with the signal's reason when that aborts first.
   */
  waitForRows(rowIndex: number, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(rowIndex, this.#visible.totalRowCount, signal);
  }

  info(): TabletInfo {
    const { totalRowCount, trimmedRowCount, lastWriteTimestamp } = this.#visible;
    // All that is in flight has its timestamp already, and whatever follows gets a larger one than this.
    const present = this.#pending === this.#visible ? this.#cell.nextTimestamp() : lastWriteTimestamp;
    const visible = this.#visibleTimestamp?.() ?? present;
    this.#barrier = laterOf(earlierOf(visible, present), this.#barrier);
    return { totalRowCount, trimmedRowCount, lastWriteTimestamp, barrierTimestamp: this.#barrier };
  }

  statistics(): TabletStatistics {
    return collectStatistics(this.#visible);
  }

  /** Wakes those who wait for rows now: the tablet's state changed, and they must look again. */
  wakeWaiters(): void {
    this.#waiters.notifyAll();
  }

  /** Wakes those who wait for rows, now and later: they must look for the tablet again. */
  close(): void {
    this.#waiters.close();
  }
}
