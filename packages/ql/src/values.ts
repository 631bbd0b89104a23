/**
 * Row values by type. The checker has already proved these types, so a wrong one is a bug, not bad input.
 */
import { AssertionError } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import { bytesToString } from "@qyt/yson";

export function asBigint(value: RowValue | undefined): bigint {
  if (typeof value === "bigint") {
    return value;
  }
  throw wrongType(value, "integer");
}

export function asNumber(value: RowValue | undefined): number {
  if (typeof value === "number") {
    return value;
  }
  throw wrongType(value, "double");
}

export function asBoolean(value: RowValue | undefined): boolean {
  if (typeof value === "boolean") {
    return value;
  }
  throw wrongType(value, "boolean");
}

export function asBytes(value: RowValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) {
    return value;
  }
  throw wrongType(value, "string");
}

export function asAny(value: RowValue | undefined): YsonAny {
  if (value instanceof YsonAny) {
    return value;
  }
  throw wrongType(value, "any");
}

/** The bytes of a string value as text, invalid UTF-8 escaped. */
export function asText(value: RowValue | undefined): string {
  return bytesToString(asBytes(value));
}

/** The value in memory of its own, so that keeping it does not keep the block it was read from. */
export function detach(value: RowValue): RowValue {
  if (value instanceof Uint8Array) {
    return Uint8Array.prototype.slice.call(value);
  }
  return value instanceof YsonAny ? new YsonAny(Uint8Array.prototype.slice.call(value.bytes)) : value;
}

function wrongType(value: unknown, expected: string): AssertionError {
  return new AssertionError(`Expected a value of type ${expected}, got ${typeof value}`);
}
