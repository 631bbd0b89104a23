/**
 * What flows through a pipeline: messages, keys, timers and visits, with their timestamps.
 * Specified in: yt/yt/flow/library/cpp/common/message.cpp, public.h; documentation "Flow", glossary.
 */
import type { RowValue, TableSchema } from "@qyt/schema";

/**
 * A time of Flow: whole seconds since the Unix epoch (`TSystemTimestamp`). `undefinedTimestamp` (0) means
 * «undefined», and as a watermark «nothing is promised»; `infiniteTimestamp` stands for 2^64 − 1.
 */
export type FlowTimestamp = number & { readonly flowTimestamp: unique symbol };

/** A fresh cluster timestamp: a prefix of message ids, and «now». Always unique in its cluster. */
export type UniqueSeqNo = bigint & { readonly uniqueSeqNo: unique symbol };

/** Compared as bytes; all ids are ASCII, so `<` on strings compares them too. */
export type MessageId = string & { readonly messageId: unique symbol };

export type StreamId = string;
export type ComputationId = string;
export type PartitionId = string;
export type JobId = string;

/** Values in the order of a stream's schema. */
export type Payload = readonly RowValue[];

/** Values of `group_by_schema`, or the source key of a partition of a source. */
export type Key = readonly RowValue[];

/** What a message is besides its payload. */
export interface MessageMeta {
  readonly messageId: MessageId;
  readonly streamId: StreamId;
  readonly systemTimestamp: FlowTimestamp;
  readonly eventTimestamp: FlowTimestamp;
  readonly alignmentTimestamp: FlowTimestamp;
}

export interface Message extends MessageMeta {
  readonly payload: Payload;
}

/** A message at its receiver, with the key its computation groups by. */
export interface KeyedMessage {
  readonly message: Message;
  readonly key: Key;
}

export interface Timer {
  readonly messageId: MessageId;
  readonly streamId: StreamId;
  readonly key: Key;
  readonly systemTimestamp: FlowTimestamp;
  readonly eventTimestamp: FlowTimestamp;
  readonly triggerTimestamp: FlowTimestamp;
}

/** A visit of a key by a key visitor. */
export interface Visit {
  readonly messageId: MessageId;
  readonly streamId: StreamId;
  readonly key: Key;
  readonly systemTimestamp: FlowTimestamp;
}

/** A stream and the shape of its payloads. */
export interface StreamSchema {
  readonly streamId: StreamId;
  readonly schema: TableSchema;
}

/** `[lower, upper)` of the first key column's values; `upper` undefined means up to the end. */
export interface KeyRange {
  readonly lower: bigint;
  readonly upper: bigint | undefined;
}
