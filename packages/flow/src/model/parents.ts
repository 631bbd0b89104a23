/** What outputs descend from: messages, timers and visits with the times they pass on. */
import type { Message, Timer, Visit } from "./message.ts";
import type { Parent } from "./meta-setters.ts";
import { undefinedTimestamp } from "./timestamps.ts";

/** A message, a timer or a visit as a parent. Messages are parents as they are. */
export function parentOf(item: Message | Timer | Visit): Parent {
  if ("alignmentTimestamp" in item) {
    return item;
  }
  return {
    messageId: item.messageId,
    streamId: item.streamId,
    systemTimestamp: item.systemTimestamp,
    eventTimestamp: "eventTimestamp" in item ? item.eventTimestamp : undefinedTimestamp,
    alignmentTimestamp: item.systemTimestamp,
  };
}
