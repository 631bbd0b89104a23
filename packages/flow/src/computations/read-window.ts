/** How far a source may read ahead of what is processed. */
import { durationOfText, type YsonMap } from "@qyt/base";

const defaultReadWindowMs = 600_000;

/** `max_read_window` in milliseconds. */
export function readWindowOf(parameters: YsonMap): number {
  const value = parameters.get("max_read_window");
  if (typeof value === "string") {
    return durationOfText(value) ?? defaultReadWindowMs;
  }
  return typeof value === "bigint" || typeof value === "number" ? Number(value) : defaultReadWindowMs;
}
