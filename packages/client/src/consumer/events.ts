/** What a consumer tells besides rows. */
import type { YtError } from "@qyt/base";

interface OfPartition {
  /** Path of the queue, as the cluster has it. */
  readonly queue: string;
  readonly cluster: string;
  readonly partition: number;
}

/** It reads this partition from now on, from this offset. */
export interface AssignedEvent extends OfPartition {
  readonly type: "assigned";
  readonly offset: bigint;
}

/** It reads this partition no more: given back, taken over by another member, or gone from the queue. */
export interface RevokedEvent extends OfPartition {
  readonly type: "revoked";
  readonly reason: "given back" | "taken over" | "gone";
}

/** Rows `from` … `to` − 1 were trimmed before they were read. */
export interface SkippedEvent extends OfPartition {
  readonly type: "skipped";
  readonly from: bigint;
  readonly to: bigint;
}

/** Somebody else moved the stored offset, a seek for instance; reading goes on at `to`. */
export interface MovedEvent extends OfPartition {
  readonly type: "moved";
  readonly from: bigint;
  readonly to: bigint;
}

/** Handling failed and is tried again. `attempts` counts those of the row at `offset` alone. */
export interface RetriedEvent extends OfPartition {
  readonly type: "retried";
  readonly offset: bigint;
  readonly attempts: number;
  readonly error: YtError;
}

/** The row at `offset` went to the dead-letter queue. */
export interface DeadLetteredEvent extends OfPartition {
  readonly type: "dead lettered";
  readonly offset: bigint;
  readonly attempts: number;
  readonly error: string;
}

/** A batch has been with its handler for longer than `maxHandlerMs`: other members may take the partition. */
export interface StalledEvent extends OfPartition {
  readonly type: "stalled";
  readonly offset: bigint;
}

/** Something failed that is tried again by itself. */
export interface FailedEvent {
  readonly type: "failed";
  readonly what: string;
  readonly error: YtError;
}

export type ConsumerEvent =
  | AssignedEvent
  | RevokedEvent
  | SkippedEvent
  | MovedEvent
  | RetriedEvent
  | DeadLetteredEvent
  | StalledEvent
  | FailedEvent;
