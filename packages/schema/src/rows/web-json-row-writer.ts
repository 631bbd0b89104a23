/**
 * Rows in `web_json`, the document the web interface reads.
 * Specified in: yt/yt/library/formats/web_json_writer.cpp.
 */
import { bare, isList, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  type DataFormat,
  type JsonOptions,
  jsonOptionsFromAttributes,
  stringToBytes,
  writeJson,
} from "@qyt/yson";
import { jsonKey } from "./json-row-writer.ts";
import { writeJsonString } from "./json-strings.ts";
import { RowOutput, viewOf } from "./row-output.ts";
import type { TreeFormat } from "./tree-row-writer.ts";

interface WebJsonOptions {
  readonly columnNames: ReadonlySet<string> | undefined;
  readonly maxSelectedColumns: number;
  readonly maxAllColumnNames: number;
  readonly fieldWeightLimit: number;
  readonly stringWeightLimit: number;
  readonly isYql: boolean;
  readonly json: JsonOptions;
}

/** The types that `value_format=yql` numbers; a value names its own by the place in the list. */
const yqlTypes = [
  ["NullType"],
  ["DataType", "Int64"],
  ["DataType", "Uint64"],
  ["DataType", "Double"],
  ["DataType", "Boolean"],
  ["DataType", "String"],
  ["DataType", "Yson"],
  ["DataType", "Yson"],
];

/**
 * @param keepsSystemColumns whether `$` columns are shown unasked (`select_rows`)
 * @throws YtError 2800 for a bad attribute
 */
export function webJsonTreeFormat(format: DataFormat, keepsSystemColumns: boolean): TreeFormat {
  const options = optionsOf(format);
  const seen = new Set<string>();
  const shown = new Set<string>();
  let isIncomplete = false;
  let areNamesIncomplete = false;
  let isFirst = true;

  const isSelected = (name: string): boolean => {
    let isShown: boolean;
    if (options.columnNames !== undefined) {
      isShown = options.columnNames.has(name);
    } else {
      isShown = shown.has(name) || shown.size < options.maxSelectedColumns;
      if (isShown) {
        shown.add(name);
      }
    }
    isIncomplete ||= !isShown;
    return isShown;
  };

  return {
    row(row) {
      const output = new RowOutput(256);
      output.ascii(isFirst ? "{" : ",{");
      isFirst = false;
      let isFirstValue = true;
      for (const [name, value] of row) {
        if (name.startsWith("$") && !keepsSystemColumns && options.columnNames?.has(name) !== true) {
          continue;
        }
        if (seen.size < options.maxAllColumnNames) {
          seen.add(name);
        } else if (!seen.has(name)) {
          areNamesIncomplete = true;
        }
        if (isSelected(name)) {
          if (!isFirstValue) {
            output.byte(0x2c);
          }
          isFirstValue = false;
          output.constant(jsonKey(name, options.json.encodeUtf8 ?? true, false));
          writeValue(value, options, output);
        }
      }
      output.byte(0x7d);
      return output.take();
    },
    missing: () => Buffer.alloc(0),
    control: () => Buffer.alloc(0),
    head: () => Buffer.from('{"rows":['),
    tail() {
      const names = [...seen].sort((left, right) =>
        Buffer.compare(stringToBytes(left), stringToBytes(right)),
      );
      const output = new RowOutput(256);
      output.ascii(
        `],"incomplete_columns":"${isIncomplete}","incomplete_all_column_names":"${areNamesIncomplete}","all_column_names":[`,
      );
      for (const [index, name] of names.entries()) {
        if (index > 0) {
          output.byte(0x2c);
        }
        const bytes = stringToBytes(name);
        writeJsonString(bytes, viewOf(bytes), 0, bytes.length, options.json.encodeUtf8 ?? true, output);
      }
      output.ascii(options.isYql ? `],"yql_type_registry":${JSON.stringify(yqlTypes)}}` : "]}");
      return output.take();
    },
  };
}

function writeValue(value: YsonValue, options: WebJsonOptions, output: RowOutput): void {
  if (options.isYql) {
    writeYqlValue(value, options, output);
    return;
  }
  if (value === null) {
    output.ascii("null");
    return;
  }
  const type = scalarType(value);
  if (type === undefined) {
    writeComposite(value, options, output);
  } else if (typeof value === "string") {
    writeString(value, options, output);
  } else {
    output.ascii(`{"$type":"${type}","$value":"${scalarText(value)}"}`);
  }
}

function writeString(value: string, options: WebJsonOptions, output: RowOutput): void {
  const bytes = stringToBytes(value);
  const limit = Math.min(options.fieldWeightLimit, options.stringWeightLimit);
  output.ascii(
    bytes.length > limit ? `{"$incomplete":true,"$type":"string","$value":` : `{"$type":"string","$value":`,
  );
  writeText(bytes, limit, options, output);
  output.byte(0x7d);
}

function writeText(bytes: Buffer, limit: number, options: WebJsonOptions, output: RowOutput): void {
  const encodeUtf8 = options.json.encodeUtf8 ?? true;
  let end = Math.min(bytes.length, limit);
  if (!encodeUtf8 && end < bytes.length) {
    // Not in the middle of a character.
    while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) {
      end--;
    }
  }
  writeJsonString(bytes, viewOf(bytes), 0, end, encodeUtf8, output);
}

function writeComposite(value: YsonValue, options: WebJsonOptions, output: RowOutput): void {
  const bytes = writeJson(value, { ...options.json, annotateWithTypes: true, stringify: true });
  if (bytes.length > options.fieldWeightLimit) {
    output.ascii('{"$incomplete":true,"$type":"any","$value":""}');
  } else {
    output.copy(bytes, viewOf(bytes), 0, bytes.length);
  }
}

function writeYqlValue(value: YsonValue, options: WebJsonOptions, output: RowOutput): void {
  output.byte(0x5b);
  if (value === null) {
    output.ascii("null");
  } else if (typeof value === "boolean") {
    output.ascii(String(value));
  } else if (typeof value === "string") {
    const bytes = stringToBytes(value);
    const limit = Math.min(options.fieldWeightLimit, options.stringWeightLimit);
    if (bytes.length > limit) {
      output.ascii('{"inc":true,"val":');
      writeText(bytes, limit, options, output);
      output.byte(0x7d);
    } else {
      writeText(bytes, limit, options, output);
    }
  } else if (scalarType(value) !== undefined) {
    output.ascii(`"${scalarText(value)}"`);
  } else {
    const bytes = writeJson(value, { ...options.json, annotateWithTypes: true, stringify: true });
    const isTooLong = bytes.length > options.fieldWeightLimit;
    output.ascii(isTooLong ? '{"inc":true,"val":""' : '{"val":');
    if (!isTooLong) {
      output.copy(bytes, viewOf(bytes), 0, bytes.length);
    }
    output.byte(0x7d);
  }
  output.ascii(`,"${yqlTypeIndex(value)}"]`);
}

function yqlTypeIndex(value: YsonValue): number {
  switch (value === null ? "null" : scalarType(value)) {
    case "null":
      return 0;
    case "int64":
      return 1;
    case "uint64":
      return 2;
    case "double":
      return 3;
    case "boolean":
      return 4;
    case "string":
      return 5;
    default:
      return 6;
  }
}

function scalarType(value: YsonValue): string | undefined {
  switch (typeof value) {
    case "bigint":
      return "int64";
    case "number":
      return "double";
    case "boolean":
      return "boolean";
    case "string":
      return "string";
    default:
      return value instanceof Uint64 ? "uint64" : undefined;
  }
}

function scalarText(value: YsonValue): string {
  return typeof value === "number" && !Number.isFinite(value)
    ? Number.isNaN(value)
      ? "nan"
      : value > 0
        ? "inf"
        : "-inf"
    : String(value);
}

function optionsOf(format: DataFormat): WebJsonOptions {
  const { attributes } = format;
  const names = bare(attributes.get("column_names") ?? null);
  const fieldWeightLimit = count(attributes, "field_weight_limit", 1024);
  return {
    columnNames: isList(names) ? columnNameSet(names) : undefined,
    maxSelectedColumns: count(attributes, "max_selected_column_count", 50),
    maxAllColumnNames: count(attributes, "max_all_column_names_count", 2000),
    fieldWeightLimit,
    stringWeightLimit: count(attributes, "string_weight_limit", fieldWeightLimit),
    isYql: bare(attributes.get("value_format") ?? null) === "yql",
    json: jsonOptionsFromAttributes(attributes),
  };
}

function columnNameSet(names: readonly YsonValue[]): ReadonlySet<string> {
  const result = new Set<string>();
  for (const value of names) {
    const name = String(bare(value));
    if (result.has(name)) {
      throw new YtError(
        `Duplicate column name "${name}" in "column_names" parameter of web_json format config`,
        {
          code: "InvalidFormat",
        },
      );
    }
    result.add(name);
  }
  return result;
}

function count(attributes: YsonMap, name: string, byDefault: number): number {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return byDefault;
  }
  const integer = typeof value === "bigint" ? value : value instanceof Uint64 ? value.value : undefined;
  if (integer === undefined || integer < 0n || integer > 0x7fff_ffffn) {
    throw new YtError(`Format attribute "${name}" must be a nonnegative integer`, { code: "InvalidFormat" });
  }
  return Number(integer);
}
