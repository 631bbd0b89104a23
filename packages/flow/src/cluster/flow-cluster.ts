/**
 * The clusters as a pipeline sees them: the few operations of the public API that Flow needs. The one over
 * `@qyt/client` is `client-cluster.ts`; the simulation has one in memory.
 *
 * Rows cross this port as rowsets: column names once, then values by position, so that whole batches are
 * written and read without an object for each row.
 */
import type { YsonMap, YsonValue } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { UniqueSeqNo } from "../model/message.ts";

/** Rows with the same columns. A value by position; a missing one is `null`. */
export interface Rowset {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly RowValue[])[];
}

/** A path on a known cluster. */
export interface ClusterPath {
  readonly cluster: string;
  readonly path: string;
  /** Of a consumer that shares its table with others. */
  readonly queueConsumerName?: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** In milliseconds. */
  readonly timeoutMs?: number;
}

export interface LookupOptions extends CallOptions {
  /** The columns to answer, in this order. */
  readonly columns: readonly string[];
  /** Reads the last committed rows rather than those of a transaction's start. */
  readonly timestamp?: "sync_last_committed";
}

/** A key range of a sorted table: rows whose first key columns equal `prefix`, after `after` if given. */
export interface RangeOptions extends CallOptions {
  readonly columns: readonly string[];
  /** Names and values of the first key columns. */
  readonly prefix: readonly (readonly [column: string, value: RowValue])[];
  /** The next key column and the value to go on behind (exclusive) or from (inclusive). */
  readonly from?: { readonly column: string; readonly value: RowValue; readonly isInclusive: boolean };
  readonly limit?: number;
}

export interface PullLimits {
  readonly maxRowCount: bigint;
  /** In bytes of data weight. */
  readonly maxDataWeight: bigint;
}

/** What a pull answers. */
export interface PulledRows {
  /** As queries see the queue: `$tablet_index`, `$row_index`, then its own columns, `$timestamp` among them where it has it. */
  readonly schema: TableSchema;
  /** Values in the order of the schema's columns. */
  readonly rows: readonly (readonly RowValue[])[];
}

export interface TabletInfo {
  readonly totalRowCount: bigint;
  readonly trimmedRowCount: bigint;
}

export interface ProducerSessionInfo {
  readonly epoch: bigint;
  /** The last sequence number that is stored; −1 when there is none. */
  readonly sequenceNumber: bigint;
}

/** Reads and writes of one tablet transaction. Writes are buffered until `commit`. */
export interface FlowTransaction {
  readonly cluster: string;
  /** A fresh cluster timestamp that no other transaction has: written to `partition_transactions`. */
  readonly startTimestamp: UniqueSeqNo;
  /** Reads at the start of the transaction. A key without a row gives `null`. */
  lookupRows(path: string, keys: Rowset, options: LookupOptions): Promise<(readonly RowValue[] | null)[]>;
  /** Sorted tables: rows are merged over by key (`update`: columns not named stay). Queues: rows are appended. */
  insertRows(path: string, rows: Rowset, options?: { readonly update?: boolean }): void;
  deleteRows(path: string, keys: Rowset): void;
  /** @throws YtError 1700 on a conflict, 105/100-family when the outcome is not known */
  commit(options?: CallOptions): Promise<void>;
  abort(): Promise<void>;
  /** Whether something is to be written. */
  readonly isEmpty: boolean;
}

export interface FlowCluster {
  readonly name: string;
  generateTimestamp(options?: CallOptions): Promise<UniqueSeqNo>;
  startTransaction(options?: CallOptions): Promise<FlowTransaction>;
  lookupRows(path: string, keys: Rowset, options: LookupOptions): Promise<(readonly RowValue[] | null)[]>;
  /** Rows of a sorted table in key order. */
  selectRange(path: string, options: RangeOptions): Promise<(readonly RowValue[])[]>;
  /** A node's value, with the attributes asked for, e.g. `get("//q/@tablet_count")`. */
  get(path: string, options?: CallOptions & { readonly attributes?: readonly string[] }): Promise<YsonValue>;
  set(path: string, value: YsonValue, options?: CallOptions): Promise<void>;
  getTabletInfo(path: string, tabletIndex: number, options?: CallOptions): Promise<TabletInfo>;
  /** @throws YtError as `pull_queue_consumer` does */
  pullQueueConsumer(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    offset: bigint,
    limits: PullLimits,
    options?: CallOptions,
  ): Promise<PulledRows>;
  /** The consumer's stored offset (`NextRowIndex`); `undefined` when it has no row. */
  consumerOffset(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    options?: CallOptions,
  ): Promise<bigint | undefined>;
  /** In a transaction of its own. @throws YtError 3105-family when `oldOffset` is not the stored one */
  advanceConsumer(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    offsets: { readonly oldOffset: bigint | null; readonly newOffset: bigint },
    options?: CallOptions,
  ): Promise<void>;
  createProducerSession(
    producer: string,
    queue: string,
    sessionId: string,
    options?: CallOptions,
  ): Promise<ProducerSessionInfo>;
  /** Rows carry `$sequence_number`. In a tablet transaction of its own. */
  pushQueueProducer(
    producer: string,
    queue: string,
    sessionId: string,
    epoch: bigint,
    rows: Rowset,
    options: CallOptions & { readonly requireSyncReplica: boolean },
  ): Promise<{ readonly lastSequenceNumber: bigint; readonly skippedRowCount: bigint }>;
}

/** The clusters by name. @throws YtError when there is no cluster of that name */
export interface ClusterDirectory {
  cluster(name: string): FlowCluster;
}

/** A structured value of a table cell of type `any`. */
export type StateValue = YsonMap;
