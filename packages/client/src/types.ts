/** What the typed commands take and give. */
import type { YsonValue } from "@qyt/base";

/** A path: text, possibly rich (`<cluster=freud>//tmp/q`), or a YSON string with attributes. */
export type PathInput = YsonValue;

/** Options every command takes. */
export interface CommandOptions {
  readonly signal?: AbortSignal;
  /** How long one attempt may take, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface TransactionalOptions extends CommandOptions {
  readonly transactionId?: string;
}

export type Parameters = Readonly<Record<string, YsonValue | undefined>>;

export interface PullOptions extends CommandOptions {
  readonly maxRowCount?: bigint;
  /** In bytes of data weight. */
  readonly maxDataWeight?: bigint;
  readonly replicaConsistency?: "none" | "sync";
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
