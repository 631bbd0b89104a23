/**
 * Joining ordered tablets, as `reshard_table` to fewer tablets does. Rows are not touched: the chunks of
 * the dropped tablets go behind those of the last kept one, where they begin at new row indexes.
 *
 * Specified in: yt/yt/server/master/tablet_server/tablet_manager.cpp.
 */
import { assert, YtError } from "@qyt/base";
import type { WriteBatch } from "../../cell/index.ts";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import { combinePrepared, type Prepared } from "../chunks/prepared.ts";
import { putStoreRef, removeStoreRef, type StoreRef, storeRefOf } from "../chunks/store-ref.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { dynamicRowCount, emptyDynamicStore, laterOf } from "./tablet-state.ts";

/**
 * Appends the rows of the dropped tablets, tablet after tablet, to the kept one, and destroys the dropped.
 * All must be unmounted: without unflushed rows.
 *
 * @throws YtError 1 when a dropped tablet is trimmed inside a chunk
 */
export function prepareJoin(
  batch: WriteBatch,
  chunks: ChunkManager,
  kept: OrderedTablet,
  dropped: readonly OrderedTablet[],
): Prepared {
  for (const tablet of [kept, ...dropped]) {
    assert(dynamicRowCount(tablet.pending) === 0, `Tablet ${tablet.tabletId} has unflushed rows`);
  }
  for (const tablet of dropped) {
    checkTrimmedAtBorder(tablet);
  }
  const state = kept.pending;
  const added: StoreRef[] = [];
  const parts: Prepared[] = [];
  let row = state.totalRowCount;
  let weight = state.cumulativeDataWeight;
  let lastWriteTimestamp = state.lastWriteTimestamp;
  for (const tablet of dropped) {
    for (const old of tablet.pending.sealed) {
      const ref = storeRefOf(old.chunk, row);
      removeStoreRef(batch, tablet.tabletId, old);
      putStoreRef(batch, kept.tabletId, ref);
      added.push(ref);
      row += old.rowCount;
      weight += old.chunk.dataWeight;
    }
    lastWriteTimestamp = laterOf(tablet.pending.lastWriteTimestamp, lastWriteTimestamp);
    parts.push(tablet.prepareState(batch, { ...tablet.pending, sealed: [] }));
    parts.push(tablet.prepareDestroy(batch));
  }
  parts.push(
    kept.prepareState(batch, {
      ...state,
      sealed: [...state.sealed, ...added],
      dynamic: emptyDynamicStore(chunks.newStoreId(), row, weight),
      totalRowCount: row,
      cumulativeDataWeight: weight,
      lastWriteTimestamp,
    }),
  );
  return combinePrepared(parts);
}

function checkTrimmedAtBorder(tablet: OrderedTablet): void {
  const { sealed, trimmedRowCount } = tablet.pending;
  const first = sealed[0];
  if (first !== undefined && trimmedRowCount > first.firstRowIndex) {
    throw new YtError(
      `Some chunks of tablet ${tablet.tabletId} are not fully trimmed; such a tablet cannot participate in resharding`,
      { attributes: { tablet_id: tablet.tabletId } },
    );
  }
}
