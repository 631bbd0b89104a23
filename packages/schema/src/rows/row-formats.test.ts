/** Exact bytes of the row formats of http §14.3–14.5. */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { column, TableSchema } from "../table-schema.ts";
import {
  createRowReader,
  createRowWriter,
  createSchemalessRowReader,
  createSchemalessRowWriter,
  type EncodedRows,
  packBlocks,
  RowBlock,
  schemalessRowToYson,
} from "./index.ts";

function format(name: DataFormat["name"], attributes: Record<string, YsonValue> = {}): DataFormat {
  return { name, attributes: mapOf(attributes) };
}

const text = format("yson", { format: "text" });
const options = { firstRowIndex: 0, baseCumulativeWeight: 0, timestamp: 1n, countSystemWeight: 0 };

function readFree(input: string, schema?: TableSchema, inputFormat = format("yson")): EncodedRows {
  const reader = createSchemalessRowReader(inputFormat, schema, { rowKind: "static" });
  reader.feed(Buffer.from(input));
  return reader.finish();
}

function writeFree(
  rows: EncodedRows,
  outputFormat: DataFormat,
  writerOptions: Parameters<typeof createSchemalessRowWriter>[1] = {},
): string {
  const writer = createSchemalessRowWriter(outputFormat, writerOptions);
  for (const { bytes } of packBlocks(rows, 0, rows.rowCount, options)) {
    const block = RowBlock.parse(bytes);
    writer.writeBlockRows(block, 0, block.rowCount);
  }
  return writer.finish().toString("latin1");
}

const schema = new TableSchema([
  column("a", "int64"),
  column("b", "string"),
  column("c", "double"),
  column("d", "any"),
]);

function write(input: string, outputFormat: DataFormat, isSchemaful = false): string {
  const reader = createRowReader(format("yson"), schema, { rowKind: "insert" });
  reader.feed(Buffer.from(input));
  const rows = reader.finish();
  const columns = schema.columns.map(({ name }, index) => ({
    name,
    source: { kind: "column", index } as const,
  }));
  const writer = createRowWriter(outputFormat, columns, { isSchemaful });
  for (const { bytes } of packBlocks(rows, 0, rows.rowCount, options)) {
    const block = RowBlock.parse(bytes);
    writer.writeBlockRows(block, 0, block.rowCount, 0);
  }
  return writer.finish().toString("latin1");
}

describe("rows without a schema", () => {
  it("[http 108] [http 109] [http 110] go in as JSON and out as JSON and as text YSON", () => {
    const rows = readFree('{"a":1}', undefined, format("json"));
    expect(writeFree(rows, format("json"))).toBe('{"a":1}\n');
    expect(writeFree(rows, text)).toBe('{"a"=1;};\n');
    expect(writeFree(rows, format("yson"))).toBe("{\x01\x02a=\x02\x02;};");
  });

  it("[tables 23] weigh one and their values", () => {
    expect([...readFree("{a=1};{a=1};{a=1}").weights]).toEqual([9, 9, 9]);
    expect([...readFree("{a=#;b=%true;c=abc;d=[1]};{}").weights]).toEqual([1 + 1 + 3 + 5, 1]);
  });

  it("keep columns, types and order", () => {
    const rows = readFree('{z=1u;a=[<x=1>#;{"$k"=2.}];"$timestamp"=5;n=#};{}');
    expect(writeFree(rows, text)).toBe('{"z"=1u;"a"=[<"x"=1;>#;{"$k"=2.;};];"$timestamp"=5;"n"=#;};\n{};\n');
    expect(writeFree(rows, format("json"))).toBe(
      '{"z":1,"a":[{"$attributes":{"x":1},"$value":null},{"$$k":2.0}],"$$timestamp":5,"n":null}\n{}\n',
    );
    expect(writeFree(rows, text, { columns: ["n", "z"] })).toBe('{"z"=1u;"n"=#;};\n{};\n');
    expect(writeFree(rows, text, { skipNullValues: true, columns: ["n", "z"] })).toBe('{"z"=1u;};\n{};\n');
    expect([...schemalessRowToYson(rows.bytes, 0, rows.rowEnd(0)).keys()]).toEqual([
      "z",
      "a",
      "$timestamp",
      "n",
    ]);
  });

  it("are read back whatever their size", () => {
    const row = `{a="${"x".repeat(20_000)}";b="${"y".repeat(200)}"};`;
    expect(writeFree(readFree(row), text)).toBe(`${row.replace(/([ab])=/g, '"$1"=').slice(0, -2)};};\n`);
  });

  it("[tables 175] are checked against the columns that are declared", () => {
    const weak = new TableSchema([column("k", "int64", { required: true })], { strict: false });
    expect(writeFree(readFree("{x=foo;k=1u}", weak), text)).toBe('{"x"="foo";"k"=1;};\n');
    for (const row of ["{x=1}", "{k=#}", "{k=foo}", "{k=1;x=1;x=2}"]) {
      expect(() => readFree(row, weak)).toThrow(YtError);
    }
  });

  it("[http 111] have control records", () => {
    for (const [outputFormat, expected] of [
      [format("json"), '{"$attributes":{"row_index":0},"$value":null}\n{"a":1}\n'],
      [text, '<"row_index"=0;>#;\n{"a"=1;};\n'],
      [format("yson"), "<\x01\x12row_index=\x02\x00;>#;{\x01\x02a=\x02\x02;};"],
    ] as const) {
      const writer = createSchemalessRowWriter(outputFormat);
      writer.writeControl("row_index", 0n);
      const [block] = packBlocks(readFree("{a=1}"), 0, 1, options);
      writer.writeBlockRows(RowBlock.parse(block?.bytes ?? Buffer.alloc(0)), 0, 1);
      expect(writer.finish().toString("latin1")).toBe(expected);
      const columnar = createRowWriter(outputFormat, []);
      columnar.writeControl("row_index", 0n);
      expect(columnar.finish().toString("latin1")).toBe(
        expected.slice(0, -writeFree(readFree("{a=1}"), outputFormat).length),
      );
    }
  });
});

describe("row formats", () => {
  it("writes pretty YSON with four spaces", () => {
    expect(write("{a=1;d=[x]}", format("yson", { format: "pretty" }))).toBe(
      '{\n    "a" = 1;\n    "b" = #;\n    "c" = #;\n    "d" = [\n        "x";\n    ];\n};\n',
    );
  });

  it("writes missing rows", () => {
    for (const [outputFormat, expected] of [
      [text, "#;\n"],
      [format("yson"), "#;"],
      [format("json"), "null\n"],
    ] as const) {
      const writer = createRowWriter(outputFormat, []);
      writer.writeMissing();
      expect(writer.finish().toString()).toBe(expected);
    }
  });

  it("writes rare JSON modes", () => {
    const annotated = format("json", { annotate_with_types: true, stringify: true });
    expect(write("{a=1}", annotated)).toBe(
      '{"a":{"$type":"int64","$value":"1"},"b":null,"c":null,"d":null}\n',
    );
    expect(() => write("{c=%nan}", format("json"))).toThrow(YtError);
    expect(write("{c=%nan}", format("json", { stringify_nan_and_infinity: true }))).toContain('"nan"');
    expect(write("{c=1.}", format("json"))).toContain('"c":1.0,');
    expect(() => write('{b="\\xFF"}', format("json", { encode_utf8: false }))).toThrow(
      "Invalid UTF-8 string in JSON",
    );
  });

  it("[http 115] writes schemaful DSV", () => {
    const columns = ["a", "b"];
    const sentinel = format("schemaful_dsv", {
      columns,
      missing_value_mode: "print_sentinel",
      missing_value_sentinel: "-",
    });
    expect(write("{a=1}", sentinel)).toBe("1\t-\n");
    expect(() => write("{a=1}", format("schemaful_dsv", { columns }))).toThrow(
      'Column "b" is in schema but missing',
    );
    expect(write("{a=1}", format("schemaful_dsv", { columns, missing_value_mode: "skip_row" }))).toBe("");
    expect(() => write("{a=1}", format("schemaful_dsv"))).toThrow(YtError);
    const header = format("schemaful_dsv", { enable_column_names_header: true, columns });
    expect(write("{a=1;b=x}", header)).toBe("a\tb\n1\tx\n");
  });

  it("[http 116] writes DSV with escapes", () => {
    expect(write('{b="x\\ty"}', format("dsv"))).toBe("b=x\\ty\n");
    expect(write("{a=1;c=1.5}", format("dsv"))).toBe("a=1\tc=1.5\n");
    expect(() => write("{d=[]}", format("dsv"))).toThrow(YtError);
    expect(write("{a=1;d=[]}", format("dsv", { skip_unsupported_types: true }))).toBe("a=1\n");
    expect(() => write("{a=1}", format("dsv"), true)).toThrow('Unsupported output format "dsv"');
  });

  it("reads DSV", () => {
    const strings = new TableSchema([column("a", "string"), column("b=", "string")]);
    const read = (input: string, inputFormat: DataFormat): unknown[] => {
      const reader = createRowReader(inputFormat, strings, { rowKind: "insert" });
      for (const byte of Buffer.from(input)) {
        reader.feed(Buffer.from([byte]));
      }
      const rows = reader.finish();
      return Array.from({ length: rows.rowCount }, (_, row) =>
        rows
          .decodeRow(row)
          .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)),
      );
    };
    expect(read("a=x\\ty\tb\\==1=2\tignored\n\n", format("dsv"))).toEqual([
      ["x\ty", "1=2"],
      [null, null],
    ]);
    expect(() => read("a=x", format("dsv"))).toThrow(YtError);
    const schemaful = format("schemaful_dsv", { columns: ["b=", "a"], missing_value_mode: "print_sentinel" });
    expect(read("1\t\n2\\n\t3\n", schemaful)).toEqual([
      [null, "1"],
      ["3", "2\n"],
    ]);
    expect(() => read("1\n", schemaful)).toThrow("Row 0 is incomplete: expected 2 fields but found 1");
    expect(() => read("1\t2\t3\n", schemaful)).toThrow("Too many fields in row");
    expect(() => read("1\n", format("schemaful_dsv"))).toThrow(YtError);
  });

  it("[http 117] writes web_json as one document", () => {
    expect(write("{a=1;b=x};{}", format("web_json"))).toBe(
      '{"rows":[{"a":{"$type":"int64","$value":"1"},"b":{"$type":"string","$value":"x"},"c":null,"d":null},' +
        '{"a":null,"b":null,"c":null,"d":null}],"incomplete_columns":"false","incomplete_all_column_names":"false",' +
        '"all_column_names":["a","b","c","d"]}',
    );
    expect(write("", format("web_json"))).toBe(
      '{"rows":[],"incomplete_columns":"false","incomplete_all_column_names":"false","all_column_names":[]}',
    );
    const narrow = format("web_json", { max_selected_column_count: 1n, field_weight_limit: 3n });
    expect(write("{a=1;b=abcdef}", narrow)).toContain('"incomplete_columns":"true"');
    const long = format("web_json", { column_names: ["b"], field_weight_limit: 3n });
    expect(write("{b=abcdef}", long)).toContain('{"b":{"$incomplete":true,"$type":"string","$value":"abc"}}');
  });

  it("refuses formats that carry no rows here", () => {
    for (const name of ["skiff", "protobuf", "arrow", "yaml", "blob"] as const) {
      expect(() => write("{}", format(name))).toThrow(`Unsupported output format "${name}"`);
      expect(() => createRowReader(format(name), schema, { rowKind: "insert" })).toThrow(
        `Unsupported input format "${name}"`,
      );
    }
    expect(() => createRowReader(format("web_json"), schema, { rowKind: "insert" })).toThrow(YtError);
    expect(() => write("{}", format("yson", { format: "nice" }))).toThrow(YtError);
  });
});
