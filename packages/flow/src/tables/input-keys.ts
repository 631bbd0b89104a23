/**
 * Rows by which a computation knows the messages it has processed.
 * Specified in: yt/yt/flow/library/cpp/tables/compact_input_messages.cpp, input_messages.cpp.
 */
import { Uint64 } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "@qyt/schema";
import { bytesToString, writeYson, type YsonValue } from "@qyt/yson";
import type { ComputationId, Key, MessageId } from "../model/message.ts";
import { cityHash128 } from "./city-hash.ts";

/**
 * `deduplication_message_key`: the computation's id, a zero byte, the first key column (0 when there is none) and
 * the halves of CityHash128 of the message's id, big-endian.
 */
export function deduplicationKeys(computationId: ComputationId): (messageId: MessageId, key: Key) => Buffer {
  const prefix = Buffer.from(`${computationId}\0`, "utf8");
  const size = prefix.length;
  return (messageId, key) => {
    const result = Buffer.allocUnsafe(size + 24);
    prefix.copy(result);
    const [first] = key;
    result.writeBigUInt64BE(typeof first === "bigint" ? BigInt.asUintN(64, first) : 0n, size);
    const [high, low] = cityHash128(Buffer.from(messageId, "latin1"));
    result.writeBigUInt64BE(high, size + 8);
    result.writeBigUInt64BE(low, size + 16);
    return result;
  };
}

/** A key as the cell of a `key` column: a list of its values. */
export function keyCell(key: Key, types: readonly PhysicalType[]): YsonAny {
  return new YsonAny(writeYson(keyToYson(key, types), "binary"));
}

/** A key as a list of values. */
export function keyToYson(key: Key, types: readonly PhysicalType[]): YsonValue {
  return key.map((value, index) => valueToYson(value, types[index]));
}

function valueToYson(value: RowValue, type: PhysicalType | undefined): YsonValue {
  if (value instanceof Uint8Array) {
    return bytesToString(value);
  }
  if (value instanceof YsonAny) {
    return bytesToString(value.bytes);
  }
  return type === "uint64" && typeof value === "bigint" ? new Uint64(value) : value;
}
