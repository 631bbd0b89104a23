/**
 * Decisions about an ordered tablet, each a pure function of (view, settings, now): when to flush, what
 * to trim by age, which small blocks to merge.
 *
 * Specified in: yt/yt/server/lib/tablet_node/config.cpp, yt/yt/server/node/tablet_node/store_trimmer.cpp.
 */
import { timestampFromSeconds } from "@qyt/schema";

/** When a dynamic store becomes a chunk. Times in milliseconds. */
export interface FlushSettings {
  /** Undefined: no periodic flush. */
  readonly autoFlushPeriodMs: number | undefined;
  readonly autoFlushPeriodSplayMs: number;
  readonly maxRowCount: number;
  /** Data weight in bytes at which a store is flushed whatever its row count. */
  readonly maxDataWeightBytes: number;
}

/** `dynamic_store_auto_flush_period`, `…_splay`, `max_dynamic_store_row_count` as they are unset. */
export const defaultFlushSettings: FlushSettings = {
  autoFlushPeriodMs: 900_000,
  autoFlushPeriodSplayMs: 60_000,
  maxRowCount: 1_000_000,
  maxDataWeightBytes: 512 * 1024 * 1024,
};

/** What the flush decision needs of a dynamic store. */
export interface FlushCandidate {
  readonly rowCount: number;
  readonly dataWeight: number;
  /** Unix milliseconds of the first row's commit. */
  readonly firstWriteMs: number;
  /** In [0, 1), drawn once for a store: its share of the splay, so that tablets do not flush together. */
  readonly splayShare: number;
}

/** Whether the store should be sealed now. An empty store never is. */
export function isFlushDue(store: FlushCandidate, settings: FlushSettings, nowMs: number): boolean {
  if (store.rowCount === 0) {
    return false;
  }
  if (store.rowCount >= settings.maxRowCount || store.dataWeight >= settings.maxDataWeightBytes) {
    return true;
  }
  if (settings.autoFlushPeriodMs === undefined) {
    return false;
  }
  const period = settings.autoFlushPeriodMs + store.splayShare * settings.autoFlushPeriodSplayMs;
  return nowMs - store.firstWriteMs >= period;
}

/** The retention settings of a table. Times in milliseconds. */
export interface TtlSettings {
  readonly minDataVersions: number;
  readonly maxDataVersions: number;
  readonly minDataTtlMs: number;
  readonly maxDataTtlMs: number;
  readonly rowCountToKeep: number;
}

/** The settings as they are unset: no trimming by age. */
export const defaultTtlSettings: TtlSettings = {
  minDataVersions: 1,
  maxDataVersions: 1,
  minDataTtlMs: 1_800_000,
  maxDataTtlMs: 1_800_000,
  rowCountToKeep: 0,
};

/** What trimming by age needs of a chunk; row indexes are those of the tablet. */
export interface TtlChunk {
  readonly firstRowIndex: number;
  readonly rowCount: number;
  readonly maxTimestamp: bigint;
}

export interface TtlTablet {
  /** Oldest first; without the dynamic store, whose rows are never trimmed by age. */
  readonly chunks: readonly TtlChunk[];
  readonly trimmedRowCount: number;
  readonly totalRowCount: number;
}

/**
 * The trimmed row count that retention asks for; the present one when there is nothing to do. Whole
 * chunks only, and only while `min_data_versions` is 0.
 */
export function planTtlTrim(tablet: TtlTablet, settings: TtlSettings, nowMs: number): number {
  if (settings.minDataVersions !== 0) {
    return tablet.trimmedRowCount;
  }
  const lifetimeMs =
    settings.maxDataVersions === 0
      ? settings.minDataTtlMs
      : Math.max(settings.minDataTtlMs, settings.maxDataTtlMs);
  const boundSeconds = Math.max(0, Math.floor((nowMs - lifetimeMs) / 1000));
  const bound = timestampFromSeconds(boundSeconds);
  let trimmed = tablet.trimmedRowCount;
  for (const chunk of tablet.chunks) {
    const end = chunk.firstRowIndex + chunk.rowCount;
    if (chunk.maxTimestamp >= bound || tablet.totalRowCount - end < settings.rowCountToKeep) {
      break;
    }
    trimmed = Math.max(trimmed, end);
  }
  return trimmed;
}

/** What the merge decision needs of a stored block. */
export interface MergeCandidate {
  readonly byteSize: number;
}

export interface MergeSettings {
  /** A block of at least this size is left alone. */
  readonly smallBlockBytes: number;
  /** A run of fewer small blocks is not worth a commit. */
  readonly minRunLength: number;
  /** A run that is still growing is merged when it is so long … */
  readonly maxRunLength: number;
  /** … or so heavy. */
  readonly maxRunBytes: number;
}

/** A quarter of a stored value is small; see the design's figures on a pull over single-row blocks. */
export const defaultMergeSettings: MergeSettings = {
  smallBlockBytes: 2_041,
  minRunLength: 4,
  maxRunLength: 100,
  maxRunBytes: 64 * 1024,
};

/** A run of adjacent small blocks, [from, to) in whatever the caller counts. */
export interface MergeRun {
  readonly from: number;
  readonly to: number;
}

/** The runs of adjacent small blocks that are worth merging, as block positions. */
export function planMerge(blocks: readonly MergeCandidate[], settings: MergeSettings): MergeRun[] {
  const runs: MergeRun[] = [];
  let start = 0;
  for (let i = 0; i <= blocks.length; i++) {
    const block = blocks[i];
    if (block !== undefined && isSmall(block, settings)) {
      continue;
    }
    if (i - start >= settings.minRunLength) {
      runs.push({ from: start, to: i });
    }
    start = i + 1;
  }
  return runs;
}

export function isSmall(block: MergeCandidate, settings: MergeSettings): boolean {
  return block.byteSize < settings.smallBlockBytes;
}
