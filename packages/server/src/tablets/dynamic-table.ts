/**
 * What transactions, queries and queues see of a mounted dynamic table. The table room implements it
 * over the Cypress node; nothing here knows of Cypress.
 */
import type { EncodedRows, RowValue, TableSchema } from "@qyt/schema";
import type { WriteBatch } from "../cell/index.ts";
import type { Prepared } from "./chunks/prepared.ts";
import type { OrderedTablet, TabletInfo } from "./ordered/index.ts";
import type { FigureChanges, RowWrite, SortedRows } from "./sorted/index.ts";

/** A replica that gets rows in the transaction that writes to its replicated table. */
export interface SyncReplica {
  readonly id: string;
  readonly table: DynamicTable;
  /** A change of a row of the replicated table as a change of the replica's row. Sorted tables only. */
  readonly translate: (write: RowWrite) => RowWrite;
}

/** Rows of one tablet of a replicated table. */
export interface LoggedAppend {
  readonly tabletIndex: number;
  readonly rows: EncodedRows;
  /** `undefined`: all rows. */
  readonly selection: Uint32Array | undefined;
}

/** What a replicated table has instead of rows: a log of changes, and replicas that get them. */
export interface Replication {
  /** @throws YtError 1714 when there are replicas, and none of them is synchronous */
  requireSyncReplica(): void;
  /** The enabled ones. @throws YtError 316, 500, 1718 when the table of one cannot be one */
  syncReplicas(): readonly SyncReplica[];
  /**
   * Appends to the log, and writes down that the replicas have the rows; those of a queue go into the
   * replicas' tablets too. Each prepared change goes to `prepared` as soon as it counts.
   * @throws YtError 1702, 1732 when a replica lacks earlier rows
   */
  prepareAppend(
    batch: WriteBatch,
    prepared: Prepared[],
    append: LoggedAppend,
    commitTimestamp: bigint,
    replicas: readonly SyncReplica[],
  ): void;
  /** Rows of the log of a sorted table. */
  encodeChanges(writes: readonly RowWrite[]): EncodedRows;
  tabletIndexOf(tabletId: string): number;
  /** A synchronous replica that has all rows, at the timestamp of the read too. @throws YtError 1736 */
  readTarget(timestamp?: bigint): DynamicTable;
}

export interface DynamicTable {
  readonly id: string;
  /** Physical path, escaped. */
  readonly path: string;
  readonly schema: TableSchema;
  readonly sorted: boolean;
  readonly atomicity: "full" | "none";
  /** `$tablet_index`, `$row_index` and all columns of an ordered table; the schema of a sorted one. */
  readonly querySchema: TableSchema;
  /** A sorted table with a column `$timestamp:<name>` for each value column. @throws YtError for an ordered one */
  readonly timestampedSchema: TableSchema;
  /** What `insert_rows` accepts. */
  readonly writeSchema: TableSchema;
  /** What `push_queue_producer` accepts. */
  readonly producerWriteSchema: TableSchema;
  /** The key columns, as `lookup_rows` and `delete_rows` take them: without computed ones. */
  readonly keySchema: TableSchema;
  readonly tabletCount: number;
  /** The replica that the table holds the rows of: only replication writes to it. */
  readonly upstreamReplicaId: string | undefined;
  /** Of a replicated table. */
  readonly replication: Replication | undefined;
  /**
   * The table to read: this one, or a synchronous replica that has all rows of this replicated table.
   * @param timestamp at which sorted rows are read; absent: the newest
   * @throws YtError 1736 when there is none
   */
  readTarget(timestamp?: bigint): DynamicTable;
  /** Another object whenever a tablet has come, gone or changed its state. */
  readonly layout: object;
  /** Row counts (0 in a sorted table) and timestamps of a mounted or frozen tablet. @throws YtError 1701, 1702 */
  tabletInfo(index: number): TabletInfo;
  /** For rows that were read by this schema. @throws YtError 1704 when the table has been altered since */
  requireSchema(schema: TableSchema): void;

  /** @param columns those that are read, or all of them. @throws YtError 901 */
  check(user: string, permission: "read" | "write" | "mount", columns?: readonly string[] | "all"): void;

  /** Before rows are added. @throws YtError 902 when the table's account has no disk space left */
  requireRoom(): void;

  // Ordered tables

  /** Changes whenever the tablets change, or the set of those that take writes. 0 for a sorted table. */
  readonly layoutRevision: bigint;
  /** @throws YtError 1704 unless the layout has this revision; 1 for a sorted table */
  requireLayout(revision: bigint): void;
  /** Indexes of the tablets that take writes. @throws YtError 1702 `Table //t has no mounted tablets` */
  writableTabletIndexes(): readonly number[];
  /** @throws YtError 1701 for a wrong index, 1702 when it is not mounted */
  writableTablet(index: number): OrderedTablet;
  /** Mounted and frozen ones. @throws YtError 1701, 1702 */
  readableTablet(index: number): OrderedTablet;
  /** System columns of single rows that exist, in order. @throws YtError 1701, 1702 */
  rowInfos(tabletIndex: number, fromRow: number, toRow: number): readonly RowInfo[];

  // Sorted tables

  /** Rows of a sorted table. @throws AssertionError for an ordered one */
  readonly rows: SortedRows;
  /**
   * Gives the id of the tablet of the key.
   * @throws YtError 1702 when it does not take writes
   */
  requireWritableKey(key: Buffer): string;
  /** Counts what one commit writes to the tablets. */
  countChanges(): FigureChanges;
  /** Writes down what the tablets have with these changes, right before the batch is committed. */
  prepareFigures(batch: WriteBatch, changes: FigureChanges, commitTimestamp: bigint): Prepared;
  /** While the layout is the same. @throws YtError 1702 when one of them does not take writes any more */
  requireWritableTablets(tabletIds: ReadonlySet<string>): void;
  /** @throws YtError 1702 when the tablet of the key does not take reads */
  requireReadableKey(key: Buffer): void;
  tabletIdOf(key: Buffer): string;
  /** From cells in the order of the write schema to all columns: computed key columns are evaluated. */
  completeRow(row: readonly (RowValue | undefined)[]): readonly (RowValue | undefined)[];
  /** From values in the order of the key schema to a whole key. */
  completeKey(key: readonly (RowValue | undefined)[]): readonly RowValue[];
}

export interface RowInfo {
  readonly rowIndex: number;
  readonly timestamp?: bigint;
  readonly cumulativeDataWeight?: bigint;
}

export type { EncodedRows };
