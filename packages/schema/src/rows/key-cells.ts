/**
 * From the key of a row of a sorted table straight to cells, without values in between: what `decodeKey` and
 * `writeCell` do one after the other.
 */
import { decodeKey } from "../key-codec.ts";
import type { PhysicalType } from "../value-type.ts";
import { cellKind, writeCell } from "./encoded-rows.ts";
import type { RowOutput } from "./row-output.ts";

/** The tag of an int64 in a key. */
const int64Tag = 3;
const int64KeyBytes = 9;

/**
 * Appends a cell for each of the types; values that the key does not have are null.
 * @param key begins with what `encodeKeyPrefix` makes
 * @param end where that ends
 * @param starts gets where each cell begins in the output, by position
 * @param ends gets where it ends
 * @throws YtError 1 when the bytes are no key of these types
 */
export function writeKeyCells(
  key: Buffer,
  end: number,
  types: readonly PhysicalType[],
  output: RowOutput,
  starts: Int32Array,
  ends: Int32Array,
): void {
  if (types.length === 1 && types[0] === "int64" && end === int64KeyBytes && key[0] === int64Tag) {
    starts[0] = output.length;
    output.byte(cellKind.int64);
    output.zigzag64(key.readInt32BE(5), key.readInt32BE(1) ^ 0x8000_0000);
    ends[0] = output.length;
    return;
  }
  const values = decodeKey(key.subarray(0, end), types);
  for (let position = 0; position < types.length; position++) {
    starts[position] = output.length;
    writeCell(output, values[position] ?? null, types[position] === "uint64");
    ends[position] = output.length;
  }
}
