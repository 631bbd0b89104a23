import { mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { describe, expect, test } from "vitest";
import { checkAlter } from "./schema-alter.ts";
import { type ColumnSchema, column, TableSchema } from "./table-schema.ts";
import { checkTypeChange } from "./type-compatibility.ts";
import { columnTypeFromV3 } from "./type-v3.ts";

const key = { sortOrder: "ascending" } as const;
const a = column("a", "int64");
const b = column("b", "string");
const k = column("k", "int64", key);
const v = column("v", "string");

const table = (...columns: readonly ColumnSchema[]): TableSchema => new TableSchema(columns);
const sortedTable = (...columns: readonly ColumnSchema[]): TableSchema =>
  new TableSchema(columns, { uniqueKeys: true });
const loose = (...columns: readonly ColumnSchema[]): TableSchema =>
  new TableSchema(columns, { strict: false });

const dynamic = { dynamic: true, empty: false };
const full = { dynamic: false, empty: false };
const empty = { dynamic: false, empty: true };

function errorOf(check: () => unknown): YtError {
  try {
    check();
  } catch (thrown) {
    if (thrown instanceof YtError) {
      return thrown;
    }
    throw thrown;
  }
  throw new Error("the change was accepted");
}

function messages(error: YtError): string {
  return [error.message, ...error.innerErrors.map(messages)].join("\n");
}

const allowed: readonly (readonly [string, TableSchema, TableSchema, typeof full])[] = [
  ["the same schema", table(a, b), table(a, b), dynamic],
  ["add an optional column", table(a), table(a, b), dynamic],
  ["add it in front", table(a), table(b, a), dynamic],
  [
    "add columns the server fills",
    table(a),
    table(a, column("$timestamp", "uint64"), column("$cumulative_data_weight", "int64")),
    dynamic,
  ],
  [
    "add a required column to an empty static table",
    table(a),
    table(a, column("c", "int64", { required: true })),
    empty,
  ],
  ["any valid schema for an empty static table", table(a), sortedTable(k, v), empty],
  [
    "add an optional key column at the end of the key",
    sortedTable(k, v),
    sortedTable(k, column("k2", "string", key), v),
    dynamic,
  ],
  ["sorted dynamic without unique_keys", sortedTable(k, v), table(k, v, a), dynamic],
  ["widen an integer", table(column("a", "int32")), table(a), dynamic],
  ["required to optional", table(column("a", "int64", { required: true })), table(a), dynamic],
  ["scalar to any, not a key", table(a), table(column("a", "any")), dynamic],
  [
    "introduce an aggregate",
    sortedTable(k, a),
    sortedTable(k, column("a", "int64", { aggregate: "sum" })),
    dynamic,
  ],
  [
    "change lock and group",
    sortedTable(k, column("v", "string", { lock: "l", group: "g" })),
    sortedTable(k, column("v", "string", { lock: "m" })),
    dynamic,
  ],
  ["reorder columns that are no keys", sortedTable(k, a, b), sortedTable(k, b, a), dynamic],
  ["strict to not strict", table(a), loose(a), full],
  ["unique keys to not unique", sortedTable(k, v), table(k, v), full],
  [
    "the last key column becomes a plain one in a static table",
    table(k, v),
    table(column("k", "int64"), v),
    full,
  ],
];

const refused: readonly (readonly [string, TableSchema, TableSchema, typeof full, string])[] = [
  [
    "[tables 95] remove a column",
    table(a, b),
    table(a),
    dynamic,
    `Cannot remove column "b" from a strict schema`,
  ],
  [
    "[tables 95] narrow a type",
    table(a),
    table(column("a", "int32")),
    dynamic,
    `Type mismatch for column "a"`,
  ],
  [
    "[tables 95] optional to required",
    table(a),
    table(column("a", "int64", { required: true })),
    dynamic,
    `Type mismatch for column "a"`,
  ],
  [
    "[tables 95] add a required column",
    table(a),
    table(a, column("c", "int64", { required: true })),
    dynamic,
    `Cannot insert a new required column "c" into a non-empty table`,
  ],
  [
    "add a required column to a static table with rows",
    table(a),
    table(a, column("c", "int64", { required: true })),
    full,
    "Cannot insert a new required column",
  ],
  [
    "add a required column to an empty dynamic table",
    table(a),
    table(a, column("c", "int64", { required: true })),
    { dynamic: true, empty: true },
    "Cannot insert a new required column",
  ],
  [
    "[tables 92] sorted to ordered",
    sortedTable(k, v),
    table(column("k", "int64"), v),
    dynamic,
    "Cannot change dynamic table type from sorted to ordered or vice versa",
  ],
  [
    "[tables 92] ordered to sorted",
    table(a, v),
    table(column("a", "int64", key), v),
    dynamic,
    "Cannot change dynamic table type from sorted to ordered or vice versa",
  ],
  [
    "unsorted to sorted, static",
    table(a, v),
    table(column("a", "int64", key), v),
    full,
    "Cannot change schema from unsorted to sorted",
  ],
  [
    "not strict to strict",
    loose(a),
    table(a),
    full,
    `Changing "strict" from "false" to "true" is not allowed`,
  ],
  [
    "not unique to unique",
    table(k, v),
    sortedTable(k, v),
    full,
    `Changing "unique_keys" from "false" to "true" is not allowed`,
  ],
  [
    "[tables 154] a key column in the middle",
    sortedTable(k, column("k2", "int64", key), v),
    sortedTable(k, column("k1", "int64", key), column("k2", "int64", key), v),
    dynamic,
    `Cannot change position of a key column "k2"`,
  ],
  [
    "a required key column",
    sortedTable(k, v),
    sortedTable(k, column("k2", "int64", { ...key, required: true }), v),
    dynamic,
    "Cannot insert a new required column",
  ],
  [
    "a plain column becomes a key",
    sortedTable(k, a, v),
    sortedTable(k, column("a", "int64", key), v),
    dynamic,
    `Sort order mismatch for column "a"`,
  ],
  [
    "a key becomes plain while keys stay unique",
    sortedTable(k, column("k2", "int64", key), v),
    sortedTable(k, column("k2", "int64"), v),
    dynamic,
    "Table cannot have unique keys since some of its key columns were removed",
  ],
  [
    "a new computed column",
    sortedTable(k, v),
    sortedTable(k, column("c", "int64", { ...key, expression: "k" }), v),
    dynamic,
    `Cannot introduce a new computed column "c" after creation`,
  ],
  [
    "another expression",
    sortedTable(column("c", "int64", { ...key, expression: "k" }), k, v),
    sortedTable(column("c", "int64", { ...key, expression: "k + 1" }), k, v),
    dynamic,
    `Expression mismatch for column "c"`,
  ],
  [
    "another aggregate",
    sortedTable(k, column("a", "int64", { aggregate: "sum" })),
    sortedTable(k, column("a", "int64", { aggregate: "max" })),
    dynamic,
    `Aggregate mode mismatch for column "a"`,
  ],
  [
    "no aggregate any more",
    sortedTable(k, column("a", "int64", { aggregate: "sum" })),
    sortedTable(k, a),
    dynamic,
    `Aggregate mode mismatch for column "a"`,
  ],
  [
    "a key to any, static and empty",
    table(k, v),
    table(column("k", "any", key), v),
    empty,
    `Altering a key column type to "any" is forbidden`,
  ],
  ["any to a scalar", table(column("a", "any")), table(a), dynamic, "Type mismatch"],
  ["another type", table(a), table(column("a", "string")), dynamic, "Type mismatch"],
  ["rename", table(a, b), table(a, column("c", "string")), dynamic, "Cannot remove column"],
  [
    "a column added to a schema that is not strict",
    loose(a),
    loose(a, b),
    full,
    `Cannot insert a new column "b" into non-strict schema`,
  ],
  [
    "other columns while it stops being strict",
    table(a),
    loose(a, b),
    full,
    "Changing columns is not allowed while changing",
  ],
  [
    "forget the hunk size",
    table(column("s", "string", { maxInlineHunkSize: 10n })),
    table(column("s", "string")),
    dynamic,
    "Cannot reset max inline hunk size",
  ],
];

describe("changes of a schema", () => {
  test.each(allowed)("allowed: %s", (_, before, after, options) => {
    expect(() => checkAlter(before, after, options)).not.toThrow();
  });

  test.each(refused)("refused: %s", (_, before, after, options, message) => {
    const error = errorOf(() => checkAlter(before, after, options));
    expect(error.code).toBe(316);
    expect(error.message).toBe("Table schemas are incompatible");
    expect(messages(error)).toContain(message);
  });

  test("[tables 94] system columns of a queue may be added", () => {
    const queue = table(column("data", "string"));
    const after = table(
      column("$timestamp", "uint64"),
      column("data", "string"),
      column("$cumulative_data_weight", "int64"),
    );
    expect(() => checkAlter(queue, after, dynamic)).not.toThrow();
  });

  test("a new schema that is not valid by itself is 314", () => {
    expect(errorOf(() => checkAlter(table(a), table(a, column("$foo", "int64")), dynamic)).code).toBe(314);
    expect(errorOf(() => checkAlter(table(a), loose(a), dynamic)).code).toBe(314);
  });
});

const optional = (item: YsonValue): YsonMap => mapOf({ type_name: "optional", item });
const listOf = (item: YsonValue): YsonMap => mapOf({ type_name: "list", item });
const member = (name: string, type: YsonValue): YsonMap => mapOf({ name, type });
const struct = (...members: readonly YsonMap[]): YsonMap => mapOf({ type_name: "struct", members });
const tuple = (...types: readonly YsonValue[]): YsonMap =>
  mapOf({ type_name: "tuple", elements: types.map((type) => mapOf({ type })) });
const variant = (...types: readonly YsonValue[]): YsonMap =>
  mapOf({ type_name: "variant", elements: types.map((type) => mapOf({ type })) });
const dict = (keyType: YsonValue, value: YsonValue): YsonMap =>
  mapOf({ type_name: "dict", key: keyType, value });
const tagged = (item: YsonValue): YsonMap => mapOf({ type_name: "tagged", tag: "t", item });
const decimal = (precision: bigint): YsonMap => mapOf({ type_name: "decimal", precision, scale: 1n });

describe("changes of a type", () => {
  const wider: readonly (readonly [YsonValue, YsonValue])[] = [
    ["int8", "int64"],
    ["uint16", optional("uint32")],
    ["float", "double"],
    ["utf8", "string"],
    [optional("date"), optional("yson")],
    ["string", optional("yson")],
    ["json", "json"],
    [tagged("int8"), "int16"],
    ["int8", tagged(optional("int16"))],
    [listOf("int8"), optional(listOf(optional("int64")))],
    [struct(member("a", "int8")), struct(member("a", "int64"), member("b", optional("string")))],
    [tuple("int8", "utf8"), tuple("int8", "string")],
    [variant("int8"), variant("int8", "string")],
    [dict("utf8", "int8"), dict("string", "int64")],
    [decimal(5n), optional(decimal(5n))],
  ];
  const notWider: readonly (readonly [YsonValue, YsonValue])[] = [
    ["int64", "int32"],
    ["int8", "uint8"],
    ["uint8", "int64"],
    ["double", "float"],
    ["string", "utf8"],
    ["json", "string"],
    ["json", optional("yson")],
    [optional("int64"), "int64"],
    [optional(optional("int64")), optional("int64")],
    [listOf("int64"), "int64"],
    [listOf("int64"), optional("yson")],
    [listOf(optional("int64")), listOf("int64")],
    [struct(member("a", "int8")), struct(member("b", "int8"))],
    [struct(member("a", "int8")), struct(member("a", "int8"), member("b", "int8"))],
    [struct(member("a", "int8"), member("b", "int8")), struct(member("a", "int8"))],
    [tuple("int8"), tuple("int8", "int8")],
    [tuple("int8"), variant("int8")],
    [dict("string", "int64"), dict("string", "int8")],
    [decimal(5n), decimal(6n)],
  ];

  test.each(wider)("allowed: %o → %o", (before, after) => {
    const types = [columnTypeFromV3(before).typeV3, columnTypeFromV3(after).typeV3] as const;
    expect(() => checkTypeChange(...types, "x")).not.toThrow();
  });

  test.each(notWider)("refused: %o → %o", (before, after) => {
    const types = [columnTypeFromV3(before).typeV3, columnTypeFromV3(after).typeV3] as const;
    expect(errorOf(() => checkTypeChange(...types, "x")).code).toBe(316);
  });
});
