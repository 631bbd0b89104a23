/**
 * Reading attribute values of the types that built-in attributes have, and writing times.
 * Specified in: yt/yt/core/ytree/convert.h (what converts to what).
 */
import { bare, Uint64, type YsonValue, YtError } from "@qyt/base";

function mismatch(expected: string): YtError {
  return new YtError(`Cannot parse value: expected ${expected}`);
}

/** A boolean, also as the strings "true" and "false". */
export function parseBoolean(value: YsonValue): boolean {
  const plain = bare(value);
  if (plain === true || plain === "true") {
    return true;
  }
  if (plain === false || plain === "false") {
    return false;
  }
  throw mismatch('"boolean"');
}

export function parseString(value: YsonValue): string {
  const plain = bare(value);
  if (typeof plain !== "string") {
    throw mismatch('"string"');
  }
  return plain;
}

/** An integer; doubles that are whole are accepted, as JSON clients send them. */
export function parseInteger(value: YsonValue): bigint {
  const plain = bare(value);
  if (typeof plain === "bigint") {
    return plain;
  }
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain === "number" && Number.isSafeInteger(plain)) {
    return BigInt(plain);
  }
  throw mismatch('"int64"');
}

/** A non-negative number of milliseconds. */
export function parseDurationMs(value: YsonValue): number {
  const parsed = parseInteger(value);
  if (parsed < 0n || parsed > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new YtError(`Duration must be a non-negative number of milliseconds, got ${parsed}`);
  }
  return Number(parsed);
}

const isoPattern = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * An instant: ISO text, with or without fraction, or integer milliseconds since the epoch.
 * @returns microseconds since the epoch
 */
export function parseTimeUs(value: YsonValue): number {
  const plain = bare(value);
  if (typeof plain !== "string") {
    return parseDurationMs(value) * 1000;
  }
  const match = isoPattern.exec(plain);
  if (match === null) {
    throw new YtError(`Error parsing instant "${plain}"`);
  }
  const [, date, time = "00:00:00", fraction = "", zone = "Z"] = match;
  const ms = Date.parse(`${date}T${time}${zone}`);
  if (!Number.isFinite(ms)) {
    throw new YtError(`Error parsing instant "${plain}"`);
  }
  return ms * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** `2013-12-06T19:00:48.256444Z` */
export function formatTimeUs(timeUs: number): string {
  const ms = Math.floor(timeUs / 1000);
  const us = timeUs - ms * 1000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(us).padStart(3, "0")}Z`;
}
