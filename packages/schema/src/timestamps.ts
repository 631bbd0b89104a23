/**
 * Cluster timestamps: whole seconds of Unix time in bits 30–61, a counter inside the second in bits 0–29.
 * Specified in: yt/yt/client/transaction_client/public.h, helpers.cpp.
 */

/** A cluster timestamp, uint64. Always above 2^53 for present times, hence never a number. */
export type Timestamp = bigint;

const counterBits = 30n;
const counterMask = (1n << counterBits) - 1n;

/** Number of timestamps in one second. */
export const timestampsPerSecond = 1n << counterBits;

export const nullTimestamp: Timestamp = 0n;
export const minTimestamp: Timestamp = 1n;
export const maxTimestamp: Timestamp = 0x3fff_ffff_ffff_ff00n;
/** Reads the latest committed data. The default of reads. */
export const syncLastCommittedTimestamp: Timestamp = 0x3fff_ffff_ffff_ff01n;
export const uncommittedTimestamp: Timestamp = 0x3fff_ffff_ffff_ff02n;
export const allCommittedTimestamp: Timestamp = 0x3fff_ffff_ffff_ff03n;
export const asyncLastCommittedTimestamp: Timestamp = 0x3fff_ffff_ffff_ff04n;
export const notPreparedTimestamp: Timestamp = 0x3fff_ffff_ffff_ffffn;

/** The Unix time of a timestamp, in whole seconds. */
export function timestampSeconds(timestamp: Timestamp): number {
  return Number(timestamp >> counterBits);
}

/** The counter inside the second. */
export function timestampCounter(timestamp: Timestamp): number {
  return Number(timestamp & counterMask);
}

/** The first timestamp of a second of Unix time; a fraction of the second is dropped. */
export function timestampFromSeconds(seconds: number): Timestamp {
  return BigInt(Math.floor(seconds)) << counterBits;
}

/** The first timestamp of the second that a Unix time in milliseconds lies in. */
export function timestampFromMs(unixMs: number): Timestamp {
  return timestampFromSeconds(unixMs / 1000);
}

/** Whether the value names a moment, not one of the sentinels above `maxTimestamp` or null. */
export function isOrdinaryTimestamp(timestamp: Timestamp): boolean {
  return timestamp >= minTimestamp && timestamp <= maxTimestamp;
}

/** The second of a timestamp in the form instants have in attributes: `2025-01-23T13:57:40.000000Z`. */
export function timestampToIso(timestamp: Timestamp): string {
  const iso = new Date(timestampSeconds(timestamp) * 1000).toISOString();
  return `${iso.slice(0, 19)}.000000Z`;
}
