/** `@qyt/server`: one cluster. */
export {
  Cell,
  type CellOptions,
  type CheckReport,
  checkStore,
  dataFormatVersion,
  type Entry,
  MemoryStore,
  openLmdbStore,
  type RangeOptions,
  type Snapshot,
  type Store,
  type StoreMetrics,
  WriteBatch,
} from "./cell/index.ts";
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
export { allCommands, type RegisteredCommand } from "./driver/index.ts";
