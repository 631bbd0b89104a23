/**
 * Flow's times: seconds, with 0 as «undefined» and 2^64 − 1 as «infinity».
 * Specified in: yt/yt/flow/library/cpp/common/public.h (`TSystemTimestamp`), time_provider.cpp.
 */
import { Uint64, type YsonValue, YtError } from "@qyt/base";
import type { FlowTimestamp, UniqueSeqNo } from "./message.ts";

const infiniteOnTheWire = (1n << 64n) - 1n;
/** A cluster timestamp holds its seconds above this many bits. */
const counterBits = 30n;

/** «Not set»; as a watermark: nothing is promised. */
export const undefinedTimestamp = stamp(0);
/** No more will come. */
export const infiniteTimestamp = stamp(Number.POSITIVE_INFINITY);

/** A time from whole seconds since the epoch. Parts of a second are cut off. */
export function flowTimestamp(seconds: number): FlowTimestamp {
  return stamp(Math.max(0, Math.floor(seconds)));
}

/** The seconds of a cluster timestamp: «now» of the epoch that it was generated for. */
export function timestampOfSeqNo(seqNo: UniqueSeqNo): FlowTimestamp {
  return stamp(Number(seqNo >> counterBits));
}

/** The seconds of a `$timestamp` value. */
export function timestampOfWrite(clusterTimestamp: bigint): FlowTimestamp {
  return stamp(Number(clusterTimestamp >> counterBits));
}

export function minTimestamp(left: FlowTimestamp, right: FlowTimestamp): FlowTimestamp {
  return left < right ? left : right;
}

export function maxTimestamp(left: FlowTimestamp, right: FlowTimestamp): FlowTimestamp {
  return left > right ? left : right;
}

/** `left − seconds`, not below 0: `TSystemTimestamp` saturates. Infinity stays. */
export function minusSeconds(left: FlowTimestamp, seconds: number): FlowTimestamp {
  return stamp(Math.max(0, left - seconds));
}

/** As a table cell and in YSON: uint64. */
export function timestampToUint64(timestamp: FlowTimestamp): Uint64 {
  return new Uint64(timestamp === infiniteTimestamp ? infiniteOnTheWire : BigInt(timestamp));
}

/**
 * A time from YSON; integers may be signed or unsigned.
 * @throws YtError 1 when it is no integer, or negative
 */
export function timestampFromYson(value: YsonValue): FlowTimestamp {
  const integer = value instanceof Uint64 ? value.value : value;
  if (typeof integer !== "bigint" || integer < 0n) {
    throw new YtError(`A timestamp must be a number of seconds since the epoch, got ${String(value)}`);
  }
  return integer > BigInt(Number.MAX_SAFE_INTEGER) ? infiniteTimestamp : stamp(Number(integer));
}

function stamp(seconds: number): FlowTimestamp {
  return seconds as FlowTimestamp;
}
