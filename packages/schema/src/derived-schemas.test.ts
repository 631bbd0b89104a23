import { mapOf, withAttributes } from "@qyt/base";
import { describe, expect, test } from "vitest";
import { toProducerWriteSchema, toQuerySchema, toWriteSchema } from "./derived-schemas.ts";
import { consumerSchema, consumerSchemaWithoutMeta, producerSchema } from "./queue-schemas.ts";
import { validateDynamicTableSchema } from "./schema-validation.ts";
import { column, TableSchema } from "./table-schema.ts";

const queue = new TableSchema([
  column("$timestamp", "uint64"),
  column("data", "string", { required: true }),
  column("$cumulative_data_weight", "int64"),
  column("extra", "any"),
]);
const sorted = new TableSchema(
  [
    column("hash", "uint64", { sortOrder: "ascending", expression: "farm_hash(k)" }),
    column("k", "string", { sortOrder: "ascending" }),
    column("v", "any"),
  ],
  { uniqueKeys: true },
);
const names = (schema: TableSchema): readonly string[] => schema.columns.map(({ name }) => name);

describe("schemas derived from that of a queue", () => {
  test("queries see two key columns in front and everything the table has", () => {
    const schema = toQuerySchema(queue);
    expect(names(schema)).toEqual([
      "$tablet_index",
      "$row_index",
      "$timestamp",
      "data",
      "$cumulative_data_weight",
      "extra",
    ]);
    expect(schema.keyColumnCount).toBe(2);
    expect(schema.columns.slice(0, 2).map(({ type, required }) => [type, required])).toEqual([
      ["int64", false],
      ["int64", false],
    ]);
  });

  test("writers may choose the tablet and do not see what the server fills", () => {
    expect(names(toWriteSchema(queue))).toEqual(["$tablet_index", "data", "extra"]);
    expect(toWriteSchema(queue).columns[1]?.required).toBe(true);
  });

  test("producers number their rows", () => {
    const schema = toProducerWriteSchema(queue);
    expect(names(schema)).toEqual(["$tablet_index", "$sequence_number", "data", "extra"]);
    expect(schema.columns[1]?.type).toBe("int64");
  });
});

describe("schemas derived from that of a sorted table", () => {
  test("queries see the table as it is", () => {
    expect(toQuerySchema(sorted)).toBe(sorted);
  });

  test("writers leave computed columns out", () => {
    expect(names(toWriteSchema(sorted))).toEqual(["k", "v"]);
    expect(toWriteSchema(sorted).uniqueKeys).toBe(true);
  });
});

describe("tables of consumers and producers", () => {
  test.each([
    ["consumer", consumerSchema],
    ["consumer without meta", consumerSchemaWithoutMeta],
    ["producer", producerSchema],
  ])("the schema of a %s suits a sorted dynamic table", (_, schema) => {
    expect(() => validateDynamicTableSchema(schema, { sorted: true })).not.toThrow();
    expect(TableSchema.fromYson(schema.toYson()).equals(schema)).toBe(true);
  });

  test("a consumer schema as clients send it is recognised", () => {
    const key = { sort_order: "ascending", required: true } as const;
    const sent = withAttributes(
      [
        mapOf({ name: "queue_cluster", type: "string", ...key }),
        mapOf({ name: "queue_path", type: "string", ...key }),
        mapOf({ name: "partition_index", type: "uint64", ...key }),
        mapOf({ name: "offset", type: "uint64", required: true }),
        mapOf({ name: "meta", type: "any", required: false }),
      ],
      mapOf({ strict: true, unique_keys: true }),
    );
    expect(TableSchema.fromYson(sent).equals(consumerSchema)).toBe(true);
    expect(consumerSchema.equals(consumerSchemaWithoutMeta)).toBe(false);
  });

  test("the producer schema", () => {
    expect(
      producerSchema.columns.map(({ name, type, required, sortOrder }) => [name, type, required, sortOrder]),
    ).toEqual([
      ["queue_cluster", "string", true, "ascending"],
      ["queue_path", "string", true, "ascending"],
      ["session_id", "string", true, "ascending"],
      ["sequence_number", "int64", true, undefined],
      ["epoch", "int64", true, undefined],
      ["user_meta", "any", false, undefined],
      ["system_meta", "any", false, undefined],
    ]);
  });
});
