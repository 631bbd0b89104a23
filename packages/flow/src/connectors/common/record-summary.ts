/**
 * What a source keeps of all records together: how large they are on average, and the watermarks and bounds that
 * they have given.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/ordered_source_base.cpp.
 */
import { Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { rowValuesWeight } from "@qyt/schema";
import type { FlowTimestamp, Payload, StreamId } from "../../model/message.ts";
import { orderedMessageId } from "../../model/message-ids.ts";
import { maxTimestamp, timestampFromYson, timestampToUint64 } from "../../model/timestamps.ts";
import type { InflightRecord } from "./offset-tracker.ts";

/** One offset as it was read. */
export interface SourceRecord {
  readonly offset: bigint;
  /** None for a record that only tells something, such as a heartbeat. */
  readonly payloads: readonly Payload[];
  readonly writeTimestamp: FlowTimestamp;
  /** Told by the record itself; otherwise the write time. */
  readonly eventTimestamp: FlowTimestamp | undefined;
  /** Seconds to add to `eventTimestamp`, by payload. */
  readonly eventTimestampDeltas: readonly number[];
  /** A promise about the records behind. */
  readonly eventWatermark: FlowTimestamp | undefined;
}

export class RecordSummary {
  readonly #streamId: StreamId;
  readonly #alpha: number;
  #count = 1;
  #bytes = 1;
  #lastPersistedWrite: FlowTimestamp | undefined;
  #persistedWatermark: FlowTimestamp | undefined;
  #readWatermark: FlowTimestamp | undefined;
  /** Above the ids of all messages that are persisted. */
  #persistedIdBound = "";

  /** @param alpha how much of each estimate comes from the newest record, in (0, 1] */
  constructor(streamId: StreamId, alpha: number) {
    this.#streamId = streamId;
    this.#alpha = alpha;
  }

  /** Of one offset: messages, and bytes of all of them. */
  get averages(): { readonly count: number; readonly bytes: number } {
    return { count: this.#count, bytes: this.#bytes };
  }

  /** The largest of the persisted prefix. */
  get persistedWatermark(): FlowTimestamp | undefined {
    return this.#persistedWatermark;
  }

  /** The largest of everything read. */
  get readWatermark(): FlowTimestamp | undefined {
    return this.#readWatermark ?? this.#persistedWatermark;
  }

  get persistedIdBound(): string {
    return this.#persistedIdBound;
  }

  read({ payloads, eventWatermark }: SourceRecord): void {
    const size = payloads.reduce((sum, payload) => sum + rowValuesWeight(payload), 0);
    this.#bytes = this.#bytes * (1 - this.#alpha) + this.#alpha * size;
    this.#count = this.#count * (1 - this.#alpha) + this.#alpha * payloads.length;
    this.#readWatermark = later(this.readWatermark, eventWatermark);
  }

  persisted({ seqNo, offset, writeTimestamp, eventWatermark }: InflightRecord): void {
    this.#lastPersistedWrite = writeTimestamp;
    this.#persistedIdBound = orderedMessageId(seqNo, this.#streamId, offset + 1n);
    this.#persistedWatermark = later(this.#persistedWatermark, eventWatermark);
  }

  save(state: Map<string, YsonValue>): void {
    setTimestamp(state, "last_persisted_write_timestamp", this.#lastPersistedWrite);
    setTimestamp(state, "persisted_event_watermark", this.#persistedWatermark);
    state.set("persisted_message_id_exclusive", this.#persistedIdBound);
    state.set("avg_offset_count_size", this.#count);
    state.set("avg_offset_byte_size", this.#bytes);
  }

  load(state: YsonMap): void {
    this.#lastPersistedWrite = timestampIn(state, "last_persisted_write_timestamp");
    this.#persistedWatermark = timestampIn(state, "persisted_event_watermark");
    const bound = state.get("persisted_message_id_exclusive");
    this.#persistedIdBound = typeof bound === "string" ? bound : "";
    this.#count = doubleIn(state, "avg_offset_count_size") ?? 1;
    this.#bytes = doubleIn(state, "avg_offset_byte_size") ?? 1;
  }
}

/** Sets the field when there is a time. */
export function setTimestamp(
  state: Map<string, YsonValue>,
  name: string,
  timestamp: FlowTimestamp | undefined,
): void {
  if (timestamp !== undefined) {
    state.set(name, timestampToUint64(timestamp));
  }
}

function later(left: FlowTimestamp | undefined, right: FlowTimestamp | undefined): FlowTimestamp | undefined {
  return left === undefined || right === undefined ? (left ?? right) : maxTimestamp(left, right);
}

function timestampIn(state: YsonMap, name: string): FlowTimestamp | undefined {
  const value = state.get(name);
  return value instanceof Uint64 || typeof value === "bigint" ? timestampFromYson(value) : undefined;
}

function doubleIn(state: YsonMap, name: string): number | undefined {
  const value = state.get(name);
  return typeof value === "number" ? value : undefined;
}
