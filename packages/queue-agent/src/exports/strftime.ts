/** `strftime` in UTC, as upstream calls it by TInstant::FormatGmTime (util/datetime/base.h). */
import { strftime as zonedStrftime } from "@qyt/schema";

/** Replaces the directives of the pattern; what is none stays as it is. */
export function strftime(pattern: string, time: Date): string {
  const seconds = Math.floor(time.getTime() / 1_000);
  return zonedStrftime(pattern, { seconds, offset: 0, zone: "GMT" }, { modifiers: true });
}
