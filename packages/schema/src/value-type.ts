/**
 * The types of row values: the physical ones a cell has, the logical ones a schema names, and what a
 * value looks like in JavaScript where rows are handled one value at a time.
 * Specified in: yt/yt/client/table_client/row_base.h, validate_logical_type.h.
 */

/** The type of a stored cell. Composite values are stored as binary YSON and count as `any` here. */
export type PhysicalType = "null" | "int64" | "uint64" | "double" | "boolean" | "string" | "any";

const physicalTypes = {
  null: "null",
  int64: "int64",
  uint64: "uint64",
  double: "double",
  boolean: "boolean",
  string: "string",
  any: "any",
  int8: "int64",
  uint8: "uint64",
  int16: "int64",
  uint16: "uint64",
  int32: "int64",
  uint32: "uint64",
  utf8: "string",
  date: "uint64",
  datetime: "uint64",
  timestamp: "uint64",
  interval: "int64",
  void: "null",
  float: "double",
  json: "string",
  uuid: "string",
  date32: "int64",
  datetime64: "int64",
  timestamp64: "int64",
  interval64: "int64",
  tz_date: "string",
  tz_datetime: "string",
  tz_timestamp: "string",
  tz_date32: "string",
  tz_datetime64: "string",
  tz_timestamp64: "string",
} as const satisfies Record<string, PhysicalType>;

/** The name of a simple type as the field `type` of a column (version 1) has it. */
export type LogicalType = keyof typeof physicalTypes;

/** All names of simple types of version 1. */
export const logicalTypeNames: readonly string[] = Object.keys(physicalTypes);

/** Whether the text names a simple type of version 1. */
export function isLogicalType(name: string): name is LogicalType {
  return Object.hasOwn(physicalTypes, name);
}

/** How values of a simple type are stored. */
export function physicalTypeOf(type: LogicalType): PhysicalType {
  return physicalTypes[type];
}

/** The name of a simple type in `type_v3`: the same except `bool` and `yson`. */
export function logicalTypeToV3Name(type: LogicalType): string {
  return type === "boolean" ? "bool" : type === "any" ? "yson" : type;
}

/** The simple type behind a name of `type_v3`, or undefined when there is none. */
export function logicalTypeFromV3Name(name: string): LogicalType | undefined {
  if (name === "bool") {
    return "boolean";
  }
  if (name === "yson") {
    return "any";
  }
  return isLogicalType(name) && name !== "boolean" && name !== "any" ? name : undefined;
}

/** Inclusive bounds of an integer type. */
export interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
}

const dayUpperBound = 49_673n;
const secondUpperBound = dayUpperBound * 86_400n;
const microsecondUpperBound = secondUpperBound * 1_000_000n;
const wideDayUpperBound = 53_375_808n;
const wideDayLowerBound = -wideDayUpperBound - 1n;
const secondsInDay = 86_400n;
const microsecondsInDay = secondsInDay * 1_000_000n;
const wideIntervalUpperBound = (wideDayUpperBound - wideDayLowerBound) * microsecondsInDay + 1n;

const integerRanges: Partial<Record<LogicalType, IntegerRange>> = {
  int8: signed(8n),
  int16: signed(16n),
  int32: signed(32n),
  int64: signed(64n),
  uint8: unsigned(8n),
  uint16: unsigned(16n),
  uint32: unsigned(32n),
  uint64: unsigned(64n),
  date: { min: 0n, max: dayUpperBound - 1n },
  datetime: { min: 0n, max: secondUpperBound - 1n },
  timestamp: { min: 0n, max: microsecondUpperBound - 1n },
  interval: { min: 1n - microsecondUpperBound, max: microsecondUpperBound - 1n },
  date32: { min: wideDayLowerBound, max: wideDayUpperBound - 1n },
  datetime64: { min: wideDayLowerBound * secondsInDay, max: wideDayUpperBound * secondsInDay - 1n },
  timestamp64: {
    min: wideDayLowerBound * microsecondsInDay,
    max: wideDayUpperBound * microsecondsInDay - 1n,
  },
  interval64: { min: 1n - wideIntervalUpperBound, max: wideIntervalUpperBound - 1n },
};

/** The values an integer type may have; undefined for a type that is not stored as an integer. */
export function integerRangeOf(type: LogicalType): IntegerRange | undefined {
  return integerRanges[type];
}

function signed(bits: bigint): IntegerRange {
  return { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n };
}

function unsigned(bits: bigint): IntegerRange {
  return { min: 0n, max: (1n << bits) - 1n };
}

/** A value of a column of type `any` or of a composite type: binary YSON, not parsed. */
export class YsonAny {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/**
 * One value where rows are handled value by value (keys, query language). Whether a bigint is int64 or
 * uint64 is told by the type of its column; a number is always a double; strings are bytes.
 */
export type RowValue = null | boolean | bigint | number | Uint8Array | YsonAny;
