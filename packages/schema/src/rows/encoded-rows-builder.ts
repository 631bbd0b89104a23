/** Makes encoded rows out of values in JavaScript form, with the same checks as the format readers. */
import { emptyMap, toYtError } from "@qyt/base";
import type { ColumnSchema, TableSchema } from "../table-schema.ts";
import type { RowValue } from "../value-type.ts";
import type { EncodedRows } from "./encoded-rows.ts";
import { type RowKind, rowPlanOf } from "./row-plan.ts";
import { type RowReaderOptions, rowLimitsOf } from "./row-reader.ts";
import { SchemaRowSink } from "./schema-row-sink.ts";
import { type TypeConversion, typeConversionOf } from "./type-conversion.ts";

export interface EncodedRowsBuilderOptions extends Partial<Omit<RowReaderOptions, "rowKind">> {
  readonly rowKind?: RowKind;
  readonly conversion?: TypeConversion;
}

export class EncodedRowsBuilder {
  readonly #sink: SchemaRowSink;
  readonly #schema: TableSchema;
  readonly #names: readonly Buffer[];

  /** @param schema the write schema, as for `createRowReader` */
  constructor(schema: TableSchema, options: EncodedRowsBuilderOptions = {}) {
    const rowKind = options.rowKind ?? "insert";
    const plan = rowPlanOf(schema, rowKind);
    this.#schema = schema;
    this.#names = plan.table.names;
    this.#sink = new SchemaRowSink(
      plan,
      {
        keepAbsent: options.keepAbsent ?? false,
        needsKeys: options.requireKeys ?? false,
        needsValues: false,
        conversion: options.conversion ?? typeConversionOf(emptyMap, false),
        limits: rowLimitsOf({ ...options, rowKind }),
        ...(options.tabletCount === undefined ? {} : { tabletCount: options.tabletCount }),
      },
      options.expectedBytes,
    );
  }

  get rowCount(): number {
    return this.#sink.rowIndex;
  }

  /**
   * Adds one row: a value per column of the schema, `undefined` for a column the row does not mention. A bigint has
   * the signedness of its column.
   * @throws YtError with the attribute `row_index`, as the readers do
   */
  addRow(values: readonly (RowValue | undefined)[]): void {
    this.#sink.beginRow();
    try {
      for (const [index, column] of this.#schema.columns.entries()) {
        const value = values[index];
        const name = this.#names[index];
        if (value !== undefined && name !== undefined) {
          this.#sink.selectColumn(name, 0, name.length);
          this.#sink.putValue(value, typeOf(value, column));
        }
      }
      this.#sink.endRow();
    } catch (thrown) {
      this.#sink.dropRow();
      throw toYtError(thrown).withAttributes({ row_index: BigInt(this.#sink.rowIndex) });
    }
  }

  /** The rows since the last call. */
  take(): EncodedRows {
    return this.#sink.take();
  }
}

function typeOf(value: RowValue, column: ColumnSchema): ColumnSchema["physical"] {
  switch (typeof value) {
    case "bigint":
      return column.physical === "uint64" ? "uint64" : "int64";
    case "number":
      return "double";
    case "boolean":
      return "boolean";
    default:
      return value === null ? "null" : value instanceof Uint8Array ? "string" : "any";
  }
}
