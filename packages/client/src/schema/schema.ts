/**
 * A schema as a value: it types rows, is the schema of tables that are created, and encodes and decodes rows.
 * Specified in: yt/yt/client/table_client/schema.h; YTsaurus documentation, "Data schema".
 */
import { mapOf, withAttributes, type YsonValue, YtError } from "@qyt/base";
import type { ByteWriter } from "@qyt/yson";
import { RowDecoder } from "./decoder.ts";
import { RowEncoder } from "./encoder.ts";
import type { ColumnSpec, Columns, PulledRow, QueueRow, ReadRow } from "./types.ts";

export interface SchemaOptions {
  /** No two rows have the same key. Default: whether there are key columns; dynamic tables need it. */
  readonly uniqueKeys?: boolean;
  /** Columns that are not named may be written, too. Static tables only. Default: they may not. */
  readonly isWeak?: boolean;
}

export class Schema<C extends Columns> {
  readonly columns: C;
  readonly #options: SchemaOptions;
  #encoder: RowEncoder | undefined;
  #decoder: RowDecoder | undefined;

  constructor(columns: C, options: SchemaOptions) {
    this.columns = columns;
    this.#options = options;
    let isKeyOver = false;
    for (const [name, { sortOrder }] of this.specs()) {
      if (sortOrder !== undefined && isKeyOver) {
        throw new YtError(`Key column "${name}" stands behind a column that is none; put key columns first`);
      }
      isKeyOver ||= sortOrder === undefined;
    }
  }

  /** The columns in order, each with its whole specification. */
  specs(): (readonly [string, ColumnSpec])[] {
    return Object.entries(this.columns).map(([name, column]) => [
      name,
      typeof column === "string" ? { type: column } : column,
    ]);
  }

  get isSorted(): boolean {
    return this.specs().some(([, { sortOrder }]) => sortOrder !== undefined);
  }

  /** The schema as the attribute `schema` of a table. */
  toYson(): YsonValue {
    const attributes = mapOf({
      strict: this.#options.isWeak !== true,
      unique_keys: this.#options.uniqueKeys ?? this.isSorted,
    });
    return withAttributes(
      this.specs().map(([name, spec]) => columnToYson(name, spec)),
      attributes,
    );
  }

  /** @throws YtError 307 for a value that does not fit its column, or a column that there is not */
  encode(rows: Iterable<object>): Buffer {
    this.#encoder ??= new RowEncoder(this.specs());
    return this.#encoder.encode(rows);
  }

  /** One row, with its separator, behind what the writer has. @throws as `encode` */
  encodeTo(writer: ByteWriter, row: object): void {
    this.#encoder ??= new RowEncoder(this.specs());
    this.#encoder.encodeTo(writer, row);
  }

  /** The rows of whole items of binary or text YSON; `null` for a row that is missing. */
  decode(bytes: Uint8Array): (ReadRow<C> | null)[] {
    this.#decoder ??= new RowDecoder(this.specs());
    // The decoder gives each column the type that its specification says.
    return this.#decoder.decode(bytes) as (ReadRow<C> | null)[];
  }
}

function columnToYson(name: string, spec: ColumnSpec): YsonValue {
  return mapOf({
    name,
    ...(spec.typeV3 === undefined
      ? { type: spec.type === "bytes" ? "string" : spec.type, required: spec.required }
      : { type_v3: spec.typeV3 }),
    sort_order: spec.sortOrder,
    expression: spec.expression,
    aggregate: spec.aggregate,
    lock: spec.lock,
    group: spec.group,
    max_inline_hunk_size: spec.maxInlineHunkSize === undefined ? undefined : BigInt(spec.maxInlineHunkSize),
  });
}

/**
 * A schema: `schema({ key: { type: "int64", sortOrder: "ascending" }, data: "string" })`.
 * @throws YtError 1 when a key column stands behind one that is none
 */
export function schema<const C extends Columns>(columns: C, options: SchemaOptions = {}): Schema<C> {
  return new Schema(columns, options);
}

/** Columns that a queue should have beside its own: when a row was written, and how much before it. */
export const queueColumns = { $timestamp: "uint64", $cumulative_data_weight: "int64" } as const;

/** The schema of a queue: the columns and `queueColumns`. */
export function queueSchema<const C extends Columns>(columns: C): Schema<C & typeof queueColumns> {
  return new Schema({ ...columns, ...queueColumns }, {});
}

/** The type of a row of a schema, as it is read: `type Event = RowOf<typeof events>`. */
export type RowOf<S> = S extends Schema<infer C> ? ReadRow<C> : never;

/** The type of a row of a queue with this schema to write. */
export type InputRowOf<S> = S extends Schema<infer C> ? QueueRow<C> : never;

/** The type of a row as it is pulled from a queue with this schema. */
export type PulledRowOf<S> = S extends Schema<infer C> ? PulledRow<C> : never;
