/** Chooses the reader for a format. */
import { limits, YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import type { TableSchema } from "../table-schema.ts";
import type { EncodedRows } from "./encoded-rows.ts";
import { RowPlan } from "./row-plan.ts";
import { defaultMaxRowBytes, type RowReader, type RowReaderOptions, rowLimitsOf } from "./row-reader.ts";
import type { RowSink } from "./row-sink.ts";
import { SchemaRowSink } from "./schema-row-sink.ts";
import { typeConversionOf } from "./type-conversion.ts";
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
  const plan = new RowPlan(schema, options.rowKind);
  const isData = options.rowKind === "insert" || options.rowKind === "producer";
  const sink = new SchemaRowSink(
    plan,
    {
      keepAbsent: options.keepAbsent ?? false,
      needsKeys: options.requireKeys ?? false,
      needsValues: isData && (options.keepAbsent ?? false) && schema.isSorted,
      conversion: typeConversionOf(format.attributes, isData),
      limits: rowLimitsOf(options),
      ...(options.tabletCount === undefined ? {} : { tabletCount: options.tabletCount }),
    },
    options.expectedBytes,
  );
  return new SinkRowReader<EncodedRows>(createRowParser(format, sink, options), () => sink.take());
}

function createRowParser(format: DataFormat, sink: RowSink, options: RowReaderOptions): RowParser {
  const maxRowBytes = options.maxRowBytes ?? defaultMaxRowBytes;
  switch (format.name) {
    case "yson":
      return new YsonRowParser(sink, { maxRowBytes, maxDepth: options.maxDepth ?? limits.maxYsonDepth });
    default:
      throw new YtError(`Unsupported input format "${format.name}"`);
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
