/**
 * When a swift source has published its units: after a restart they get the same system time again. Units are
 * published in the order of their ids, so one entry stands for all from its id on.
 * Specified in: yt/yt/flow/library/cpp/computation/swift_ordered_source_computation.cpp.
 */
import { isList, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import type { FlowTimestamp, MessageId } from "../model/message.ts";
import { messageId } from "../model/message-ids.ts";
import { timestampFromYson, timestampToUint64 } from "../model/timestamps.ts";

interface Entry {
  readonly from: MessageId;
  readonly timestamp: FlowTimestamp;
}

export class TimestampMemory {
  #entries: Entry[];
  #lastId: MessageId;
  #isChanged = false;

  constructor(state: YsonMap | undefined) {
    const entries = state?.get("entries");
    this.#entries = isList(entries) ? entries.flatMap(entryFromYson) : [];
    this.#lastId = messageId(String(state?.get("last_id") ?? ""));
  }

  /** Whether the unit of this id was published by a former job, or by this one. */
  has(id: MessageId): boolean {
    return id <= this.#lastId;
  }

  /** The time of a unit's publication: as it was, or now. Units are published in the order of their ids. */
  publish(id: MessageId, now: FlowTimestamp): FlowTimestamp {
    if (this.has(id)) {
      for (let index = this.#entries.length - 1; index >= 0; --index) {
        const entry = this.#entries[index];
        if (entry !== undefined && entry.from <= id) {
          return entry.timestamp;
        }
      }
      return now;
    }
    if (this.#entries.at(-1)?.timestamp !== now) {
      this.#entries.push({ from: id, timestamp: now });
    }
    this.#lastId = id;
    this.#isChanged = true;
    return now;
  }

  /** Forgets what lies before the first unit under way; with none, everything but the last id. */
  prune(firstInflight: MessageId | undefined): void {
    const kept =
      firstInflight === undefined
        ? []
        : this.#entries.filter((_, index) => {
            const next = this.#entries[index + 1];
            return next === undefined || next.from > firstInflight;
          });
    if (kept.length !== this.#entries.length) {
      this.#entries = kept;
      this.#isChanged = true;
    }
  }

  /** The state to store, or `undefined` when it has not changed since. */
  takeState(): YsonMap | undefined {
    if (!this.#isChanged) {
      return undefined;
    }
    this.#isChanged = false;
    return mapOf({
      entries: this.#entries.map(({ from, timestamp }) => [from, timestampToUint64(timestamp)]),
      last_id: this.#lastId,
    });
  }
}

function entryFromYson(value: YsonValue): Entry[] {
  const [from, timestamp] = isList(value) ? value : [];
  return typeof from === "string" && timestamp !== undefined
    ? [{ from: messageId(from), timestamp: timestampFromYson(timestamp) }]
    : [];
}
