/** Numbers in text form, exact to the last bit. A literal that is none is told by its reason, for the error. */
import { Uint64 } from "@qyt/base";
import { classes, digitClass } from "./byte-classes.ts";

const maxDigits = 20;
const maxInt64 = (1n << 63n) - 1n;
const minInt64 = -(1n << 63n);
const maxUint64 = (1n << 64n) - 1n;

export type BadLiteral = "malformed" | "out of range";

/** `buffer[start, end)` as `[+-]digits`; `unsigned` when a `u` follows. */
export function integerLiteral(
  buffer: Buffer,
  start: number,
  end: number,
  unsigned: boolean,
): bigint | Uint64 | BadLiteral {
  const first = buffer[start] ?? 0;
  const negative = first === 0x2d;
  let digits = negative || first === 0x2b ? start + 1 : start;
  if (digits === end || (unsigned && negative)) {
    return "malformed";
  }
  if (end - digits <= 15) {
    let value = 0;
    for (; digits < end; digits++) {
      value = value * 10 + (buffer[digits] ?? 48) - 48;
    }
    return unsigned ? new Uint64(BigInt(value)) : BigInt(negative ? -value : value);
  }
  while (digits < end - 1 && buffer[digits] === 48) {
    digits++;
  }
  if (end - digits <= maxDigits) {
    const magnitude = BigInt(buffer.latin1Slice(digits, end));
    const value = negative ? -magnitude : magnitude;
    if (unsigned ? value <= maxUint64 : value >= minInt64 && value <= maxInt64) {
      return unsigned ? new Uint64(value) : value;
    }
  }
  return "out of range";
}

// Powers of ten that a double holds exactly.
const powersOfTen = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);

/** `buffer[start, end)` as `[+-] digits [. digits] [e [+-] digits]`, with at least one digit before the exponent. */
export function doubleLiteral(buffer: Buffer, start: number, end: number): number | BadLiteral {
  const begin = afterSign(buffer, start, end);
  let position = afterDigits(buffer, begin, end);
  let count = position - begin;
  let exact = true;
  if (position < end && buffer[position] === 0x2e) {
    const fraction = position + 1;
    position = afterDigits(buffer, fraction, end);
    count += position - fraction;
  }
  if (count === 0) {
    return "malformed";
  }
  if (position < end && ((buffer[position] ?? 0) | 0x20) === 0x65) {
    exact = false;
    const exponent = afterSign(buffer, position + 1, end);
    position = afterDigits(buffer, exponent, end);
    if (position === exponent) {
      return "malformed";
    }
  }
  if (position !== end) {
    return "malformed";
  }
  if (exact && end - begin <= 16) {
    // At most 15 digits and a power of ten below 10^16: both are exact, so one division rounds correctly.
    return shortDecimal(buffer, begin, end, buffer[start] === 0x2d);
  }
  const value = Number(buffer.latin1Slice(start, end));
  return Number.isFinite(value) ? value : "out of range";
}

function shortDecimal(buffer: Buffer, begin: number, end: number, negative: boolean): number {
  let mantissa = 0;
  let fraction = 0;
  for (let index = begin; index < end; index++) {
    const byte = buffer[index] ?? 48;
    if (byte === 0x2e) {
      fraction = end - index - 1;
    } else {
      mantissa = mantissa * 10 + byte - 48;
    }
  }
  const value = mantissa / (powersOfTen[fraction] ?? 1);
  return negative ? -value : value;
}

function afterDigits(buffer: Buffer, from: number, end: number): number {
  let position = from;
  while (position < end && (classes[buffer[position] ?? 0] ?? 0) & digitClass) {
    position++;
  }
  return position;
}

function afterSign(buffer: Buffer, at: number, end: number): number {
  return at < end && (buffer[at] === 0x2d || buffer[at] === 0x2b) ? at + 1 : at;
}
