/** The public names of the cell. */
export {
  Cell,
  type CellLogger,
  type CellMetrics,
  type CellOptions,
  commitChannel,
  failureChannel,
  highPendingBytes,
  type Mutation,
} from "./cell.ts";
export { type CheckReport, checkStore } from "./check.ts";
export { CommitQueue, type CommitQueueOptions } from "./commit-queue.ts";
export type { DeletionOptions } from "./deletions.ts";
export {
  type KeyRange,
  type Keyspace,
  keyAfter,
  keyspace,
  prefixEnd,
  prefixRange,
  readSafeU64be,
  rowBlockKey,
  storeKey,
  u16be,
  u32be,
  u64be,
  writeU64be,
} from "./keyspace.ts";
export { type LmdbStoreOptions, openLmdbStore } from "./lmdb-store.ts";
export { MemoryStore } from "./memory-store.ts";
export { dataFormatVersion } from "./meta.ts";
export { RecordBuffer, type RecordVisitor } from "./record-buffer.ts";
export type {
  Entry,
  RangeOptions,
  Reader,
  Snapshot,
  Store,
  StoreMetrics,
} from "./store.ts";
export { type BatchEntry, checksumBytes, WriteBatch } from "./write-batch.ts";
