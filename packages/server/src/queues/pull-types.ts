/** What pulls take and give. */
import type { DataFormat, RichPath } from "@qyt/yson";

export interface PullLimits {
  readonly partitionIndex: number;
  readonly maxRowCount: bigint;
  readonly maxDataWeight: bigint;
  readonly dataWeightPerRowHint: bigint | undefined;
  readonly replicaConsistency: "none" | "sync";
  /** How long to wait for a row when there is none, in milliseconds; 0: not at all. */
  readonly waitTimeoutMs: number;
}

/** What is told about a portion beside its rows. */
export interface PullSummary {
  /** Index of the first row returned, or the asked offset when there is none. */
  readonly startOffset: bigint;
  /** How many rows from the asked offset on are gone, trimmed. */
  readonly skippedRowCount: bigint;
  /** Of the queue's tablets when reading began; absent when its cluster does not tell. */
  readonly layoutRevision: bigint | undefined;
}

export interface PullResult {
  readonly chunks: AsyncIterable<Buffer>;
  /** Known once reading began. */
  readonly summary: () => PullSummary;
}

export type PullQueueParameters = PullLimits & {
  readonly queuePath: RichPath;
  /** The consumer that a trusted cluster pulls for. */
  readonly consumerPath?: RichPath | undefined;
  readonly offset: bigint;
  readonly format: DataFormat;
};

export type PullQueueConsumerParameters = PullLimits & {
  readonly consumerPath: RichPath;
  readonly queuePath: RichPath;
  /** Absent: the stored offset of the consumer. */
  readonly offset: bigint | undefined;
  readonly format: DataFormat;
};

export interface PullStart {
  readonly offset: bigint;
  /** Asked again after a wait, which may last an hour. @throws YtError 901 */
  readonly mayRead: () => void | Promise<void>;
}
