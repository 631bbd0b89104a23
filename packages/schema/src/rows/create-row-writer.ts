/** Chooses the writer for a format. */
import { bare, YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import type { OutputColumn, RowWriter } from "./row-writer.ts";
import { YsonBinaryRowWriter, YsonTextRowWriter } from "./yson-row-writer.ts";

export interface RowWriterOptions {
  /** Overrides `skip_null_values` of the format. */
  readonly skipNullValues?: boolean;
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
  switch (format.name) {
    case "yson":
      switch (ysonForm(format)) {
        case "text":
          return new YsonTextRowWriter(columns, skipNulls);
        default:
          return new YsonBinaryRowWriter(columns, skipNulls);
      }
    default:
      throw new YtError(`Unsupported output format "${format.name}"`);
  }
}

function ysonForm(format: DataFormat): "binary" | "text" | "pretty" {
  const form = bare(format.attributes.get("format") ?? "binary");
  if (form === "binary" || form === "text" || form === "pretty") {
    return form;
  }
  throw new YtError('Invalid format attribute "format": expected one of "binary", "text", "pretty"', {
    code: "InvalidFormat",
  });
}
