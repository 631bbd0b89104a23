/** Properties of the readers and writers: all ways in give the same rows, whatever goes out comes in again. */
import { isList, isMap, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import { bytesToString, type DataFormat, parseYson, writeJson, writeYson } from "@qyt/yson";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { column, TableSchema } from "../table-schema.ts";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import {
  createRowReader,
  createRowWriter,
  createSchemalessRowReader,
  type EncodedRows,
  EncodedRowsBuilder,
  type OutputColumn,
  packBlocks,
  RowBlock,
  rowWeight,
} from "./index.ts";
import { viewOf } from "./row-output.ts";
import { CellCursor } from "./row-writer.ts";

const types = ["int64", "uint64", "double", "boolean", "string", "any"] as const satisfies PhysicalType[];
type Type = (typeof types)[number];

function format(name: DataFormat["name"], attributes: Record<string, YsonValue> = {}): DataFormat {
  return { name, attributes: mapOf({ enable_null_to_yson_entity_conversion: false, ...attributes }) };
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
  fc.string({ maxLength: 40 }).map((text) => Buffer.from(text)),
  fc.constantFrom(Buffer.alloc(700, "x"), Buffer.alloc(130, '"'), Buffer.alloc(63), Buffer.alloc(64, "a\\")),
);
const int64 = fc.oneof(
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  fc.bigInt({ min: -300n, max: 300n }),
);
const uint64 = fc.oneof(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), fc.bigInt({ min: 0n, max: 300n }));
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const node: fc.Arbitrary<YsonValue> = fc.letrec<{ node: YsonValue }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    int64,
    uint64.map((value) => new Uint64(value)),
    finite,
    fc.boolean(),
    fc.constant(null),
    bytes.map((value) => bytesToString(value)),
    fc.array(tie("node"), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          bytes.map((value) => bytesToString(value)),
          tie("node"),
        ),
        { maxLength: 4 },
      )
      .map((entries) => new Map(entries)),
  ),
})).node;

function arbitraryOf(type: Type): fc.Arbitrary<RowValue> {
  switch (type) {
    case "int64":
      return int64;
    case "uint64":
      return uint64;
    case "double":
      return finite;
    case "boolean":
      return fc.boolean();
    case "string":
      return bytes;
    default:
      return node.filter((value) => value !== null).map((value) => new YsonAny(writeYson(value, "binary")));
  }
}

interface Sample {
  readonly schema: TableSchema;
  readonly types: readonly Type[];
  readonly rows: readonly (RowValue | undefined)[][];
}

const names = ["a", "data", "$b", 'quo"te', "naïve", "with space", "x\\y", "z.1"];

const sample: fc.Arbitrary<Sample> = fc
  .array(fc.constantFrom(...types), { minLength: 1, maxLength: names.length })
  .chain((chosen) =>
    fc.record({
      schema: fc.constant(new TableSchema(chosen.map((type, index) => column(names[index] ?? "", type)))),
      types: fc.constant(chosen),
      rows: fc.array(
        fc
          .tuple(...chosen.map((type) => fc.option(arbitraryOf(type), { nil: null, freq: 6 })))
          .chain((row) =>
            fc.tuple(...row.map((value) => fc.option(fc.constant(value), { nil: undefined, freq: 8 }))),
          ),
        { maxLength: 12 },
      ),
    }),
  );

function toYson(value: RowValue, type: Type): YsonValue {
  if (typeof value === "bigint") {
    return type === "uint64" ? new Uint64(value) : value;
  }
  return value instanceof YsonAny
    ? parseYson(value.bytes)
    : value instanceof Uint8Array
      ? bytesToString(value)
      : value;
}

/** The rows as maps, with the columns in another order in each row. */
function toMaps({ schema, types: chosen, rows }: Sample): Map<string, YsonValue>[] {
  return rows.map((row, shift) => {
    const map = new Map<string, YsonValue>();
    for (let index = 0; index < row.length; index++) {
      const place = shift % 3 === 0 ? index : (index + shift) % row.length;
      const value = row[place];
      const type = chosen[place];
      if (value !== undefined && type !== undefined) {
        map.set(schema.columns[place]?.name ?? "", toYson(value, type));
      }
    }
    return map;
  });
}

/** JSON does not tell a small uint64 inside of a document from an int64. */
function withoutSmallUint64(value: YsonValue): YsonValue {
  if (value instanceof Uint64) {
    return value.value < 1n << 63n ? value.value : value;
  }
  if (isList(value)) {
    return value.map(withoutSmallUint64);
  }
  return isMap(value) ? new Map([...value].map(([key, item]) => [key, withoutSmallUint64(item)])) : value;
}

function asJsonSees(given: Sample): Sample {
  const rows = given.rows.map((row) =>
    row.map((value) =>
      value instanceof YsonAny
        ? new YsonAny(writeYson(withoutSmallUint64(parseYson(value.bytes)), "binary"))
        : value,
    ),
  );
  return { ...given, rows };
}

function build({ schema, rows }: Sample, keepAbsent = false): EncodedRows {
  const builder = new EncodedRowsBuilder(schema, { keepAbsent });
  for (const row of rows) {
    builder.addRow(row);
  }
  return builder.take();
}

/** Feeds the input in pieces whose sizes are given, the list over and over. */
function readIn(
  input: Buffer,
  schema: TableSchema,
  inputFormat: DataFormat,
  sizes: readonly number[],
  keepAbsent = false,
): EncodedRows {
  const reader = createRowReader(inputFormat, schema, { rowKind: "insert", keepAbsent });
  let at = 0;
  for (let piece = 0; at < input.length; piece++) {
    const size = sizes.length === 0 ? input.length : (sizes[piece % sizes.length] ?? 1);
    // A copy that is overwritten afterwards: readers must not keep the caller's memory.
    const chunk = Buffer.from(input.subarray(at, at + size));
    reader.feed(chunk);
    chunk.fill(0xee);
    at += size;
  }
  return reader.finish();
}

function expectSame(actual: EncodedRows, expected: EncodedRows): void {
  expect(actual.rowCount).toBe(expected.rowCount);
  expect(actual.bytes.equals(expected.bytes)).toBe(true);
  expect([...actual.ends]).toEqual([...expected.ends]);
  expect([...actual.weights]).toEqual([...expected.weights]);
}

const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 });

describe("reading", () => {
  it("gives the same rows from text, binary and pretty YSON, in pieces, as the builder", () => {
    fc.assert(
      fc.property(sample, sizes, fc.boolean(), (given, pieces, keepAbsent) => {
        const expected = build(given, keepAbsent);
        const maps = toMaps(given);
        for (const form of ["text", "binary", "pretty"] as const) {
          const input = Buffer.concat(maps.flatMap((row) => [writeYson(row, form), Buffer.from(";\n")]));
          expectSame(readIn(input, given.schema, format("yson"), pieces, keepAbsent), expected);
        }
      }),
    );
  });

  it("gives the same rows from JSON lines", () => {
    fc.assert(
      fc.property(sample, sizes, (given, pieces) => {
        const input = Buffer.concat(toMaps(given).flatMap((row) => [writeJson(row), Buffer.from("\n ")]));
        expectSame(readIn(input, given.schema, format("json"), pieces), build(asJsonSees(given)));
      }),
    );
  });

  it("weighs each row as its cells weigh", () => {
    fc.assert(
      fc.property(sample, (given) => {
        const rows = build(given);
        for (let row = 0; row < rows.rowCount; row++) {
          expect(rows.weights[row]).toBe(rowWeight(rows.bytes, rows.rowStart(row), rows.rowEnd(row)));
        }
      }),
    );
  });

  it("drains complete rows only, each once", () => {
    const schema = new TableSchema([column("a", "string")]);
    const reader = createRowReader(format("yson"), schema, { rowKind: "insert" });
    reader.feed(Buffer.from("{a=x};{a=y};{a="));
    expect(reader.drain().rowCount).toBe(2);
    expect(reader.drain().rowCount).toBe(0);
    reader.feed(Buffer.from("z};{a=w};"));
    expect(reader.finish().decodeRow(0)).toEqual([Buffer.from("z")]);
  });

  it("reads a long row in small chunks without reading it again each time", () => {
    const schema = new TableSchema([column("a", "string")]);
    const input = Buffer.from(`{a="${"x".repeat(1_000_000)}"};`);
    const started = process.cpuUsage().user;
    expect([...readIn(input, schema, format("yson"), [100]).weights]).toEqual([1_000_001]);
    expect(process.cpuUsage().user - started).toBeLessThan(10_000_000);
  });

  it("throws nothing but YtError on broken input", () => {
    fc.assert(
      fc.property(
        sample,
        sizes,
        fc.constantFrom("text", "binary", "json", "dsv"),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.nat(),
        (given, pieces, form, changes, cut) => {
          const maps = toMaps(given);
          const parts = maps.map((row) => {
            if (form === "json" || form === "dsv") {
              return Buffer.concat([writeJson(row), Buffer.from("\n")]);
            }
            return Buffer.concat([writeYson(row, form), Buffer.from(";")]);
          });
          let input = Buffer.concat(parts);
          for (const [place, byte] of changes) {
            if (input.length > 0) {
              input[place % input.length] = byte;
            }
          }
          input = cut % 3 === 0 ? input.subarray(0, cut % (input.length + 1)) : input;
          const inputFormat = format(form === "json" || form === "dsv" ? form : "yson");
          for (const make of [createRowReader, createSchemalessRowReader]) {
            try {
              const reader = make(inputFormat, given.schema, { rowKind: "insert" });
              for (let at = 0, piece = 0; at < input.length; piece++) {
                const size = pieces[piece % pieces.length] ?? input.length;
                reader.feed(input.subarray(at, at + size));
                at += size;
              }
              const rows = reader.finish();
              for (let row = 0; row < rows.rowCount; row++) {
                rows.decodeRow(row);
              }
            } catch (error) {
              expect(error).toBeInstanceOf(YtError);
            }
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("writing", () => {
  const columnsOf = (schema: TableSchema): OutputColumn[] =>
    schema.columns.map(({ name }, index) => ({ name, source: { kind: "column", index } }));

  function write(rows: EncodedRows, outputFormat: DataFormat, columns: readonly OutputColumn[]): Buffer {
    const writer = createRowWriter(outputFormat, columns);
    const options = { firstRowIndex: 0, baseCumulativeWeight: 0, timestamp: 1n, countSystemWeight: 0 };
    for (const { bytes: stored } of packBlocks(rows, 0, rows.rowCount, options)) {
      const block = RowBlock.parse(stored);
      writer.writeBlockRows(block, 0, block.rowCount, 0);
    }
    return writer.finish();
  }

  it("writes what reads back as the same rows, and the same bytes as the document writer", () => {
    fc.assert(
      fc.property(sample, fc.boolean(), (given, skipsNulls) => {
        const rows = build(given);
        const attributes = { skip_null_values: skipsNulls };
        const columns = columnsOf(given.schema);
        const maps = given.rows.map((row) => {
          const map = new Map<string, YsonValue>();
          for (const [index, { name }] of given.schema.columns.entries()) {
            const value = row[index] ?? null;
            if (value !== null || !skipsNulls) {
              map.set(name, toYson(value, given.types[index] ?? "any"));
            }
          }
          return map;
        });
        for (const form of ["binary", "text", "pretty"] as const) {
          const output = write(rows, format("yson", { format: form, ...attributes }), columns);
          expectSame(readIn(output, given.schema, format("yson"), []), rows);
          const end = Buffer.from(form === "binary" ? ";" : ";\n");
          const expected = Buffer.concat(maps.flatMap((row) => [writeYson(row, form), end]));
          expect(output.toString("latin1")).toBe(expected.toString("latin1"));
        }
        const json = write(rows, format("json", attributes), columns);
        expectSame(readIn(json, given.schema, format("json"), []), build(asJsonSees(given)));
        const expected = Buffer.concat(maps.flatMap((row) => [writeJson(row), Buffer.from("\n")]));
        expect(json.toString()).toBe(expected.toString());
      }),
    );
  });

  it("writes given values as it writes stored ones", () => {
    fc.assert(
      fc.property(sample, (given) => {
        const columns = columnsOf(given.schema);
        for (const outputFormat of [format("yson"), format("yson", { format: "text" }), format("json")]) {
          const writer = createRowWriter(outputFormat, columns);
          for (const row of given.rows) {
            writer.writeValues(
              row.map((value) => value ?? null),
              given.types,
            );
          }
          expect(writer.finish().equals(write(build(given), outputFormat, columns))).toBe(true);
        }
      }),
    );
  });

  it("writes given cells as it writes stored ones", () => {
    const pretty = format("yson", { format: "pretty" });
    fc.assert(
      fc.property(sample, (given) => {
        const columns = columnsOf(given.schema);
        const rows = build(given);
        const cursor = new CellCursor(columns.length);
        for (const outputFormat of [
          format("yson"),
          format("yson", { format: "text" }),
          format("json"),
          pretty,
        ]) {
          const writer = createRowWriter(outputFormat, columns);
          for (let row = 0; row < rows.rowCount; row++) {
            cursor.moveTo(rows.bytes, rows.rowStart(row), rows.rowEnd(row));
            writer.writeCells(rows.bytes, viewOf(rows.bytes), cursor.starts, cursor.ends);
          }
          expect(writer.finish().equals(write(rows, outputFormat, columns))).toBe(true);
        }
      }),
    );
  });

  it("has null where a stored row is older than the column", () => {
    const old = build({
      schema: new TableSchema([column("a", "int64")]),
      types: ["int64"],
      rows: [[1n]],
    });
    const columns: OutputColumn[] = [
      { name: "b", source: { kind: "column", index: 1 } },
      { name: "a", source: { kind: "column", index: 0 } },
    ];
    expect(write(old, format("yson", { format: "text" }), columns).toString()).toBe('{"b"=#;"a"=1;};\n');
    expect(write(old, format("json"), columns).toString()).toBe('{"b":null,"a":1}\n');
  });
});
