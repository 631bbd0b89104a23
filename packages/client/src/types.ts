/** What the typed commands take and give. */
import type { YsonMap, YsonValue } from "@qyt/base";

/** A path: text, possibly rich (`<cluster=freud>//tmp/q`), or a YSON string with attributes. */
export type PathInput = YsonValue;

/** Options every command takes. */
export interface CommandOptions {
  readonly signal?: AbortSignal;
  /** How long one attempt may take, in milliseconds. */
  readonly timeoutMs?: number;
  /** How long all attempts together may take, in milliseconds, pauses included. Default: no limit. */
  readonly totalTimeoutMs?: number;
  /** How often it is sent at most. Default: what the client's retry policy says. */
  readonly attempts?: number;
}

export interface TransactionalOptions extends CommandOptions {
  readonly transactionId?: string;
}

/** Attributes to create with: a map of values, or plain data. */
export type Attributes = YsonMap | Readonly<Record<string, unknown>>;

export type Parameters = Readonly<Record<string, YsonValue | undefined>>;

export interface PullOptions extends CommandOptions {
  readonly maxRowCount?: bigint;
  /** In bytes of data weight. */
  readonly maxDataWeight?: bigint;
  readonly replicaConsistency?: "none" | "sync";
  /**
   * How long to wait for a row when there is none, in milliseconds. qyt waits itself; a YTsaurus proxy, which
   * does not, is asked again, with pauses from 20 ms to 1 s.
   */
  readonly waitTimeoutMs?: number;
}

/** What a pull answers. */
export interface PulledPortion {
  readonly rows: Record<string, unknown>[];
  /** Index of the first row, or the asked offset when there is none; absent when the proxy does not tell. */
  readonly startOffset: bigint | undefined;
  /** How many rows from the asked offset on are trimmed, told by qyt. */
  readonly skippedRowCount: bigint;
  /** Of the queue's partitions, told by qyt: for `layoutRevision` of writes that choose partitions. */
  readonly layoutRevision: bigint | undefined;
}

export interface LayoutOptions {
  /**
   * The revision of the queue's partitions that the rows were routed by (`@tablet_layout_revision`). When it
   * is another one by then, the request is refused with error 1704 and nothing is written. qyt only.
   */
  readonly layoutRevision?: bigint | undefined;
}

export interface Registration {
  readonly queue: { readonly cluster: string; readonly path: string };
  readonly consumer: { readonly cluster: string; readonly path: string };
  readonly vital: boolean;
  readonly partitions: readonly bigint[] | null;
}

export interface ProducerSession {
  readonly epoch: bigint;
  readonly sequenceNumber: bigint;
  readonly userMeta: YsonValue;
}
