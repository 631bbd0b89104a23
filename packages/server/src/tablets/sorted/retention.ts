/**
 * Which versions of sorted rows compaction leaves.
 *
 * A version is never dropped while it is younger than `min_data_ttl` or among the `min_data_versions` newest; of
 * the others those go that are older than `max_data_ttl` or beyond `max_data_versions`. Beside that, whatever a
 * read at a retained time shows stays: so the last version that is old enough is kept where a younger one needs it.
 *
 * Specified in: documentation "Sorted dynamic tables: compaction"; yt/yt/ytlib/table_client/versioned_row_merger.cpp.
 */
export interface Retention {
  readonly minVersions: number;
  readonly maxVersions: number;
  /** What was written before this time is too old, if the counts let it go. */
  readonly agedBefore: bigint;
}

/** One version of each row, whatever its age. */
export const newestOnly: Retention = { minVersions: 1, maxVersions: 1, agedBefore: 0n };

/** Rows go by age alone. */
export function expires(retention: Retention): boolean {
  return retention.minVersions === 0;
}

/** Whether a version stays as it is. @param index number of newer versions of the row */
export function keepsWhole(retention: Retention, index: number, timestamp: bigint): boolean {
  return (
    index < retention.minVersions || (index < retention.maxVersions && timestamp >= retention.agedBefore)
  );
}

export function sameCounts(left: Retention, right: Retention): boolean {
  return left.minVersions === right.minVersions && left.maxVersions === right.maxVersions;
}
