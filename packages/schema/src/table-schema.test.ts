import { mapOf, Uint64, withAttributes, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ColumnOptions, column, TableSchema } from "./table-schema.ts";
import { columnTypeFromV3 } from "./type-v3.ts";
import type { LogicalType } from "./value-type.ts";

const list = (...columns: readonly YsonMap[]): YsonValue => columns;
const optional = (item: YsonValue): YsonMap => mapOf({ type_name: "optional", item });

function parseError(value: YsonValue): YtError {
  try {
    TableSchema.fromYson(value);
  } catch (thrown) {
    if (thrown instanceof YtError) {
      return thrown;
    }
  }
  throw new Error("the schema was accepted");
}

/** The innermost message and the outer code. */
function reason(error: YtError): string {
  const inner = error.innerErrors[0];
  return inner === undefined ? error.message : reason(inner);
}

describe("reading a schema", () => {
  test("defaults: strict, keys not unique, columns optional", () => {
    const schema = TableSchema.fromYson(list(mapOf({ name: "a", type: "string" })));
    expect(schema.strict).toBe(true);
    expect(schema.uniqueKeys).toBe(false);
    expect(schema.isSorted).toBe(false);
    expect(schema.columns).toEqual([
      { name: "a", type: "string", physical: "string", required: false, typeV3: optional("string") },
    ]);
  });

  test("booleans may come as text", () => {
    const schema = TableSchema.fromYson(
      withAttributes(
        [mapOf({ name: "k", type: "int64", required: "true", sort_order: "ascending" })],
        mapOf({ strict: "false", unique_keys: "true" }),
      ),
    );
    expect(schema.strict).toBe(false);
    expect(schema.uniqueKeys).toBe(true);
    expect(schema.columns[0]?.required).toBe(true);
    expect(reason(parseError(list(mapOf({ name: "k", type: "int64", required: "yes" }))))).toContain(
      "boolean",
    );
  });

  test("finds columns by name", () => {
    const schema = TableSchema.fromYson(
      list(mapOf({ name: "k", type: "int64", sort_order: "ascending" }), mapOf({ name: "v", type: "any" })),
    );
    expect(schema.indexOf("k")).toBe(0);
    expect(schema.indexOf("v")).toBe(1);
    expect(schema.indexOf("x")).toBe(-1);
    expect(schema.keyColumnCount).toBe(1);
    expect(schema.isSorted).toBe(true);
  });

  test("an entity in place of an optional field counts as absent", () => {
    const schema = TableSchema.fromYson(
      list(mapOf({ name: "k", type: "int64", sort_order: null, lock: null })),
    );
    expect(schema.isSorted).toBe(false);
  });

  test("reads max_inline_hunk_size of either integer type", () => {
    const schema = TableSchema.fromYson(
      list(
        mapOf({ name: "a", type: "string", max_inline_hunk_size: 128n }),
        mapOf({ name: "b", type: "string", max_inline_hunk_size: new Uint64(128n) }),
      ),
    );
    expect(schema.columns.map((item) => item.maxInlineHunkSize)).toEqual([128n, 128n]);
  });
});

describe("types of columns", () => {
  const list3 = mapOf({ type_name: "list", item: "int64" });
  const cases: readonly (readonly [string, YsonMap, LogicalType, string, boolean])[] = [
    ["type alone", mapOf({ name: "a", type: "boolean" }), "boolean", "boolean", false],
    ["type and required", mapOf({ name: "a", type: "int8", required: true }), "int8", "int64", true],
    ["type_v3 alone, required", mapOf({ name: "a", type_v3: "bool" }), "boolean", "boolean", true],
    ["type_v3 alone, optional", mapOf({ name: "a", type_v3: optional("utf8") }), "utf8", "string", false],
    [
      "all three",
      mapOf({ name: "a", type: "any", required: false, type_v3: optional("yson") }),
      "any",
      "any",
      false,
    ],
    ["a composite", mapOf({ name: "a", type_v3: list3 }), "any", "any", true],
    ["an optional composite", mapOf({ name: "a", type_v3: optional(list3) }), "any", "any", false],
    ["two optionals", mapOf({ name: "a", type_v3: optional(optional("int64")) }), "any", "any", false],
    ["null", mapOf({ name: "a", type: "null" }), "null", "null", false],
    ["void", mapOf({ name: "a", type_v3: "void" }), "void", "null", false],
    [
      "a tag",
      mapOf({ name: "a", type_v3: mapOf({ type_name: "tagged", tag: "t", item: "uint32" }) }),
      "uint32",
      "uint64",
      true,
    ],
    [
      "a decimal",
      mapOf({ name: "a", type_v3: mapOf({ type_name: "decimal", precision: 10n, scale: 2n }) }),
      "string",
      "string",
      true,
    ],
  ];

  test.each(cases)("%s", (_, node, type, physical, required) => {
    const [parsed] = TableSchema.fromYson(list(node)).columns;
    expect(parsed).toMatchObject({ type, physical, required });
  });

  test("a simple type in a map is brought to its name", () => {
    expect(columnTypeFromV3(optional(mapOf({ type_name: "int64" }))).typeV3).toEqual(optional("int64"));
  });

  const failures: readonly (readonly [string, YsonMap, string])[] = [
    ["no type", mapOf({ name: "a" }), "Column type is not specified"],
    [
      "type and type_v3 differ",
      mapOf({ name: "a", type: "string", type_v3: "int64" }),
      `"type_v3" does not match "type"`,
    ],
    [
      "required and type_v3 differ",
      mapOf({ name: "a", required: true, type_v3: optional("int64") }),
      `"type_v3" does not match "required"`,
    ],
    [
      "required any",
      mapOf({ name: "a", type: "any", required: true }),
      `Column of type "any" cannot be required`,
    ],
    ["bare yson", mapOf({ name: "a", type_v3: "yson" }), `Column of type "any" cannot be required`],
    [
      "tagged yson",
      mapOf({ name: "a", type_v3: mapOf({ type_name: "tagged", tag: "t", item: "yson" }) }),
      `Column of type "any" cannot be required`,
    ],
    ["required null", mapOf({ name: "a", type: "null", required: true }), "Null type cannot be required"],
    ["unknown type", mapOf({ name: "a", type: "varchar" }), "varchar"],
    ["a name of version 1 in type_v3", mapOf({ name: "a", type_v3: "boolean" }), "boolean"],
    ["an unknown sort order", mapOf({ name: "a", type: "int64", sort_order: "up" }), "ESortOrder"],
    ["a struct without members", mapOf({ name: "a", type_v3: mapOf({ type_name: "struct" }) }), "members"],
    ["an empty lock", mapOf({ name: "a", type: "int64", lock: "" }), "Lock name cannot be empty"],
    ["an empty group", mapOf({ name: "a", type: "int64", group: "" }), "Group name cannot be empty"],
  ];

  test.each(failures)("refused: %s", (_, node, message) => {
    const error = parseError(list(node));
    expect(error.code).toBe(314);
    expect(error.message).toBe("New table schema is not valid");
    expect(error.innerErrors[0]?.message).toBe('Error validating schema of column "a"');
    expect(reason(error)).toContain(message);
  });

  test("types are at most 32 levels deep", () => {
    const nested = (levels: number): YsonValue =>
      levels === 1 ? "int64" : mapOf({ type_name: "list", item: nested(levels - 1) });
    expect(() => columnTypeFromV3(nested(32))).not.toThrow();
    expect(() => columnTypeFromV3(nested(33))).toThrow(expect.objectContaining({ code: 314 }));
  });
});

describe("refused schemas", () => {
  test("repeated names keep their own code inside", () => {
    const error = parseError(list(mapOf({ name: "a", type: "int64" }), mapOf({ name: "a", type: "string" })));
    expect(error.code).toBe(314);
    expect(error.find(322)?.message).toBe('Duplicate column name "a" in table schema');
  });

  test("key columns after others", () => {
    const error = parseError(
      list(mapOf({ name: "a", type: "int64" }), mapOf({ name: "k", type: "int64", sort_order: "ascending" })),
    );
    expect(error.code).toBe(314);
    expect(reason(error)).toBe("Key columns must form a prefix of schema");
  });

  test("no list, no map, no name", () => {
    for (const value of ["a", mapOf({}), [1n], [mapOf({ type: "int64" })]] satisfies YsonValue[]) {
      expect(parseError(value).code).toBe(314);
    }
  });
});

describe("writing a schema", () => {
  test("every column has its name and type in all forms; the rest only when set", () => {
    const schema = new TableSchema(
      [
        column("k", "int64", { sortOrder: "ascending", expression: "farm_hash(v)" }),
        column("v", "uint64", { required: true, aggregate: "sum", lock: "l", group: "g" }),
      ],
      { uniqueKeys: true },
    );
    const written = schema.toYson();
    expect(written).toEqual(
      withAttributes(
        [
          mapOf({
            name: "k",
            type: "int64",
            required: false,
            type_v3: optional("int64"),
            sort_order: "ascending",
            expression: "farm_hash(v)",
          }),
          mapOf({
            name: "v",
            type: "uint64",
            required: true,
            type_v3: "uint64",
            aggregate: "sum",
            lock: "l",
            group: "g",
          }),
        ],
        mapOf({ strict: true, unique_keys: true }),
      ),
    );
    expect(fieldNames(written)).toEqual([
      ["name", "type", "required", "type_v3", "sort_order", "expression"],
      ["name", "type", "required", "type_v3", "aggregate", "lock", "group"],
    ]);
  });

  test("reading what was written gives an equal schema", () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        const again = TableSchema.fromYson(schema.toYson());
        expect(again.equals(schema)).toBe(true);
        expect(again.toYson()).toEqual(schema.toYson());
      }),
    );
  });

  test("a difference in any field makes schemas unequal", () => {
    const make = (options: ColumnOptions, type: LogicalType = "int64"): TableSchema =>
      new TableSchema([column("a", type, options)]);
    const plain = make({});
    const others = [
      make({ required: true }),
      make({ sortOrder: "ascending" }),
      make({ aggregate: "sum" }),
      make({ lock: "l" }),
      make({ group: "g" }),
      make({ maxInlineHunkSize: 1n }),
      make({}, "int32"),
      new TableSchema(plain.columns, { strict: false }),
      new TableSchema([column("b", "int64")]),
      new TableSchema([]),
    ];
    expect(plain.equals(make({}))).toBe(true);
    for (const other of others) {
      expect(plain.equals(other)).toBe(false);
      expect(other.equals(plain)).toBe(false);
    }
  });

  test("members of structs whose names look like types are told apart", () => {
    const struct = (...members: readonly YsonMap[]): YsonMap =>
      mapOf({ name: "a", type_v3: mapOf({ type_name: "struct", members }) });
    const two = struct(mapOf({ name: "x", type: "int64" }), mapOf({ name: "y", type: "int64" }));
    const one = struct(mapOf({ name: "x=int64;y", type: "int64" }));
    expect(TableSchema.fromYson([two]).equals(TableSchema.fromYson([one]))).toBe(false);
  });
});

function fieldNames(written: YsonValue): readonly (readonly string[])[] {
  const columns = (written as { readonly value: readonly YsonMap[] }).value;
  return columns.map((item) => [...item.keys()]);
}

const simpleTypes = fc.constantFrom<LogicalType>(
  "int64",
  "uint8",
  "double",
  "boolean",
  "string",
  "utf8",
  "any",
  "date",
  "json",
  "null",
);

const typesV3: fc.Arbitrary<YsonValue> = fc.letrec<{ type: YsonValue }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<YsonValue>("int64", "bool", "string", "date32"),
    tie("type").map((item) => optional(item)),
    tie("type").map((item) => mapOf({ type_name: "list", item })),
    tie("type").map((item) => mapOf({ type_name: "dict", key: "string", value: item })),
    tie("type").map((item) => mapOf({ type_name: "tagged", tag: "t", item })),
    fc.array(tie("type"), { minLength: 1, maxLength: 3 }).map((types) =>
      mapOf({
        type_name: "struct",
        members: types.map((type, index) => mapOf({ name: `m${index}`, type })),
      }),
    ),
    fc
      .array(tie("type"), { minLength: 1, maxLength: 3 })
      .map((types) => mapOf({ type_name: "variant", elements: types.map((type) => mapOf({ type })) })),
  ),
})).type;

const schemas = fc
  .record({
    keyCount: fc.nat(2),
    strict: fc.boolean(),
    types: fc.array(
      fc.oneof(
        fc
          .record({ type: simpleTypes, required: fc.boolean() })
          .map(({ type, required }) =>
            column("x", type, { required: required && type !== "any" && type !== "null" }),
          ),
        typesV3.map((typeV3) => ({ name: "x", ...columnTypeFromV3(typeV3) })),
      ),
      { maxLength: 5 },
    ),
  })
  .map(
    ({ keyCount, strict, types }) =>
      new TableSchema(
        types.map((item, index) => ({
          ...item,
          name: `c${index}`,
          ...(index < keyCount
            ? { sortOrder: "ascending" as const }
            : { lock: `lock${index % 2}`, group: "g" }),
        })),
        { strict, uniqueKeys: keyCount > 0 && types.length > 0 },
      ),
  );
