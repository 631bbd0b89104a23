import { mapOf, YtError } from "@qyt/base";
import { describe, expect, test } from "vitest";
import {
  type DynamicTableKind,
  toDynamicSchema,
  validateDynamicTableSchema,
  validateStaticTableSchema,
} from "./schema-validation.ts";
import { type ColumnSchema, column, TableSchema } from "./table-schema.ts";
import { columnTypeFromV3 } from "./type-v3.ts";

const key = { sortOrder: "ascending" } as const;
const value = column("value", "string");
const sortedBy = (...columns: readonly ColumnSchema[]): TableSchema =>
  new TableSchema([...columns, value], { uniqueKeys: true });
const ordered = (...columns: readonly ColumnSchema[]): TableSchema => new TableSchema([...columns, value]);
const many = (count: number, make: (index: number) => ColumnSchema): readonly ColumnSchema[] =>
  Array.from({ length: count }, (_, index) => make(index));

function errorOf(check: () => unknown): YtError {
  try {
    check();
  } catch (thrown) {
    if (thrown instanceof YtError) {
      return thrown;
    }
    throw thrown;
  }
  throw new Error("the schema was accepted");
}

function messages(error: YtError): readonly string[] {
  return [error.message, ...error.innerErrors.flatMap(messages)];
}

const tuple = columnTypeFromV3(mapOf({ type_name: "tuple", elements: [mapOf({ type: "int64" })] }));
const struct = columnTypeFromV3(
  mapOf({ type_name: "struct", members: [mapOf({ name: "a", type: "int64" })] }),
);

const refusedAsDynamic: readonly (readonly [string, () => TableSchema, string])[] = [
  [
    "an unknown system column",
    () => ordered(column("$foo", "int64")),
    `System column name "$foo" is not allowed here`,
  ],
  [
    "$timestamp of another type",
    () => ordered(column("$timestamp", "int64")),
    `Invalid type of column "$timestamp"`,
  ],
  [
    "$cumulative_data_weight of another type",
    () => ordered(column("$cumulative_data_weight", "uint64")),
    "Invalid type of column",
  ],
  [
    "$timestamp in a sorted table",
    () => sortedBy(column("k", "int64", key), column("$timestamp", "uint64")),
    "is not allowed here",
  ],
  ["$tablet_index declared", () => ordered(column("$tablet_index", "int64")), "is not allowed here"],
  ["$ttl in an ordered table", () => ordered(column("$ttl", "uint64")), "is not allowed here"],
  [
    "only key columns",
    () => new TableSchema([column("k", "int64", key)], { uniqueKeys: true }),
    "There must be at least one non-key column",
  ],
  ["no columns", () => new TableSchema([]), "There must be at least one non-key column"],
  [
    "not strict",
    () => new TableSchema([value], { strict: false }),
    `"strict" cannot be "false" for a dynamic table`,
  ],
  [
    "an any key",
    () => sortedBy(column("k", "any", key)),
    `Dynamic table cannot have key column of type "optional<yson>"`,
  ],
  [
    "a tuple key",
    () => sortedBy({ name: "k", ...tuple, ...key }),
    "Dynamic table cannot have key column of type",
  ],
  [
    "a descending key",
    () => sortedBy(column("k", "int64", { sortOrder: "descending" })),
    "Descending sort order is not available",
  ],
  [
    "65 key columns",
    () => sortedBy(...many(65, (index) => column(`k${index}`, "int64", key))),
    "Too many key columns",
  ],
  [
    "a computed value",
    () => sortedBy(column("k", "int64", key), column("c", "int64", { expression: "k" })),
    "Non-key column cannot be computed",
  ],
  [
    "a required computed key",
    () =>
      sortedBy(column("c", "int64", { ...key, expression: "k", required: true }), column("k", "int64", key)),
    "Computed column cannot be required",
  ],
  [
    "an aggregating key",
    () => sortedBy(column("k", "int64", { ...key, aggregate: "sum" })),
    "Key column cannot be aggregated",
  ],
  [
    "an unknown aggregate",
    () => ordered(column("a", "int64", { aggregate: "median" })),
    `Invalid aggregate function "median"`,
  ],
  ["a sum of strings", () => ordered(column("a", "string", { aggregate: "sum" })), "Aggregate function"],
  [
    "a sum of narrow integers",
    () => ordered(column("a", "int32", { aggregate: "sum" })),
    "is forbidden to have logical type",
  ],
  [
    "a lock on a key",
    () => sortedBy(column("k", "int64", { ...key, lock: "l" })),
    "Column lock cannot be set on a key column",
  ],
  [
    "too long a lock name",
    () => ordered(column("a", "int64", { lock: "l".repeat(257) })),
    "Column lock name is longer than maximum allowed",
  ],
  [
    "too long a group name",
    () => ordered(column("a", "int64", { group: "g".repeat(257) })),
    "Column group name is longer",
  ],
  [
    "too many locks",
    () => ordered(...many(32, (index) => column(`a${index}`, "int64", { lock: `l${index}` }))),
    "Too many column locks",
  ],
  ["an empty name", () => ordered(column("", "int64")), "Column name cannot be empty"],
  ["a name with @", () => ordered(column("@a", "int64")), `Column name cannot start with "@"`],
  [
    "too long a name",
    () => ordered(column("a".repeat(257), "int64")),
    "Column name is longer than maximum allowed",
  ],
  [
    "unique keys without keys",
    () => new TableSchema([value], { uniqueKeys: true }),
    `"unique_keys" can only be true if key columns are present`,
  ],
  [
    "a hunk size for an integer",
    () => ordered(column("a", "int64", { maxInlineHunkSize: 10n })),
    "Max inline hunk size can only be set",
  ],
];

describe("dynamic tables", () => {
  test.each(refusedAsDynamic)("refused: %s", (_, make, message) => {
    const error = errorOf(() => validateDynamicTableSchema(make()));
    expect(error.code).toBe(314);
    expect(error.message).toBe("New table schema is not valid");
    expect(messages(error).join("\n")).toContain(message);
  });

  test("errors of a column name it", () => {
    const error = errorOf(() => validateDynamicTableSchema(ordered(column("$timestamp", "int64"))));
    expect(messages(error)[1]).toBe('Error validating schema of column "$timestamp"');
  });

  test("[tables 96] schemas as clients send them", () => {
    const cases = [
      [mapOf({ name: "a", type: "int64" }), mapOf({ name: "a", type: "int64" })],
      [mapOf({ name: "$foo", type: "int64" })],
      [mapOf({ name: "$timestamp", type: "int64" })],
      [mapOf({ name: "a", type: "any", required: true })],
      [mapOf({ name: "v", type: "int64" }), mapOf({ name: "k", type: "int64", sort_order: "ascending" })],
      [mapOf({ name: "k", type: "int64", sort_order: "ascending" })],
    ];
    for (const columns of cases) {
      const error = errorOf(() => validateDynamicTableSchema(TableSchema.fromYson(columns)));
      expect(error.code).toBe(314);
      expect(error.innerErrors).toHaveLength(1);
    }
  });

  test("[tables 97] a computed column in an ordered table is refused", () => {
    const error = errorOf(() =>
      validateDynamicTableSchema(ordered(column("c", "uint64", { expression: "farm_hash(value)" }))),
    );
    expect(error.code).toBe(314);
  });

  test("accepted", () => {
    const accepted = [
      ordered(),
      ordered(column("$timestamp", "uint64"), column("$cumulative_data_weight", "int64")),
      ordered(column("$timestamp", "uint64", { required: true })),
      sortedBy(column("k", "int64", key), column("$ttl", "uint64")),
      new TableSchema([column("k", "double", key), column("$empty", "int64")], { uniqueKeys: true }),
      sortedBy(column("h", "uint64", { ...key, expression: "farm_hash(k)" }), column("k", "string", key)),
      sortedBy(...many(64, (index) => column(`k${index}`, "int64", key))),
      ordered(...many(31, (index) => column(`a${index}`, "int64", { lock: `l${index}` }))),
      ordered(column("a".repeat(256), "int64"), { name: "s", ...struct }),
      ordered(column("s", "double", { aggregate: "sum" }), column("m", "string", { aggregate: "max" })),
    ];
    for (const schema of accepted) {
      expect(() => validateDynamicTableSchema(schema)).not.toThrow();
    }
  });

  test("the length of a name is counted in bytes", () => {
    expect(() => validateDynamicTableSchema(ordered(column("ё".repeat(128), "int64")))).not.toThrow();
    expect(errorOf(() => validateDynamicTableSchema(ordered(column("ё".repeat(129), "int64")))).code).toBe(
      314,
    );
    // A byte that is no UTF-8 counts once.
    expect(() => validateDynamicTableSchema(ordered(column("\udcff".repeat(256), "int64")))).not.toThrow();
  });

  test("the kind of the table, when it is fixed", () => {
    const sortedSchema = sortedBy(column("k", "int64", key));
    const wrong: readonly (readonly [TableSchema, DynamicTableKind])[] = [
      [ordered(), { sorted: true }],
      [sortedSchema, { sorted: false }],
    ];
    for (const [schema, kind] of wrong) {
      expect(errorOf(() => validateDynamicTableSchema(schema, kind)).code).toBe(314);
    }
    expect(() => validateDynamicTableSchema(sortedSchema, { sorted: true })).not.toThrow();
  });

  test("keys of a sorted dynamic table become unique by themselves", () => {
    const given = new TableSchema([column("k", "int64", key), value]);
    expect(toDynamicSchema(given).uniqueKeys).toBe(true);
    expect(toDynamicSchema(ordered()).uniqueKeys).toBe(false);
  });
});

describe("static tables", () => {
  test("accepted although no dynamic table may be so", () => {
    const accepted = [
      new TableSchema([]),
      new TableSchema([], { strict: false }),
      new TableSchema([column("k", "int64", key)]),
      new TableSchema([column("k", "any", key), value]),
      new TableSchema([{ name: "k", ...tuple, ...key }, value]),
      new TableSchema([column("k", "int64", { sortOrder: "descending" })]),
      new TableSchema([column("k", "int64", key), column("c", "int64", { expression: "k" })]),
      sortedBy(...many(256, (index) => column(`k${index}`, "int64", key))),
    ];
    for (const schema of accepted) {
      expect(() => validateStaticTableSchema(schema)).not.toThrow();
    }
  });

  test("refused", () => {
    const refused = [
      new TableSchema([{ name: "k", ...struct, ...key }]),
      new TableSchema([column("$foo", "int64")]),
      new TableSchema([column("a", "int64", { aggregate: "median" })]),
      sortedBy(...many(257, (index) => column(`k${index}`, "int64", key))),
    ];
    for (const schema of refused) {
      expect(errorOf(() => validateStaticTableSchema(schema)).code).toBe(314);
    }
  });
});
