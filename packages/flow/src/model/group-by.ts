/**
 * Keys: the values of `group_by_schema` over a message, and the partition a key belongs to.
 * Specified in: documentation "Flow", concepts; yt/yt/flow/library/cpp/common/spec.cpp.
 */
import { YtError } from "@qyt/base";
import { type CompiledExpression, prepareExpression } from "@qyt/ql";
import { encodeKey, type PhysicalType, type RowValue, type TableSchema } from "@qyt/schema";
import type { Key, KeyRange, Payload } from "./message.ts";

/** Computes keys of messages of one stream. */
export type KeyOf = (payload: Payload) => Key;

/**
 * Compiles `group_by_schema` over a stream's columns. A column with an expression is computed; one without is
 * taken from the column of its name.
 * @throws YtError 1 when a column is absent, or an expression does not fit its type
 */
export function compileKey(groupBySchema: TableSchema, streamSchema: TableSchema): KeyOf {
  const getters = groupBySchema.columns.map((column): ((payload: Payload) => RowValue) => {
    if (column.expression !== undefined) {
      const expression: CompiledExpression = prepareExpression(
        column.expression,
        streamSchema,
        column.physical,
      );
      return (payload) => checked(column.name, column.required, expression.evaluate(payload));
    }
    const index = streamSchema.indexOf(column.name);
    const found = streamSchema.columns[index];
    if (found === undefined) {
      throw new YtError(`Column "${column.name}" of the group-by schema is not found in the stream's schema`);
    }
    if (found.physical !== column.physical) {
      throw new YtError(
        `Column "${column.name}" of the group-by schema has type "${column.type}", but type "${found.type}" in the stream's schema`,
      );
    }
    return (payload) => checked(column.name, column.required, payload[index] ?? null);
  });
  return (payload) => getters.map((get) => get(payload));
}

/** Whether a key lies in a range of its first column, which is uint64. */
export function isKeyInRange(key: Key, range: KeyRange): boolean {
  const [first] = key;
  if (typeof first !== "bigint") {
    return range.lower === 0n;
  }
  return first >= range.lower && (range.upper === undefined || first < range.upper);
}

/** A text by which two keys are the same exactly when their values are. For maps in memory. */
export function keyText(key: Key, types: readonly PhysicalType[]): string {
  return encodeKey(key, types).toString("latin1");
}

function checked(name: string, isRequired: boolean, value: RowValue): RowValue {
  if (value === null && isRequired) {
    throw new YtError(`Key column "${name}" is required, but the message gives no value for it`);
  }
  return value;
}
