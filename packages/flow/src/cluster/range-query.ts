/** Reads of key ranges as queries. Specified in: YTsaurus documentation, "Dynamic table queries". */
import { YtError } from "@qyt/base";
import { type RowValue, type TableSchema, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson, writeYsonText } from "@qyt/yson";
import type { RangeOptions } from "./flow-cluster.ts";

/** Of one read, where none is given. The cluster refuses more. */
export const maxRangeRows = 1_000_000;

/** The text of `select_rows` for the rows of a range in key order. */
export function rangeQuery(path: string, schema: TableSchema, options: RangeOptions): string {
  const conditions = options.prefix.map(([column, value]) => condition(schema, column, "=", value));
  if (options.from !== undefined) {
    const { column, value, isInclusive } = options.from;
    conditions.push(condition(schema, column, isInclusive ? ">=" : ">", value));
  }
  const where = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
  const keys = schema.columns.slice(0, schema.keyColumnCount).map(({ name }) => `[${name}]`);
  const columns = options.columns.map((name) => `[${name}]`);
  return `${columns.join(", ")} from [${path}]${where} order by ${keys.join(", ")} limit ${options.limit ?? maxRangeRows}`;
}

function condition(schema: TableSchema, column: string, operator: string, value: RowValue): string {
  return `[${column}] ${operator} ${literal(schema, column, value)}`;
}

/** @throws YtError for a value that has no literal */
function literal(schema: TableSchema, column: string, value: RowValue): string {
  if (value === null) {
    return "null";
  }
  if (typeof value === "boolean") {
    return value ? "true" : "false";
  }
  if (typeof value === "bigint") {
    return schema.find(column)?.physical === "uint64" ? `${value}u` : `${value}`;
  }
  if (value instanceof YsonAny) {
    return `yson_string_to_any(${quoted(Buffer.from(writeYsonText(parseYson(value.bytes)), "latin1"))})`;
  }
  if (typeof value === "number") {
    throw new YtError(`Ranges of the column "${column}" cannot be read: it has type "double"`);
  }
  return quoted(value);
}

function quoted(bytes: Uint8Array): string {
  return writeYsonText(bytesToString(bytes));
}
