/** Chooses the reader for a format. */
import { limits, YtError } from "@qyt/base";
import { type DataFormat, type JsonOptions, jsonOptionsFromAttributes } from "@qyt/yson";
import type { TableSchema } from "../table-schema.ts";
import { DsvRowParser, dsvOptionsOf, schemafulDsvOptionsOf } from "./dsv.ts";
import type { EncodedRows } from "./encoded-rows.ts";
import { JsonRowParser, spellJsonName } from "./json-row-parser.ts";
import { rowPlanOf } from "./row-plan.ts";
import { defaultMaxRowBytes, type RowReader, type RowReaderOptions, rowLimitsOf } from "./row-reader.ts";
import type { RowSink } from "./row-sink.ts";
import { SchemaRowSink } from "./schema-row-sink.ts";
import { SchemalessRowSink } from "./schemaless-rows.ts";
import { typeConversionOf } from "./type-conversion.ts";
import { YamrRowParser, yamrOptionsOf } from "./yamr.ts";
import { YsonRowParser } from "./yson-row-parser.ts";

/** What readers need of a parser. */
interface RowParser {
  feed(chunk: Uint8Array): void;
  finishInput(): void;
}

/**
 * A reader of rows for a table with a strict schema.
 * @param schema the write schema: cells follow its columns, without `$tablet_index` and `$sequence_number`
 * @throws YtError when the format cannot carry rows
 */
export function createRowReader(
  format: DataFormat,
  schema: TableSchema,
  options: RowReaderOptions,
): RowReader {
  const json = format.name === "json" ? jsonOptionsFromAttributes(format.attributes) : undefined;
  const plan =
    json === undefined
      ? rowPlanOf(schema, options.rowKind)
      : rowPlanOf(
          schema,
          options.rowKind,
          `json ${json.encodeUtf8 ?? true} ${json.plain ?? false}`,
          spellJsonName(json),
        );
  const isData = options.rowKind === "insert" || options.rowKind === "producer";
  const sink = new SchemaRowSink(
    plan,
    {
      keepAbsent: options.keepAbsent ?? false,
      needsKeys: options.requireKeys ?? false,
      needsValues: isData && (options.keepAbsent ?? false),
      conversion: typeConversionOf(format.attributes, isData),
      limits: rowLimitsOf(options),
      ...(options.tabletCount === undefined ? {} : { tabletCount: options.tabletCount }),
    },
    options.expectedBytes,
  );
  return new SinkRowReader<EncodedRows>(createRowParser(format, json, sink, options), () => sink.take());
}

/**
 * A reader of rows for a table without a strict schema: any columns. Declared columns are checked all the same. Each row
 * becomes one cell of type any; `createSchemalessRowWriter` puts such rows out.
 * @throws YtError when the format cannot carry rows
 */
export function createSchemalessRowReader(
  format: DataFormat,
  schema: TableSchema | undefined,
  options: RowReaderOptions,
): RowReader {
  const json = format.name === "json" ? jsonOptionsFromAttributes(format.attributes) : undefined;
  const conversion = typeConversionOf(format.attributes, false);
  const sink = new SchemalessRowSink(schema, conversion, rowLimitsOf(options));
  return new SinkRowReader<EncodedRows>(createRowParser(format, json, sink, options), () => sink.take());
}

function createRowParser(
  format: DataFormat,
  json: JsonOptions | undefined,
  sink: RowSink,
  options: RowReaderOptions,
): RowParser {
  const maxRowBytes = options.maxRowBytes ?? defaultMaxRowBytes;
  switch (format.name) {
    case "yson":
      return new YsonRowParser(sink, { maxRowBytes, maxDepth: options.maxDepth ?? limits.maxYsonDepth });
    case "json":
      return new JsonRowParser(sink, json ?? {}, {
        maxRowBytes,
        ...(options.maxDepth === undefined ? {} : { maxDepth: options.maxDepth }),
      });
    case "dsv":
      return new DsvRowParser(sink, dsvOptionsOf(format), maxRowBytes);
    case "schemaful_dsv":
      return new DsvRowParser(sink, schemafulDsvOptionsOf(format, undefined), maxRowBytes);
    case "yamr":
      return new YamrRowParser(sink, yamrOptionsOf(format), maxRowBytes);
    default:
      throw new YtError(
        `Unsupported input format "${format.name}": rows are read as yson, json, dsv, schemaful_dsv or yamr`,
      );
  }
}

class SinkRowReader<Rows> implements RowReader<Rows> {
  readonly #parser: RowParser;
  readonly #take: () => Rows;

  constructor(parser: RowParser, take: () => Rows) {
    this.#parser = parser;
    this.#take = take;
  }

  feed(chunk: Uint8Array): void {
    this.#parser.feed(chunk);
  }

  drain(): Rows {
    return this.#take();
  }

  finish(): Rows {
    this.#parser.finishInput();
    return this.#take();
  }
}
