/**
 * A chunk: a sealed store, which never changes again. Its record is small; its rows are blocks under its
 * store id.
 */
import { assert } from "@qyt/base";

/** How the rows of a store are written: which cell of an encoded row is which column. */
export interface RowFormat {
  /** Names of the stored cells in order, without system columns; undefined: each row is a YSON map. */
  readonly columns: readonly string[] | undefined;
  /** `$timestamp` was in the schema: the rows' commit timestamps are values of that column. */
  readonly hasTimestamp: boolean;
  /** `$cumulative_data_weight` was in the schema. */
  readonly hasCumulativeDataWeight: boolean;
}

/** Rows of a table without a schema. */
export const schemalessFormat: RowFormat = {
  columns: undefined,
  hasTimestamp: false,
  hasCumulativeDataWeight: false,
};

export interface ChunkMeta {
  /** Object id of type 100. */
  readonly id: string;
  /** The store that holds the blocks. */
  readonly storeId: bigint;
  readonly rowCount: number;
  /** Sum of the data weights of its rows, system columns of the schema included. */
  readonly dataWeight: number;
  /** Cumulative data weight of its tablet before its first row, when it was written. */
  readonly baseCumulativeWeight: number;
  /** Bytes of its blocks as they were written. */
  readonly byteSize: number;
  /** Smallest and largest commit timestamp of its rows; 0 in a chunk of a static table. */
  readonly minTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly format: RowFormat;
}

/** A chunk as the chunk manager knows it. */
export interface Chunk extends ChunkMeta {
  /** How many chunk lists name it, changes in flight included. */
  readonly refCount: number;
}

const recordVersion = 1;

/** The stored form: one JSON line, in which a name that is not UTF-8 keeps its surrogates as escapes. */
export function encodeChunkRecord(meta: ChunkMeta, refCount: number): Buffer {
  const numbers = `${meta.rowCount},${meta.dataWeight},${meta.baseCumulativeWeight},${meta.byteSize}`;
  const timestamps = `"${meta.minTimestamp}","${meta.maxTimestamp}"`;
  return Buffer.from(
    `[${recordVersion},${refCount},"${meta.storeId}",${numbers},${timestamps},${formatText(meta.format)}]`,
  );
}

/** A change of many chunks writes the same format again and again. */
const formatTexts = new WeakMap<RowFormat, string>();

function formatText(format: RowFormat): string {
  let text = formatTexts.get(format);
  if (text === undefined) {
    text = JSON.stringify(encodeRowFormat(format));
    formatTexts.set(format, text);
  }
  return text;
}

/** @throws AssertionError when the record is of no known version */
export function decodeChunkRecord(id: string, bytes: Buffer): { meta: ChunkMeta; refCount: number } {
  const fields: unknown = JSON.parse(bytes.toString());
  assert(
    Array.isArray(fields) && fields[0] === recordVersion,
    `Chunk ${id} has a record of an unknown version`,
  );
  const number = (index: number): number => {
    const value: unknown = fields[index];
    assert(typeof value === "number", `Chunk ${id} has a damaged record`);
    return value;
  };
  const id64 = (index: number): bigint => {
    const value: unknown = fields[index];
    assert(typeof value === "string", `Chunk ${id} has a damaged record`);
    return BigInt(value);
  };
  return {
    refCount: number(1),
    meta: {
      id,
      storeId: id64(2),
      rowCount: number(3),
      dataWeight: number(4),
      baseCumulativeWeight: number(5),
      byteSize: number(6),
      minTimestamp: id64(7),
      maxTimestamp: id64(8),
      format: decodeRowFormat(fields[9]),
    },
  };
}

/** Two formats in which an encoded row means the same. */
export function isSameRowFormat(left: RowFormat, right: RowFormat): boolean {
  return left === right || formatText(left) === formatText(right);
}

function encodeRowFormat(format: RowFormat): unknown {
  return [format.hasTimestamp, format.hasCumulativeDataWeight, format.columns ?? null];
}

/** Thousands of chunks of one table share one format object. */
const internedFormats = new Map<string, WeakRef<RowFormat>>();

function decodeRowFormat(value: unknown): RowFormat {
  assert(Array.isArray(value), "A chunk has a damaged row format");
  const text = JSON.stringify(value);
  const known = internedFormats.get(text)?.deref();
  if (known !== undefined) {
    return known;
  }
  const columns: unknown = value[2];
  const format: RowFormat = {
    hasTimestamp: value[0] === true,
    hasCumulativeDataWeight: value[1] === true,
    columns: Array.isArray(columns) ? columns.map(String) : undefined,
  };
  internedFormats.set(text, new WeakRef(format));
  return format;
}
