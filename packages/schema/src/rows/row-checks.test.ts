/** The checks of tables §6.2 and the row rules of http §11.3 and §14.1, case by case. */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, parseYson, writeYsonText } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { column, TableSchema } from "../table-schema.ts";
import type { RowValue } from "../value-type.ts";
import { YsonAny } from "../value-type.ts";
import { createRowReader, type EncodedRows, EncodedRowsBuilder, type RowReaderOptions } from "./index.ts";

const keyed = new TableSchema([column("k", "int64", { sortOrder: "ascending" }), column("v", "string")], {
  uniqueKeys: true,
});
const queue = new TableSchema([column("$tablet_index", "int64"), column("data", "string")]);

function format(name: DataFormat["name"], attributes: Record<string, YsonValue> = {}): DataFormat {
  return { name, attributes: mapOf(attributes) };
}

function read(
  input: string | Buffer,
  schema: TableSchema,
  options: Partial<RowReaderOptions> = {},
  inputFormat = format("yson"),
): EncodedRows {
  const reader = createRowReader(inputFormat, schema, { rowKind: "insert", ...options });
  reader.feed(Buffer.from(input));
  return reader.finish();
}

function failure(run: () => unknown): YtError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(YtError);
    return error as YtError;
  }
  throw new Error("No error was thrown");
}

function messages(error: YtError): string[] {
  return [error.message, ...error.innerErrors.flatMap(messages)];
}

function values(rows: EncodedRows): (RowValue | undefined)[][] {
  return Array.from({ length: rows.rowCount }, (_, row) => rows.decodeRow(row));
}

describe("row checks", () => {
  it("[http 86] refuses an unknown column and names the row", () => {
    const error = failure(() => read('{"k":0}\n{"k":1,"z":1}', keyed, {}, format("json")));
    expect(error).toMatchObject({ code: 307, message: 'Unexpected column "z"' });
    expect(error.attributes.get("row_index")).toBe(1n);
  });

  it("[http 87] refuses a string in an int64 column", () => {
    const error = failure(() => read('{"k":"str","v":"a"}', keyed, {}, format("json")));
    expect(error.code).toBe(307);
    expect(messages(error)).toEqual([
      'Error validating column "k"',
      'Invalid type, expected type "int64" but got "string"',
    ]);
  });

  it("[http 88] takes an integer in a double column only when told to", () => {
    const schema = new TableSchema([column("d", "double")]);
    expect(failure(() => read('{"d":1}', schema, {}, format("json"))).code).toBe(307);
    const told = format("json", { enable_integral_to_double_conversion: true });
    expect(values(read('{"d":1}', schema, {}, told))).toEqual([[1]]);
    expect(values(read('{"d":1.0}', schema, {}, format("json")))).toEqual([[1]]);
  });

  it("[http 89] refuses items that are no maps", () => {
    for (const item of ["5", "foo", "[1]", "#", "%true", "1.5", '"x"']) {
      expect(failure(() => read(item, keyed)).message).toBe("Invalid row format, map expected");
    }
    for (const item of ["5", '"x"', "[1]", "null", "true"]) {
      expect(failure(() => read(item, keyed, {}, format("json"))).message).toBe(
        "Invalid row format, map expected",
      );
    }
  });

  it("[tables 108] wants required columns", () => {
    const schema = new TableSchema([column("a", "int64", { required: true }), column("b", "string")]);
    for (const row of ["{a=#}", "{b=x}", "{}"]) {
      const error = failure(() => read(row, schema));
      expect(error.code).toBe(307);
      expect(messages(error)).toContain('Required column "a" cannot have "null" value');
    }
    const partial = failure(() => read("{b=x}", schema, { keepAbsent: true }));
    expect(partial).toMatchObject({ code: 307, message: 'Missing required column "a"' });
    expect(values(read("{a=1}", schema))).toEqual([[1n, null]]);
  });

  it("[tables 109] names both types of a mismatch, and the unknown column", () => {
    expect(messages(failure(() => read("{data=5}", queue)))).toEqual([
      'Error validating column "data"',
      'Invalid type, expected type "string" but got "int64"',
    ]);
    expect(failure(() => read("{other=5}", queue))).toMatchObject({
      code: 307,
      message: 'Unexpected column "other"',
    });
  });

  it("[tables 21] takes no column that the server fills", () => {
    expect(failure(() => read("{data=x;$timestamp=1u}", queue)).code).toBe(4000);
    expect(failure(() => read('{data=x;"$timestamp"=1u}', queue))).toMatchObject({
      code: 307,
      message: 'Unexpected column "$timestamp"',
    });
  });

  it("[tables 157] refuses NaN in a key", () => {
    const schema = new TableSchema([
      column("k", "double", { sortOrder: "ascending" }),
      column("v", "double"),
    ]);
    expect(failure(() => read("{k=%nan;v=1.}", schema)).code).toBe(325);
    expect(values(read("{k=1.;v=%nan}", schema))).toEqual([[1, Number.NaN]]);
  });

  it("[tables 22] weighs a row", () => {
    const schema = new TableSchema([column("i", "int64"), column("d", "double"), column("s", "string")]);
    expect([...read('{i=1;d=2.5;s="12345678"}', schema).weights]).toEqual([25]);
  });

  it("reads a tablet index of type int64 only", () => {
    const rows = read(
      '{"$tablet_index"=2;data=a};{data=b;"$tablet_index"=#};{"$tablet_index"=1u;data=c}',
      queue,
    );
    expect([...(rows.tabletIndexes ?? [])]).toEqual([2, -1, 1]);
    expect([...rows.weights]).toEqual([2, 2, 2]);
    for (const value of ['"0"', "%true", "1.5", "[0]", "18446744073709551615u"]) {
      const error = failure(() => read(`{"$tablet_index"=${value};data=a}`, queue));
      expect(error.message).toBe("Error parsing tablet index from row");
    }
  });

  it("[tables 102] tells the range of tablet indexes", () => {
    for (const index of [-1, 10]) {
      const error = failure(() => read(`{"$tablet_index"=${index}}`, queue, { tabletCount: 10 }));
      expect(error.message).toBe(`Invalid tablet index: actual ${index}, expected in range [0, 9]`);
    }
  });

  it("reads sequence numbers of producers beside the cells", () => {
    const options = { rowKind: "producer" } as const;
    const rows = read(
      '{"$sequence_number"=5;data=a};{data=b};{"$sequence_number"=7u};{"$sequence_number"=-3}',
      queue,
      options,
    );
    expect([0, 1, 2, 3].map((row) => rows.sequenceNumberOf(row))).toEqual([5n, undefined, 7n, -3n]);
    expect(values(rows)[0]).toEqual([Buffer.from("a")]);
    for (const value of ['"0"', "1.5", "9223372036854775808u", "{}"]) {
      const error = failure(() => read(`{"$sequence_number"=${value}}`, queue, options));
      expect(error.message).toBe("Error parsing sequence number from row");
    }
    const converting = format("yson", { enable_string_to_all_conversion: true });
    expect(read('{"$sequence_number"="0"}', queue, options, converting).sequenceNumberOf(0)).toBe(0n);
    expect(failure(() => read('{"$sequence_number"=1}', queue)).message).toBe(
      'Unexpected column "$sequence_number"',
    );
  });

  it("keeps integers inside of their types", () => {
    const schema = new TableSchema([column("a", "int8"), column("b", "uint16"), column("c", "timestamp")]);
    expect(values(read("{a=-128;b=65535;c=1u}", schema))).toEqual([[-128n, 65535n, 1n]]);
    for (const row of ["{a=128}", "{a=-129}", "{b=65536}", "{b=-1}", "{c=18446744073709551615u}"]) {
      expect(failure(() => read(row, schema)).code).toBe(307);
    }
  });

  it("converts integers where they fit, and not when told not to", () => {
    const schema = new TableSchema([column("i", "int64"), column("u", "uint64")]);
    expect(values(read("{i=5u;u=5}", schema))).toEqual([[5n, 5n]]);
    expect(failure(() => read("{i=9223372036854775808u}", schema)).code).toBe(307);
    expect(failure(() => read("{u=-1}", schema)).code).toBe(307);
    const strict = format("yson", { enable_integral_type_conversion: false });
    expect(failure(() => read("{i=5u}", schema, {}, strict)).code).toBe(307);
    expect(failure(() => read("{u=5}", schema, {}, strict)).code).toBe(307);
  });

  it("converts strings and to strings when told to", () => {
    const schema = new TableSchema([
      column("i", "int64"),
      column("u", "uint64"),
      column("d", "double"),
      column("b", "boolean"),
      column("s", "string"),
    ]);
    const all = format("yson", { enable_type_conversion: true });
    const row = '{i="-5";u="7";d="1.5";b="true";s=42}';
    expect(values(read(row, schema, {}, all))).toEqual([[-5n, 7n, 1.5, true, Buffer.from("42")]]);
    expect(failure(() => read('{i="x"}', schema, {}, all)).code).toBe(307);
    expect(failure(() => read('{i="-5"}', schema)).code).toBe(307);
  });

  it("checks utf8", () => {
    const schema = new TableSchema([column("t", "utf8")]);
    expect(values(read('{t="\\xD0\\xBF"}', schema))).toEqual([[Buffer.from("п")]]);
    expect(failure(() => read('{t="\\xFF"}', schema)).code).toBe(307);
  });

  it("limits values and rows", () => {
    const limited = { limits: { maxStringValueBytes: 10, maxRowWeightBytes: 15 } };
    const schema = new TableSchema([column("a", "string"), column("b", "string"), column("c", "any")]);
    const long = failure(() => read('{a="12345678901"}', schema, limited));
    expect(long).toMatchObject({
      code: 326,
      message: 'Value of type "string" is too long for dynamic data: length 11, limit 10',
    });
    expect(failure(() => read('{c=["1234567890"]}', schema, limited)).code).toBe(326);
    const heavy = failure(() => read('{a="12345678";b="12345678"}', schema, limited));
    expect(heavy).toMatchObject({ code: 308, message: "Row is too large: data weight 17, limit 15" });
    const columns = Array.from({ length: 1100 }, (_, index) => column(`c${index}`, "int64"));
    const row = `{${columns.map(({ name }) => `${name}=1`).join(";")}}`;
    expect(failure(() => read(row, new TableSchema(columns)))).toMatchObject({
      code: 321,
      message: "Too many values in row",
    });
    expect(failure(() => read("{};{};{}", schema, { limits: { maxRowCount: 2 } })).code).toBe(319);
  });

  it("refuses attributes on values, and repeated columns", () => {
    const schema = new TableSchema([column("k", "int64", { sortOrder: "ascending" }), column("v", "any")]);
    for (const [row, input] of [
      ["{k=1;v=<a=1>5}", format("yson")],
      ['{"k":1,"v":{"$attributes":{"a":1},"$value":5}}', format("json")],
    ] as const) {
      expect(failure(() => read(row, schema, {}, input)).message).toBe(
        "Table values cannot have top-level attributes",
      );
    }
    expect(values(read("{k=<>1;v=<>[<a=1>5]}", schema))[0]?.[0]).toBe(1n);
    expect(failure(() => read("{k=1;k=2}", schema)).message).toBe('Duplicate key column "k"');
    expect(failure(() => read("{v=1;v=2}", schema)).code).toBe(307);
  });

  it("wants keys, and values in partial rows, when asked", () => {
    expect(failure(() => read("{v=x}", keyed, { requireKeys: true })).message).toBe('Missing key column "k"');
    expect(values(read("{v=x}", keyed))).toEqual([[null, Buffer.from("x")]]);
    expect(failure(() => read("{k=1}", keyed, { keepAbsent: true })).message).toBe(
      "At least one non-key column must be specified",
    );
    expect(values(read("{v=#;k=1}", keyed, { keepAbsent: true }))).toEqual([[1n, null]]);
    const wide = new TableSchema([...keyed.columns, column("w", "string")]);
    expect(values(read("{w=x;k=1}", wide, { keepAbsent: true }))).toEqual([
      [1n, undefined, Buffer.from("x")],
    ]);
    expect(values(read("{k=1}", wide, { rowKind: "keys" }))).toEqual([[1n]]);
    expect(failure(() => read("{k=1;w=x}", wide, { rowKind: "keys" })).message).toBe(
      'Non-key column "w" in a key',
    );
  });

  it("tolerates the control record of the only table", () => {
    expect(read("<table_index=0>#;{data=a};<table_index=0;>#", queue).rowCount).toBe(1);
    const json = '{"$attributes":{"table_index":0},"$value":null}{"data":"a"}';
    expect(read(json, queue, {}, format("json")).rowCount).toBe(1);
    for (const record of ["<row_index=0>#", "<table_index=1>#", "<table_index=0>{}", "<>#", "<a=1>5"]) {
      failure(() => read(record, queue));
    }
  });

  it("stores any values as binary YSON, null as an entity when told", () => {
    const schema = new TableSchema([column("a", "any")]);
    const node = (input: string, inputFormat = format("yson")): string => {
      const value = values(read(input, schema, {}, inputFormat))[0]?.[0];
      return value instanceof YsonAny ? writeYsonText(parseYson(value.bytes)) : String(value);
    };
    expect(node('{a={x=[1;2u;%true;1.5;"z";#];"y"=<q=1>{}}}')).toBe(
      '{"x"=[1;2u;%true;1.5;"z";#;];"y"=<"q"=1;>{};}',
    );
    expect(node("{a=foo}")).toBe('"foo"');
    expect(node("{a=-3}")).toBe("-3");
    expect(node("{a=#}")).toBe("#");
    expect(node("{}")).toBe("null");
    expect(node("{a=#}", format("yson", { enable_null_to_yson_entity_conversion: false }))).toBe("null");
    expect(
      node('{"a":{"x":[1,18446744073709551615,1.0,null,true,"\\u00ff"],"$$y":{}}}', format("json")),
    ).toBe('{"x"=[1;18446744073709551615u;1.;#;%true;"\\xFF";];"$y"={};}');
    expect(node('{"a":{"x":{"$value":1,"$attributes":{"b":2}}}}', format("json"))).toBe('{"x"=<"b"=2;>1;}');
  });

  it("limits the depth", () => {
    const schema = new TableSchema([column("a", "any")]);
    expect(read(`{a=${"[".repeat(254)}${"]".repeat(254)}}`, schema).rowCount).toBe(1);
    expect(failure(() => read(`{a=${"[".repeat(300)}${"]".repeat(300)}}`, schema)).code).toBe(4002);
    const json = `{"a":${"[".repeat(300)}${"]".repeat(300)}}`;
    expect(failure(() => read(json, schema, {}, format("json"))).code).toBe(4002);
  });

  it("has the same checks for values in JavaScript form", () => {
    const builder = new EncodedRowsBuilder(keyed);
    builder.addRow([1n, Buffer.from("a")]);
    const error = failure(() => builder.addRow([Buffer.from("x"), null]));
    expect(error.code).toBe(307);
    expect(error.attributes.get("row_index")).toBe(1n);
    builder.addRow([undefined, null]);
    expect(values(builder.take())).toEqual([
      [1n, Buffer.from("a")],
      [null, null],
    ]);
  });

  it("gives the same failure again after the first", () => {
    const reader = createRowReader(format("yson"), queue, { rowKind: "insert" });
    const first = failure(() => reader.feed(Buffer.from("{x=1};")));
    expect(failure(() => reader.feed(Buffer.from("{data=a};")))).toBe(first);
    expect(failure(() => reader.finish())).toBe(first);
  });
});

describe("JSON strings", () => {
  const schema = new TableSchema([column("s", "string")]);
  const bytesOf = (input: string, attributes = {}): Buffer => {
    const value = values(read(input, schema, {}, format("json", attributes)))[0]?.[0];
    return value instanceof Uint8Array ? Buffer.from(value) : Buffer.from("no string");
  };

  it("takes a byte per character by default", () => {
    expect(bytesOf('{"s":"Ð¿\\u00ff\\n\\/"}')).toEqual(Buffer.from([0xd0, 0xbf, 0xff, 0x0a, 0x2f]));
    expect(failure(() => bytesOf('{"s":"п"}')).message).toMatch(/greater than 255/);
    expect(failure(() => bytesOf('{"s":"\\u0400"}')).message).toMatch(/greater than 255/);
  });

  it("takes UTF-8 as it is when told", () => {
    expect(bytesOf('{"s":"п\\u0401\\ud83d\\ude00"}', { encode_utf8: false })).toEqual(Buffer.from("пЁ😀"));
  });

  it("takes the values of special keys", () => {
    expect(bytesOf('{"s":{"$value":"x","$type":"string"}}')).toEqual(Buffer.from("x"));
    failure(() => bytesOf('{"$s":1}'));
  });

  it("keeps 64-bit integers exactly", () => {
    const numbers = new TableSchema([column("i", "int64"), column("u", "uint64")]);
    const rows = read('{"i":-9223372036854775808,"u":18446744073709551615}', numbers, {}, format("json"));
    expect(values(rows)).toEqual([[-(1n << 63n), (1n << 64n) - 1n]]);
    for (const bad of [
      "18446744073709551616",
      "-9223372036854775809",
      "01",
      "1.",
      ".5",
      "+1",
      "-",
      "1e",
      "0x1",
    ]) {
      failure(() => read(`{"u":${bad}}`, numbers, {}, format("json")));
    }
  });
});
