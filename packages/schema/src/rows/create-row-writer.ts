/** Chooses the writer for a format. */
import { bare, YtError } from "@qyt/base";
import { type DataFormat, type JsonOptions, jsonOptionsFromAttributes } from "@qyt/yson";
import { dsvOptionsOf, dsvTreeFormat, schemafulDsvOptionsOf, schemafulDsvTreeFormat } from "./dsv.ts";
import { JsonRowWriter } from "./json-row-writer.ts";
import type { OutputColumn, RowWriter } from "./row-writer.ts";
import {
  jsonTreeFormat,
  type TreeFormat,
  TreeRowWriter,
  ysonPrettyFormat,
  ysonTreeFormat,
} from "./tree-row-writer.ts";
import { webJsonTreeFormat } from "./web-json-row-writer.ts";
import { yamrOptionsOf, yamrTreeFormat } from "./yamr.ts";
import { YsonBinaryRowWriter, YsonTextRowWriter } from "./yson-row-writer.ts";

export interface RowWriterOptions {
  /** Overrides `skip_null_values` of the format. */
  readonly skipNullValues?: boolean;
  /**
   * Rows have the columns of a schema, all of them (`select_rows`, `lookup_rows`, pulls), and not whatever columns each
   * row has (`read_table`): `dsv` is refused, `schemaful_dsv` need not name its columns, `web_json` shows `$` columns.
   */
  readonly isSchemaful?: boolean;
  /** How many bytes will be taken at once, about: growing costs more than writing. */
  readonly expectedBytes?: number;
}

/**
 * A writer of rows with the given columns, in this order.
 * @throws YtError when the format cannot carry rows; 2800 for bad attributes
 */
export function createRowWriter(
  format: DataFormat,
  columns: readonly OutputColumn[],
  options: RowWriterOptions = {},
): RowWriter {
  const skipNulls =
    options.skipNullValues ?? bare(format.attributes.get("skip_null_values") ?? null) === true;
  const isSchemaful = options.isSchemaful ?? false;
  if (format.name === "yson" && ysonForm(format) !== "pretty") {
    return ysonForm(format) === "text"
      ? new YsonTextRowWriter(columns, skipNulls, options.expectedBytes)
      : new YsonBinaryRowWriter(columns, skipNulls, options.expectedBytes);
  }
  if (format.name === "json") {
    const json = jsonOptionsFromAttributes(format.attributes);
    if (!needsTree(json)) {
      return new JsonRowWriter(columns, json, skipNulls, options.expectedBytes);
    }
  }
  if ((format.name === "dsv" || format.name === "yamr") && isSchemaful) {
    throw new YtError(
      `Unsupported output format "${format.name}": rows with a schema are written as yson, json, web_json or schemaful_dsv`,
    );
  }
  const names = isSchemaful ? columns.map((column) => column.name) : undefined;
  return new TreeRowWriter(columns, treeFormatOf(format, names), skipNulls);
}

/**
 * The slow form of a format, over trees.
 * @param schemaColumns the columns of a result with a schema; undefined where each row has its own
 * @throws YtError when the format cannot carry rows; 2800 for bad attributes
 */
export function treeFormatOf(format: DataFormat, schemaColumns: readonly string[] | undefined): TreeFormat {
  switch (format.name) {
    case "yson": {
      const form = ysonForm(format);
      return form === "pretty" ? ysonPrettyFormat : ysonTreeFormat(form);
    }
    case "json":
      return jsonTreeFormat(jsonOptionsFromAttributes(format.attributes));
    case "web_json":
      return webJsonTreeFormat(format, schemaColumns !== undefined);
    case "schemaful_dsv":
      return schemafulDsvTreeFormat(schemafulDsvOptionsOf(format, schemaColumns));
    case "dsv":
      return dsvTreeFormat(dsvOptionsOf(format));
    case "yamr":
      return yamrTreeFormat(yamrOptionsOf(format));
    default:
      throw new YtError(
        `Unsupported output format "${format.name}": rows are written as yson, json, web_json, dsv, schemaful_dsv or yamr`,
      );
  }
}

/** Whether the options ask for more than the fast writer of JSON lines does. */
export function needsTree(json: JsonOptions): boolean {
  return (
    json.format === "pretty" ||
    json.attributesMode === "always" ||
    json.stringify === true ||
    json.annotateWithTypes === true ||
    json.stringLengthLimit !== undefined ||
    json.supportInfinity === true ||
    json.stringifyNanAndInfinity === true
  );
}

/** The form of a `yson` format. @throws YtError 2800 */
export function ysonForm(format: DataFormat): "binary" | "text" | "pretty" {
  const form = bare(format.attributes.get("format") ?? "binary");
  if (form === "binary" || form === "text" || form === "pretty") {
    return form;
  }
  throw new YtError('Invalid format attribute "format": expected one of "binary", "text", "pretty"', {
    code: "InvalidFormat",
  });
}
