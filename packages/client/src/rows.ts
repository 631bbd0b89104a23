/** Rows on the wire: plain objects to binary YSON list fragments and back. */
import { isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { fromYson, parseYsonList, toYson, writeYsonList } from "@qyt/yson";

/** A row as a plain object: integers as `bigint` (or a safe integer `number`), doubles as `number` with a fraction. */
export type RowObject = Readonly<Record<string, unknown>>;

/** The rows to send: objects, or a body that is already encoded in the given format. */
export type RowInput = readonly RowObject[] | { readonly body: Uint8Array; readonly format: YsonValue };

export function encodeRows(rows: RowInput): { body: Uint8Array; format: YsonValue } {
  if ("body" in rows) {
    return rows;
  }
  return {
    body: writeYsonList(
      rows.map((row) => (row instanceof Map ? (row as YsonMap) : toYson(row))),
      "binary",
    ),
    format: "yson",
  };
}

/** Decodes a whole rowset. 64-bit integers come as `bigint`; a missing row (`keep_missing_rows`) as `null`. */
export function decodeRows(bytes: Uint8Array): (Record<string, unknown> | null)[] {
  return parseYsonList(bytes).map((item) => {
    if (item === null) {
      return null;
    }
    if (!isMap(item)) {
      throw new YtError("The proxy sent a row that is not a map");
    }
    return fromYson(item) as Record<string, unknown>;
  });
}
