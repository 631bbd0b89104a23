/**
 * Boundaries of exports: Unix times divisible by the period. A table with the export time T holds chunks whose
 * newest second lies in [T − period, T).
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (GetExportUnixTsRange). All times are whole seconds
 * of Unix time.
 */
import { timestampSeconds } from "@qyt/schema";

/** The latest boundary not after the moment. @param unixMs Unix milliseconds */
export function boundaryAt(unixMs: number, periodSeconds: number): number {
  return Math.floor(Math.floor(unixMs / 1_000) / periodSeconds) * periodSeconds;
}

/** The first boundary strictly after the second. */
export function boundaryAfter(unixSeconds: number, periodSeconds: number): number {
  return (Math.floor(unixSeconds / periodSeconds) + 1) * periodSeconds;
}

/**
 * The first export time of a chunk with this maximal timestamp. A chunk whose newest second is a boundary goes
 * into the table of the next one: more rows of that second may still come.
 */
export function minExportTime(maxTimestamp: bigint, periodSeconds: number): number {
  return boundaryAfter(timestampSeconds(maxTimestamp), periodSeconds);
}
