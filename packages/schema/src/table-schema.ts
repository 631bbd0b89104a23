/**
 * The schema of a table: its columns in order, strictness and uniqueness of keys; its YSON form as
 * `@schema` shows it and as clients send it.
 * Specified in: yt/yt/client/table_client/schema.cpp, schema_serialization_helpers.cpp.
 */
import {
  attributesOf,
  bare,
  isList,
  isMap,
  limits,
  mapOf,
  toYtError,
  Uint64,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type ColumnType, columnTypeFromV1, columnTypeFromV3, formatTypeV3, sameTypeV3 } from "./type-v3.ts";
import { isLogicalType, type LogicalType, type PhysicalType } from "./value-type.ts";

export type SortOrder = "ascending" | "descending";

export interface ColumnSchema {
  readonly name: string;
  /** The simple type of version 1; a composite column shows as `any`. */
  readonly type: LogicalType;
  readonly physical: PhysicalType;
  readonly required: boolean;
  readonly typeV3: YsonValue;
  readonly sortOrder?: SortOrder;
  readonly expression?: string;
  readonly aggregate?: string;
  readonly lock?: string;
  readonly group?: string;
  readonly maxInlineHunkSize?: bigint;
}

/** The fields of a column besides its name and type. */
export type ColumnOptions = Partial<
  Pick<ColumnSchema, "sortOrder" | "expression" | "aggregate" | "lock" | "group" | "maxInlineHunkSize">
> & { readonly required?: boolean };

/** A column of a simple type; not required unless said so. */
export function column(name: string, type: LogicalType, options: ColumnOptions = {}): ColumnSchema {
  const { required = false, ...rest } = options;
  return { name, ...columnTypeFromV1(type, required), ...rest };
}

/** An immutable table schema. Equality of two schemas is by content. */
export class TableSchema {
  readonly columns: readonly ColumnSchema[];
  readonly strict: boolean;
  readonly uniqueKeys: boolean;
  /** Number of the key columns; these are the first columns. */
  readonly keyColumnCount: number;
  readonly #indexes: ReadonlyMap<string, number>;

  /** @throws YtError 322 on a repeated name, 314 when key columns do not come first */
  constructor(
    columns: readonly ColumnSchema[],
    options: { readonly strict?: boolean; readonly uniqueKeys?: boolean } = {},
  ) {
    this.columns = columns;
    this.strict = options.strict ?? true;
    this.uniqueKeys = options.uniqueKeys ?? false;
    const indexes = new Map<string, number>();
    let keyColumnCount = 0;
    for (const [index, item] of columns.entries()) {
      if (indexes.has(item.name)) {
        throw new YtError(`Duplicate column name "${item.name}" in table schema`, {
          code: "DuplicateColumnInSchema",
        });
      }
      indexes.set(item.name, index);
      if (item.sortOrder !== undefined) {
        if (index !== keyColumnCount) {
          throw new YtError("Key columns must form a prefix of schema", { code: "InvalidSchemaValue" });
        }
        keyColumnCount += 1;
      }
    }
    this.keyColumnCount = keyColumnCount;
    this.#indexes = indexes;
  }

  /** Whether the table has key columns. A dynamic table without them is ordered: a queue. */
  get isSorted(): boolean {
    return this.keyColumnCount > 0;
  }

  /** The position of a column, or -1. */
  indexOf(name: string): number {
    return this.#indexes.get(name) ?? -1;
  }

  /** The column of that name, if any. */
  find(name: string): ColumnSchema | undefined {
    const index = this.#indexes.get(name);
    return index === undefined ? undefined : this.columns[index];
  }

  /** Whether names, order, types and all other fields are the same. */
  equals(other: TableSchema): boolean {
    return (
      this === other ||
      (this.strict === other.strict &&
        this.uniqueKeys === other.uniqueKeys &&
        this.columns.length === other.columns.length &&
        this.columns.every((item, index) => {
          const counterpart = other.columns[index];
          return counterpart !== undefined && sameColumn(item, counterpart);
        }))
    );
  }

  /** The form `@schema` has. */
  toYson(): YsonValue {
    return withAttributes(
      this.columns.map(columnToYson),
      mapOf({ strict: this.strict, unique_keys: this.uniqueKeys }),
    );
  }

  /**
   * Parses a schema as clients send it. What depends on the kind of the table is left to
   * `validateStaticTableSchema` and `validateDynamicTableSchema`.
   * @throws YtError 314 `New table schema is not valid`, the reason inside
   */
  static fromYson(value: YsonValue): TableSchema {
    return asInvalidSchema(() => {
      const list = bare(value);
      if (!isList(list)) {
        throw new YtError("Table schema must be a list of columns", { code: "InvalidSchemaValue" });
      }
      const attributes = attributesOf(value);
      const modification = optionalString(attributes, "schema_modification");
      if (modification !== undefined && modification !== "none") {
        throw new YtError(`Schema modification "${modification}" is not supported`, {
          code: "InvalidSchemaValue",
        });
      }
      if (list.length > limits.maxColumns) {
        throw new YtError(
          `Too many columns in table schema: actual ${list.length}, limit ${limits.maxColumns}`,
          {
            code: "InvalidSchemaValue",
          },
        );
      }
      return new TableSchema(list.map(columnFromYson), {
        strict: optionalBoolean(attributes, "strict") ?? true,
        uniqueKeys: optionalBoolean(attributes, "unique_keys") ?? false,
      });
    });
  }
}

/** Runs the check; whatever it finds becomes the outer error clients look for. */
export function asInvalidSchema<T>(check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    throw new YtError("New table schema is not valid", {
      code: "InvalidSchemaValue",
      inner: [toYtError(thrown)],
    });
  }
}

/** Runs the check of one column; what it finds gets the name of the column around it. */
export function asColumnError<T>(name: string, check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    throw toYtError(thrown).wrap(`Error validating schema of column "${name}"`);
  }
}

/** Whether two columns are the same in every field. */
export function sameColumn(left: ColumnSchema, right: ColumnSchema): boolean {
  return (
    left.name === right.name &&
    left.type === right.type &&
    left.required === right.required &&
    left.sortOrder === right.sortOrder &&
    left.expression === right.expression &&
    left.aggregate === right.aggregate &&
    left.lock === right.lock &&
    left.group === right.group &&
    left.maxInlineHunkSize === right.maxInlineHunkSize &&
    sameTypeV3(left.typeV3, right.typeV3)
  );
}

function columnToYson(item: ColumnSchema): YsonMap {
  return mapOf({
    name: item.name,
    type: item.type,
    required: item.required,
    type_v3: item.typeV3,
    sort_order: item.sortOrder,
    expression: item.expression,
    aggregate: item.aggregate,
    lock: item.lock,
    group: item.group,
    max_inline_hunk_size: item.maxInlineHunkSize,
  });
}

function columnFromYson(value: YsonValue): ColumnSchema {
  const node = bare(value);
  if (!isMap(node)) {
    throw new YtError("Column schema must be a map", { code: "InvalidSchemaValue" });
  }
  const name = optionalString(node, "name");
  if (name === undefined) {
    throw new YtError(`Missing required field "name" of column schema`, { code: "InvalidSchemaValue" });
  }
  return asColumnError(name, () => {
    const stableName = optionalString(node, "stable_name");
    if (stableName !== undefined && stableName !== name) {
      throw new YtError("Column renaming is not supported", { code: "InvalidSchemaValue" });
    }
    return {
      name,
      ...columnTypeFromYson(node),
      ...present("sortOrder", sortOrderFromYson(node)),
      ...present("expression", optionalString(node, "expression")),
      ...present("aggregate", optionalString(node, "aggregate")),
      ...present("lock", nonEmptyString(node, "lock", "Lock")),
      ...present("group", nonEmptyString(node, "group", "Group")),
      ...present("maxInlineHunkSize", optionalInteger(node, "max_inline_hunk_size")),
    };
  });
}

function columnTypeFromYson(node: YsonMap): ColumnType {
  const v1 = optionalString(node, "type");
  const required = optionalBoolean(node, "required");
  const v3 = node.get("type_v3") ?? null;
  if (v1 !== undefined && !isLogicalType(v1)) {
    throw new YtError(`Error parsing ESimpleLogicalValueType value "${v1}"`, { code: "InvalidSchemaValue" });
  }
  if (v3 === null) {
    if (v1 === undefined) {
      throw new YtError("Column type is not specified", { code: "InvalidSchemaValue" });
    }
    return refuseRequiredAny(columnTypeFromV1(v1, required ?? false));
  }
  const type = columnTypeFromV3(v3);
  const text = formatTypeV3(type.typeV3);
  if (v1 !== undefined && v1 !== type.type) {
    throw new YtError(
      `"type_v3" does not match "type"; "type_v3": "${text}" "type": "${v1}" expected "type": "${type.type}"`,
      { code: "InvalidSchemaValue" },
    );
  }
  if (required !== undefined && required !== type.required) {
    throw new YtError(`"type_v3" does not match "required"; "type_v3": "${text}" "required": "${required}"`, {
      code: "InvalidSchemaValue",
    });
  }
  return refuseRequiredAny(type);
}

function refuseRequiredAny(type: ColumnType): ColumnType {
  // Composite types show as "any" too, but may be required: only bare YSON has a null of its own.
  if (type.required && type.type === "any" && innermost(type.typeV3) === "yson") {
    throw new YtError(`Column of type "any" cannot be required`, { code: "InvalidSchemaValue" });
  }
  return type;
}

/** The type inside of tags. */
function innermost(typeV3: YsonValue): YsonValue {
  const node = bare(typeV3);
  return isMap(node) && node.get("type_name") === "tagged" ? innermost(node.get("item") ?? null) : node;
}

function sortOrderFromYson(node: YsonMap): SortOrder | undefined {
  const text = optionalString(node, "sort_order");
  if (text === undefined || text === "ascending" || text === "descending") {
    return text;
  }
  throw new YtError(`Error parsing ESortOrder value "${text}"`, { code: "InvalidSchemaValue" });
}

function nonEmptyString(node: YsonMap, field: string, what: string): string | undefined {
  const text = optionalString(node, field);
  if (text === "") {
    throw new YtError(`${what} name cannot be empty`, { code: "InvalidSchemaValue" });
  }
  return text;
}

function optionalString(node: YsonMap, field: string): string | undefined {
  const value = bare(node.get(field) ?? null);
  if (value === null) {
    return undefined;
  }
  if (typeof value !== "string") {
    throw new YtError(`Field "${field}" must be a string`, { code: "InvalidSchemaValue" });
  }
  return value;
}

function optionalBoolean(node: YsonMap, field: string): boolean | undefined {
  const value = bare(node.get(field) ?? null);
  if (value === null) {
    return undefined;
  }
  // The text forms come from clients that send every attribute as a string.
  if (value === true || value === "true") {
    return true;
  }
  if (value === false || value === "false") {
    return false;
  }
  throw new YtError(`Field "${field}" must be a boolean`, { code: "InvalidSchemaValue" });
}

function optionalInteger(node: YsonMap, field: string): bigint | undefined {
  const value = bare(node.get(field) ?? null);
  if (value === null) {
    return undefined;
  }
  const integer = typeof value === "bigint" ? value : value instanceof Uint64 ? value.value : undefined;
  if (integer === undefined || integer < 0n) {
    throw new YtError(`Field "${field}" must be a nonnegative integer`, { code: "InvalidSchemaValue" });
  }
  return integer;
}

/** An object with the field, or none when there is no value: absent is not the same as undefined. */
function present<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  const result: { [P in K]?: V } = {};
  if (value !== undefined) {
    result[key] = value;
  }
  return result;
}
