/**
 * Printing of a time by a format of C's `strftime`, in the C locale.
 *
 * Specified in: yt/yt/library/query/engine/udf/dates.cpp (format_timestamp).
 */
import { YtError } from "@qyt/base";
import { strftime } from "@qyt/schema";

/** A result longer than this is refused, as upstream's buffer does. */
const maxLength = 1024;

/**
 * @param seconds Unix time
 * @param offset seconds that the zone's clock is ahead of UTC
 * @throws YtError when the result is too long
 */
export function formatTime(seconds: number, format: string, offset: number, zone: string): string {
  const result = strftime(format, { seconds, offset, zone });
  if (result.length > maxLength) {
    throw new YtError("Format string is too long");
  }
  return result;
}
