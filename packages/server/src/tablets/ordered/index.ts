/** The public names of ordered tablets. */
export { BlockMerger, type BlockMergerOptions } from "./block-merger.ts";
export { OrderedTablet } from "./ordered-tablet.ts";
export {
  defaultFlushSettings,
  defaultMergeSettings,
  defaultTtlSettings,
  type FlushSettings,
  isFlushDue,
  type MergeSettings,
  planTtlTrim,
  type TtlSettings,
} from "./policies.ts";
export { prepareJoin } from "./reshard.ts";
export type { TabletStatistics } from "./statistics.ts";
export { indexColumnsWeight, type ReadOptions, type RowFacts } from "./tablet-reader.ts";
export type { NewTablet, PreparedAppend, PreparedFlush, TabletInfo, TabletOptions } from "./tablet-types.ts";
