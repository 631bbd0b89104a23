/** Instants and durations as statuses show them: ISO-8601 with microseconds in UTC, and whole milliseconds. */
import { timestampSeconds } from "@qyt/schema";

/** `2025-01-23T13:57:40.123000Z`. @param unixMs Unix milliseconds */
export function instantFromMs(unixMs: number): string {
  return new Date(Math.trunc(unixMs)).toISOString().replace("Z", "000Z");
}

/** The Unix milliseconds of a cluster timestamp's second; 0 is the epoch. */
export function timestampToMs(timestamp: bigint): number {
  return timestampSeconds(timestamp) * 1000;
}

/** Milliseconds from then to now, never negative: the second of a timestamp may lie ahead of this clock. */
export function durationSince(thenMs: number, nowMs: number): bigint {
  return BigInt(Math.max(0, Math.trunc(nowMs - thenMs)));
}
