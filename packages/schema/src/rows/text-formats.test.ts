/** The formats of separated text, in both directions: yamr with lines and with lengths, dsv, tskv, schemaful dsv. */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createRowWriter,
  createSchemalessRowReader,
  createSchemalessRowWriter,
  packBlocks,
  RowBlock,
  schemalessRowToYson,
  writeDsvDocument,
} from "./index.ts";

function format(name: DataFormat["name"], attributes: Record<string, YsonValue> = {}): DataFormat {
  return { name, attributes: mapOf(attributes) };
}

/** Rows as plain objects, read in pieces of `step` bytes. */
function read(input: string | Buffer, inputFormat: DataFormat, step = 1): Record<string, unknown>[] {
  const reader = createSchemalessRowReader(inputFormat, undefined, { rowKind: "static" });
  const bytes = typeof input === "string" ? Buffer.from(input, "latin1") : input;
  for (let at = 0; at < bytes.length; at += step) {
    reader.feed(bytes.subarray(at, at + step));
  }
  const rows = reader.finish();
  return Array.from({ length: rows.rowCount }, (_, row) =>
    Object.fromEntries(schemalessRowToYson(rows.bytes, rows.rowStart(row), rows.rowEnd(row))),
  );
}

/** Rows given in text YSON, in the format, with control records before them. */
function write(
  input: string | Buffer,
  outputFormat: DataFormat,
  controls: readonly (readonly [string, bigint])[] = [],
): Buffer {
  const reader = createSchemalessRowReader(format("yson"), undefined, { rowKind: "static" });
  reader.feed(Buffer.from(input));
  const rows = reader.finish();
  const writer = createSchemalessRowWriter(outputFormat);
  for (const [attribute, value] of controls) {
    writer.writeControl(attribute, value);
  }
  const options = { firstRowIndex: 0, baseCumulativeWeight: 0, timestamp: 1n, countSystemWeight: 0 };
  for (const { bytes } of packBlocks(rows, 0, rows.rowCount, options)) {
    const block = RowBlock.parse(bytes);
    writer.writeBlockRows(block, 0, block.rowCount);
  }
  return writer.finish();
}

const withSubkey = { has_subkey: true };

describe("yamr in lines", () => {
  it("is key and value, in this order whatever the row's", () => {
    const rows = "{key=key1;value=value1};{value=value2;key=key2;trash=1;subkey=5};";
    expect(write(rows, format("yamr")).toString()).toBe("key1\tvalue1\nkey2\tvalue2\n");
    expect(read("key1\tvalue1\nkey2\tvalue with \t and more", format("yamr"))).toEqual([
      { key: "key1", value: "value1" },
      { key: "key2", value: "value with \t and more" },
    ]);
  });

  it("has a subkey when told so; it may be missing, and the value after it", () => {
    const yamr = format("yamr", withSubkey);
    const rows = "{key=k;subkey=s;value=v};{key=k;value=v};{key=k;subkey=#;value=v};";
    expect(write(rows, yamr).toString()).toBe("k\ts\tv\nk\t\tv\nk\t\tv\n");
    expect(read("k\ts\tv\nk\ts\n", yamr)).toEqual([
      { key: "k", subkey: "s", value: "v" },
      { key: "k", subkey: "s", value: "" },
    ]);
  });

  it("refuses rows without key or value, and values that are no strings", () => {
    expect(() => write("{value=v}", format("yamr"))).toThrow('Missing column "key" in YAMR record');
    expect(() => write("{key=k}", format("yamr"))).toThrow('Missing column "value" in YAMR record');
    expect(() => write("{key=k;value=1}", format("yamr"))).toThrow(
      'Wrong type "int64" of column "value" in YAMR record',
    );
    for (const input of ["\n", "key\n", "key\tvalue\nkey\n", "key"]) {
      expect(() => read(input, format("yamr")), input).toThrow("cannot be parsed as a table switch");
    }
  });

  it("escapes when told so", () => {
    const yamr = format("yamr", { ...withSubkey, enable_escaping: true });
    expect(write('{key="\\n";subkey="\\t";value="\\n"}', yamr).toString()).toBe("\\n\t\\t\t\\n\n");
    expect(read("\\tkey\\t\t\\n\ta\tb\t\\n\n", yamr)).toEqual([
      { key: "\tkey\t", subkey: "\n", value: "a\tb\t\n" },
    ]);
  });

  it("takes other separators and names", () => {
    const yamr = format("yamr", { fs: "X", rs: "Y", key: "k", value: "v" });
    expect(write("{k=a;v=b}", yamr).toString()).toBe("aXbY");
    expect(read("aXbYcXdY", yamr)).toEqual([
      { k: "a", v: "b" },
      { k: "c", v: "d" },
    ]);
    expect(() => read("", format("yamr", { fs: "ab" }))).toThrow(YtError);
  });

  it("says tables and rows in lines of their own", () => {
    const yamr = format("yamr", { enable_table_index: true });
    const controls = [
      ["table_index", 42n],
      ["row_index", 0n],
    ] as const;
    expect(write("{key=k;value=v}", yamr, controls).toString()).toBe("42\n0\nk\tv\n");
    expect(() => write("", yamr, [["range_index", 0n]])).toThrow("Range indices are not supported");
    expect(read("0\nk\tv\n", yamr)).toEqual([{ key: "k", value: "v" }]);
    expect(() => read("1\nk\tv\n", yamr)).toThrow("Invalid table index");
  });
});

describe("yamr with lengths", () => {
  const lenval = format("yamr", { ...withSubkey, lenval: true });
  const uint32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const field = (text: string): Buffer => Buffer.concat([uint32(text.length), Buffer.from(text)]);

  it("has a length in front of each field", () => {
    const expected = Buffer.concat(["key1", "subkey1", "value1", "", "", ""].map(field));
    expect(write('{key=key1;subkey=subkey1;value=value1};{key="";value=""}', lenval)).toEqual(expected);
    expect(read(expected, lenval)).toEqual([
      { key: "key1", subkey: "subkey1", value: "value1" },
      { key: "", subkey: "", value: "" },
    ]);
  });

  it("marks tables, ranges and rows by lengths that cannot be", () => {
    const yamr = format("yamr", { lenval: true, enable_table_index: true });
    const controls = [
      ["table_index", 1n],
      ["range_index", 2n],
      ["row_index", 3n],
    ] as const;
    expect(write("", yamr, controls)).toEqual(
      Buffer.from("ffffffff01000000fdffffff02000000fcffffff0300000000000000", "hex"),
    );
    const switched = Buffer.concat([uint32(0xffff_ffff), uint32(0), field("k"), field("v")]);
    expect(read(switched, yamr)).toEqual([{ key: "k", value: "v" }]);
    switched.writeUInt32LE(1, 4);
    expect(() => read(switched, yamr)).toThrow("Invalid table index");
    expect(() => read(Buffer.concat([uint32(0xffff_fffc), Buffer.alloc(8)]), yamr)).toThrow(
      "Unexpected marker",
    );
  });

  it("refuses torn records and lengths beyond any row", () => {
    expect(() => read(field("key").subarray(0, 5), lenval)).toThrow("Unexpected end of input");
    expect(() => read(uint32(0x7fff_ffff), lenval)).toThrow("too large");
  });

  it("counts rows at the end when told so", () => {
    const yamr = format("yamr", { lenval: true, enable_eom: true });
    const bytes = write("{key=a;value=b};{key=c;value=d}", yamr);
    expect(bytes.subarray(-12).toString("hex")).toBe("fbffffff0200000000000000");
    expect(read(bytes, yamr)).toHaveLength(2);
    expect(() => read(bytes.subarray(0, -12), yamr)).toThrow("Missing EOM marker");
    expect(() => read(Buffer.concat([bytes, field("x")]), yamr)).toThrow("Garbage after EOM marker");
    bytes[bytes.length - 8] = 3;
    expect(() => read(bytes, yamr)).toThrow("Row count mismatch");
    expect(() => read("", format("yamr", { enable_eom: true }))).toThrow("not supported in YAMR text mode");
  });

  it("gives back what was written, cut anywhere", () => {
    const row = fc.record({ key: fc.string(), subkey: fc.string(), value: fc.string() });
    const modes = [lenval, format("yamr", { ...withSubkey, enable_escaping: true })];
    fc.assert(
      fc.property(fc.array(row), fc.nat(20), fc.constantFrom(...modes), (rows, step, mode) => {
        const yson = rows.map((one) =>
          Object.entries(one)
            .map(([name, value]) => `${name}=${JSON.stringify(value).replace(/[^ -~]/g, "?")}`)
            .join(";"),
        );
        const bytes = write(yson.map((one) => `{${one}};`).join(""), mode);
        expect(write(yson.map((one) => `{${one}};`).join(""), mode)).toEqual(bytes);
        expect(read(bytes, mode, step + 1)).toHaveLength(rows.length);
        expect(read(bytes, mode, step + 1)).toEqual(read(bytes, mode, bytes.length + 1));
      }),
    );
  });
});

describe("dsv", () => {
  it("reads empty records, empty keys and values, and no more", () => {
    expect(read("", format("dsv"))).toEqual([]);
    expect(read("\n\n", format("dsv"))).toEqual([{}, {}]);
    expect(read("=\n", format("dsv"))).toEqual([{ "": "" }]);
    expect(read("ntr=\\0\\0\n", format("dsv"))).toEqual([{ ntr: "\0\0" }]);
    expect(() => read("a\0b=v\n", format("dsv"))).toThrow("Unescaped");
    expect(() => read("a=b", format("dsv"))).toThrow("not terminated");
  });

  it("reads and writes tskv", () => {
    const tskv = format("dsv", { line_prefix: "tskv" });
    expect(read("tskv\ntskv\tid=1\tguid=100500\t\nt\\skv\ta\\=b=c\\=d or e=f\n", tskv)).toEqual([
      {},
      { id: "1", guid: "100500" },
      { "a=b": "c=d or e=f" },
    ]);
    expect(() => read("tZkv\ta=b\n", tskv)).toThrow('Expected the line prefix "tskv"');
    expect(write('{};{id=1;"k="="v="}', tskv).toString()).toBe("tskv\ntskv\tid=1\tk\\==v=\n");
  });

  it("names the table in a field, and has no room for other indexes", () => {
    const dsv = format("dsv", { enable_table_index: true });
    expect(write("{a=1};{b=2.}", dsv, [["table_index", 2n]]).toString()).toBe(
      "a=1\t@table_index=2\nb=2.\t@table_index=2\n",
    );
    expect(write("{a=1}", format("dsv"), [["table_index", 2n]]).toString()).toBe("a=1\n");
    expect(() => write("{a=1}", dsv, [["row_index", 0n]])).toThrow(
      "Row indices are not supported in DSV format",
    );
  });
});

describe("documents in dsv", () => {
  const document = (value: YsonValue): string => writeDsvDocument(value, format("dsv")).toString();

  it("are scalars, flat maps, and lists of them", () => {
    expect(document("0-2-xb-1234")).toBe("0-2-xb-1234");
    expect(document(mapOf({ a: "b", c: 1n, "d=": true, e: 1 }))).toBe("a=b\tc=1\td\\==true\te=1.");
    expect(document([100n, "foo", null, mapOf({ a: "10", b: "c" })])).toBe("100\nfoo\n\na=10\tb=c\n");
    expect(document([])).toBe("");
  });

  it("are nothing deeper", () => {
    for (const value of [mapOf({ a: [] }), [[1n]], mapOf({ a: null }), mapOf({ a: new Map() })]) {
      expect(() => document(value)).toThrow("not supported by DSV; ask for yson or json");
    }
  });
});

describe("schemaful dsv", () => {
  it("names the table in the first field, and has no room for other indexes", () => {
    const indexed = format("schemaful_dsv", { columns: ["a"], enable_table_index: true });
    expect(write("{a=x}", indexed, [["table_index", 1n]]).toString()).toBe("1\tx\n");
    expect(read("0\tx\n", indexed)).toEqual([{ a: "x" }]);
    expect(() => read("1\tx\n", indexed)).toThrow("Invalid table index");
    expect(() => write("{a=x}", indexed, [["range_index", 0n]])).toThrow(
      "Range indices are not supported in schemaful DSV format",
    );
  });

  it("refuses a header on input, repeated columns, and rows that were not found", () => {
    const header = format("schemaful_dsv", { columns: ["a"], enable_column_names_header: true });
    expect(() => read("a\n1\n", header)).toThrow('"enable_column_names_header" is not supported for input');
    const repeated = format("schemaful_dsv", { columns: ["a", "a"] });
    expect(() => read("1\t1\n", repeated)).toThrow('Duplicate column name "a"');
    const writer = createRowWriter(format("schemaful_dsv", { columns: ["a"] }), [], { isSchemaful: true });
    expect(() => writer.writeMissing()).toThrow("Empty rows are not supported by schemaful dsv writer");
  });
});
