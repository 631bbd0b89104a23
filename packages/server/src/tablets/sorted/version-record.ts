/**
 * One version of one row of a sorted table, as it is stored.
 *
 *     u8 format · u8 kind · u8 flags · { u16 column id · u8 cell flags · [u64 timestamp] · cell }*
 *
 * Column ids are positions in the table's list of value columns ever known, which only grows, so that
 * altering a table rewrites nothing. A `write` is the whole row (what is missing is null), an `update`
 * only the columns listed, a `delete` ends the row. Versions that compaction has joined have the timestamp of
 * the newest of them; a cell that came from an older one keeps its own beside it.
 */
import { YtError } from "@qyt/base";
import {
  decodeCell,
  encodedKeyWeight,
  type RowOutput,
  type RowValue,
  skipCell,
  valueWeight,
  writeCell,
} from "@qyt/schema";

export type VersionKind = "write" | "update" | "delete";

export interface VersionCell {
  readonly columnId: number;
  readonly value: RowValue;
  /** The value is to be folded into what is below. */
  readonly aggregate: boolean;
  /** When the value was written; absent when at the timestamp of the version. */
  readonly timestamp?: bigint;
}

export interface RowVersion {
  readonly timestamp: bigint;
  readonly kind: VersionKind;
  /** Written with `shared_write` locks. */
  readonly sharedWrite: boolean;
  readonly cells: readonly VersionCell[];
}

const format = 1;
const kinds: readonly VersionKind[] = ["write", "update", "delete"];
const sharedWriteFlag = 1;
const aggregateFlag = 1;
const ownTimestampFlag = 2;
const timestampBytes = 8;
const headerBytes = 3;
const cellHeaderBytes = 3;

/** A cell whose type is said: int64 and uint64 look the same. */
export interface InputCell extends VersionCell {
  readonly isUnsigned: boolean;
}

export interface VersionInput extends Omit<RowVersion, "timestamp" | "cells"> {
  readonly cells: readonly InputCell[];
}

const timestampWeight = 8;

/** Data weight of a version: its key, its values and its timestamp. @param key row key */
export function versionWeight(key: Buffer, cells: readonly VersionCell[]): number {
  let weight = timestampWeight + encodedKeyWeight(key, key.length - 1);
  for (const { value } of cells) {
    weight += valueWeight(value);
  }
  return weight;
}

export function writeVersion(output: RowOutput, version: VersionInput): void {
  output.byte(format);
  output.byte(kinds.indexOf(version.kind));
  output.byte(version.sharedWrite ? sharedWriteFlag : 0);
  for (const cell of version.cells) {
    output.byte(cell.columnId & 0xff);
    output.byte(cell.columnId >>> 8);
    const flags = cell.aggregate ? aggregateFlag : 0;
    if (cell.timestamp === undefined) {
      output.byte(flags);
    } else {
      output.byte(flags | ownTimestampFlag);
      for (let shift = 0n; shift < 64n; shift += 8n) {
        output.byte(Number((cell.timestamp >> shift) & 0xffn));
      }
    }
    writeCell(output, cell.value, cell.isUnsigned);
  }
}

/** @param from where the record begins in the bytes @throws YtError 721 when they are no version record */
export function decodeVersion(bytes: Buffer, timestamp: bigint, from = 0): RowVersion {
  const kind = kinds[bytes[from + 1] ?? 0xff];
  if (bytes[from] !== format || kind === undefined) {
    throw damaged();
  }
  const cells: VersionCell[] = [];
  let position = from + headerBytes;
  while (position < bytes.length) {
    if (position + cellHeaderBytes >= bytes.length) {
      throw damaged();
    }
    const columnId = bytes.readUInt16LE(position);
    const flags = bytes[position + 2] ?? 0;
    position += cellHeaderBytes;
    let own: bigint | undefined;
    if ((flags & ownTimestampFlag) !== 0) {
      if (position + timestampBytes >= bytes.length) {
        throw damaged();
      }
      own = bytes.readBigUInt64LE(position);
      position += timestampBytes;
    }
    const end = skipCell(bytes, position, bytes.length);
    const aggregate = (flags & aggregateFlag) !== 0;
    const value = decodeCell(bytes, position, end) ?? null;
    cells.push(
      own === undefined ? { columnId, aggregate, value } : { columnId, aggregate, value, timestamp: own },
    );
    position = end;
  }
  return { timestamp, kind, sharedWrite: bytes[from + 2] === sharedWriteFlag, cells };
}

/**
 * Finds the cells of a version without decoding them.
 * @param from where the record begins in the bytes
 * @param positions in the schema by column id; −1 for a column that is gone
 * @param starts gets where the cell of each column begins, by position; columns without a cell keep what they have
 * @param ends gets where it ends
 * @throws YtError 721 when the bytes are no version record
 */
export function findCells(
  bytes: Buffer,
  from: number,
  end: number,
  positions: readonly number[],
  starts: Int32Array,
  ends: Int32Array,
): VersionKind {
  const kind = kinds[bytes[from + 1] ?? 0xff];
  if (bytes[from] !== format || kind === undefined) {
    throw damaged();
  }
  let at = from + headerBytes;
  while (at < end) {
    if (at + cellHeaderBytes >= end) {
      throw damaged();
    }
    const position = positions[(bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)] ?? -1;
    const isStamped = ((bytes[at + 2] ?? 0) & ownTimestampFlag) !== 0;
    at += isStamped ? cellHeaderBytes + timestampBytes : cellHeaderBytes;
    if (at >= end) {
      throw damaged();
    }
    const next = skipCell(bytes, at, end);
    if (position >= 0) {
      starts[position] = at;
      ends[position] = next;
    }
    at = next;
  }
  return kind;
}

function damaged(): YtError {
  return new YtError("A version of a row of a sorted table is damaged", { code: "InvalidBlockChecksum" });
}
