/**
 * What makes a message valid.
 * Specified in: yt/yt/flow/library/cpp/common/message.cpp (`ValidateMessage`).
 */
import { limits, YtError } from "@qyt/base";
import { rowValuesWeight } from "@qyt/schema";
import type { FlowTimestamp, Message, MessageMeta } from "./message.ts";
import { infiniteTimestamp, undefinedTimestamp } from "./timestamps.ts";

/** Times from here on are a mistake of units (milliseconds, say) and not a time. In seconds: the year 9999. */
const largestReasonableTimestamp = 253_402_300_800;
/** Of one message, in bytes: the largest string value. */
const maxMessageSize = limits.maxStringValueBytes;

/** @throws YtError 1 naming the field */
export function checkMessageMeta(meta: MessageMeta): void {
  if (meta.messageId === "") {
    throw new YtError("MessageId is empty");
  }
  checkTimestamp("SystemTimestamp", meta.systemTimestamp);
  checkTimestamp("EventTimestamp", meta.eventTimestamp);
  checkTimestamp("AlignmentTimestamp", meta.alignmentTimestamp);
}

/** @throws YtError 1 when the payload is larger than a string value may be */
export function checkMessageSize(message: Message): void {
  const size = rowValuesWeight(message.payload);
  if (size > maxMessageSize) {
    throw new YtError(`Message is too big: size ${size}, limit ${maxMessageSize}`);
  }
}

/** @throws YtError 1 */
export function checkTimestamp(name: string, value: FlowTimestamp): void {
  if (value === undefinedTimestamp) {
    throw new YtError(`${name} is undefined`);
  }
  if (value === infiniteTimestamp) {
    throw new YtError(`${name} is infinity`);
  }
  if (value >= largestReasonableTimestamp) {
    throw new YtError(`${name} is too large: ${value} seconds; are these milliseconds?`);
  }
}
