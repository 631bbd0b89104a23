/** Rows of a stream to typed objects and back, compiled for the stream's schema. */
import { isMap, type YsonValue, YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { StateCodec } from "../computations/key-states.ts";
import type { Payload } from "../model/message.ts";
import type { Field, Fields } from "./fields.ts";

type PlainRow = Record<string, unknown>;

/**
 * Rows as objects with the declared columns.
 * @param what for errors, e.g. `stream "lines"`
 * @throws YtError 1 when a column is absent or has another type
 */
export function compileReader(
  fields: Fields,
  schema: TableSchema,
  what: string,
): (values: Payload) => PlainRow {
  const columns = Object.entries(fields).map(([name, item]) => {
    const index = schema.indexOf(name);
    checkColumn(name, item, schema, what);
    return { name, index, item };
  });
  return (values) => {
    const row: PlainRow = {};
    for (const { name, index, item } of columns) {
      const value = values[index] ?? null;
      if (value === null && !item.isOptional) {
        throw new YtError(
          `Column "${name}" of ${what} is null, but the function declares it as never null; declare it as t.optional(…)`,
        );
      }
      row[name] = item.decode(value);
    }
    return row;
  };
}

/**
 * Objects as rows in the order of the schema. Columns that are not declared are null.
 * @throws YtError 1 when a declared column is absent or has another type, or a required one is not declared
 */
export function compileWriter(
  fields: Fields,
  schema: TableSchema,
  what: string,
): (row: PlainRow) => RowValue[] {
  for (const [name, item] of Object.entries(fields)) {
    checkColumn(name, item, schema, what);
  }
  const columns = schema.columns.map((column) => {
    const item = fields[column.name];
    if (item === undefined && column.required) {
      throw new YtError(
        `Column "${column.name}" of ${what} is required, but the function does not declare it`,
      );
    }
    return { name: column.name, required: column.required, item };
  });
  return (row) =>
    columns.map(({ name, required, item }) => {
      const value = item === undefined ? null : encodeCell(item, row[name], name, what);
      if (value === null && required) {
        throw new YtError(`Column "${name}" of ${what} is required, but the function gives null`);
      }
      return value;
    });
}

function encodeCell(item: Field<unknown>, value: unknown, name: string, what: string): RowValue {
  if (value === undefined || value === null) {
    if (!item.isOptional) {
      throw new YtError(`The function gives no value for column "${name}" of ${what}`);
    }
    return null;
  }
  return item.encode(value);
}

/** A state whose fields are declared, stored as a map. */
export function fieldsState(name: string, fields: Fields): StateCodec {
  const entries = Object.entries(fields);
  return {
    name: `/${name}`,
    decode: (stored) => {
      const row: PlainRow = {};
      for (const [key, item] of entries) {
        row[key] = item.fromYson((isMap(stored) ? stored.get(key) : undefined) ?? null);
      }
      return row;
    },
    encode: (value) => {
      const map = new Map<string, YsonValue>();
      const row = Object.fromEntries(Object.entries(value ?? {}));
      for (const [key, item] of entries) {
        const cell = row[key];
        if (cell !== undefined && cell !== null) {
          map.set(key, item.toYson(cell));
        } else if (!item.isOptional) {
          throw new YtError(`State "/${name}" has no value for its field "${key}"`);
        }
      }
      return map;
    },
  };
}

/** A state that is one value. */
export function valueState(name: string, item: Field<unknown>): StateCodec {
  return {
    name: `/${name}`,
    decode: (stored) => item.fromYson(stored),
    encode: (value) => item.toYson(value),
  };
}

function checkColumn(name: string, item: Field<unknown>, schema: TableSchema, what: string): void {
  const column = schema.find(name);
  if (column === undefined) {
    throw new YtError(
      `Column "${name}" is not in ${what}; its columns are ${schema.columns.map((known) => `"${known.name}"`).join(", ")}`,
    );
  }
  if (column.physical !== item.physical) {
    throw new YtError(
      `Column "${name}" of ${what} has type "${column.type}", but the function declares "${item.physical}"`,
    );
  }
}
