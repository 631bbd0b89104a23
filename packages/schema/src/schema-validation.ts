/**
 * What a schema has to satisfy to become the schema of a static or of a dynamic table.
 * Specified in: `ValidateTableSchema` of yt/yt/client/table_client/schema.cpp and
 * yt/yt/library/heavy_schema_validation/schema_validation.cpp.
 */
import { bare, isMap, limits, type YsonValue, YtError } from "@qyt/base";
import { mayHaveAnyKey } from "./pipeline-tables.ts";
import { isSystemColumnName, orderedSystemColumns, sortedSystemColumns } from "./system-columns.ts";
import { asColumnError, asInvalidSchema, type ColumnSchema, TableSchema } from "./table-schema.ts";
import { formatTypeV3, isComparable } from "./type-v3.ts";
import type { PhysicalType } from "./value-type.ts";

/** Whether the table is meant to have key columns; left out, the schema itself says so. */
export interface DynamicTableKind {
  readonly sorted?: boolean;
}

/**
 * Checks the schema of a static table.
 * @throws YtError 314 `New table schema is not valid`, the reason inside
 */
export function validateStaticTableSchema(schema: TableSchema): void {
  asInvalidSchema(() => validateCommon(schema, false));
}

/**
 * Checks the schema of a dynamic table. A sorted one may leave `unique_keys` out: see `toDynamicSchema`.
 * @throws YtError 314 `New table schema is not valid`, the reason inside
 */
export function validateDynamicTableSchema(schema: TableSchema, kind: DynamicTableKind = {}): void {
  asInvalidSchema(() => {
    if (kind.sorted !== undefined && kind.sorted !== schema.isSorted) {
      throw invalid(kind.sorted ? "Table must have key columns" : "Table must not have key columns");
    }
    validateCommon(schema, true);
    validateDynamicConstraints(schema);
  });
}

/**
 * The schema a dynamic table gets from the one the user gave: keys of a sorted dynamic table are unique
 * whether the user says so or not.
 * @throws YtError 314 when the schema does not fit a dynamic table
 */
export function toDynamicSchema(schema: TableSchema, kind: DynamicTableKind = {}): TableSchema {
  validateDynamicTableSchema(schema, kind);
  return schema.isSorted && !schema.uniqueKeys
    ? new TableSchema(schema.columns, { strict: schema.strict, uniqueKeys: true })
    : schema;
}

function validateCommon(schema: TableSchema, dynamic: boolean): void {
  const locks = new Set<string>();
  for (const item of schema.columns) {
    if (item.name === "") {
      throw invalid("Column name cannot be empty");
    }
    asColumnError(item.name, () => {
      validateName(item, schema.isSorted);
      validateKeyType(item);
      validateLockAndGroup(item);
      validateComputed(item, schema.isSorted, dynamic);
      validateAggregate(item);
      validateHunkSize(item);
    });
    if (item.lock !== undefined) {
      locks.add(item.lock);
    }
  }
  // The lock of the columns that name none counts as one.
  if (locks.size + 1 > limits.maxLockGroups) {
    throw invalid(
      `Too many column locks in table schema: actual ${locks.size + 1}, limit ${limits.maxLockGroups}`,
    );
  }
  if (schema.uniqueKeys && !schema.isSorted) {
    throw invalid(`"unique_keys" can only be true if key columns are present`);
  }
  if (schema.keyColumnCount > limits.maxKeyColumns) {
    throw new YtError(
      `Too many columns in key: actual ${schema.keyColumnCount}, limit ${limits.maxKeyColumns}`,
      { code: "TooManyColumnsInKey" },
    );
  }
}

function validateDynamicConstraints(schema: TableSchema): void {
  if (!schema.strict) {
    throw invalid(`"strict" cannot be "false" for a dynamic table`);
  }
  if (schema.keyColumnCount === schema.columns.length) {
    throw invalid("There must be at least one non-key column");
  }
  if (schema.keyColumnCount > limits.maxDynamicTableKeyColumns) {
    throw invalid(
      `Too many key columns: limit ${limits.maxDynamicTableKeyColumns}, actual: ${schema.keyColumnCount}`,
    );
  }
  for (const item of schema.columns.slice(0, schema.keyColumnCount)) {
    asColumnError(item.name, () => {
      if ((item.physical === "any" && !mayHaveAnyKey(schema)) || !isPlainScalar(item.typeV3)) {
        throw invalid(`Dynamic table cannot have key column of type "${formatTypeV3(item.typeV3)}"`);
      }
      if (item.sortOrder === "descending") {
        throw invalid("Descending sort order is not available in this context yet");
      }
    });
  }
}

function validateName(item: ColumnSchema, sorted: boolean): void {
  const { name } = item;
  if (name.startsWith("@")) {
    throw invalid(`Column name cannot start with "@"`);
  }
  const length = byteLength(name);
  if (length > limits.maxColumnNameBytes) {
    throw invalid(`Column name is longer than maximum allowed: ${length} > ${limits.maxColumnNameBytes}`);
  }
  if (!isSystemColumnName(name)) {
    return;
  }
  const expected = (sorted ? sortedSystemColumns : orderedSystemColumns).get(name);
  if (expected === undefined) {
    throw invalid(`System column name "${name}" is not allowed here`);
  }
  if (item.type !== expected || !isPlainScalar(item.typeV3)) {
    throw invalid(
      `Invalid type of column "${name}": expected "${expected}", got "${formatTypeV3(item.typeV3)}"`,
    );
  }
  if (item.sortOrder !== undefined) {
    throw invalid(`Column "${name}" cannot be a part of key`);
  }
}

function validateKeyType(item: ColumnSchema): void {
  // A key of bare YSON is allowed in static tables: it may hold a scalar of any type.
  const isBareYson = item.type === "any" && isPlainScalar(item.typeV3);
  if (item.sortOrder !== undefined && !isBareYson && !isComparable(item.typeV3)) {
    throw invalid(`Key column cannot be of "${formatTypeV3(item.typeV3)}" type`);
  }
}

function validateLockAndGroup(item: ColumnSchema): void {
  for (const [what, text] of [
    ["lock", item.lock],
    ["group", item.group],
  ] as const) {
    if (text === undefined) {
      continue;
    }
    const length = byteLength(text);
    if (length === 0) {
      throw invalid(`Column ${what} name cannot be empty`);
    }
    if (length > limits.maxColumnNameBytes) {
      throw invalid(
        `Column ${what} name is longer than maximum allowed: ${length} > ${limits.maxColumnNameBytes}`,
      );
    }
  }
  if (item.lock !== undefined && item.sortOrder !== undefined) {
    throw invalid("Column lock cannot be set on a key column");
  }
}

function validateComputed(item: ColumnSchema, sorted: boolean, dynamic: boolean): void {
  if (item.expression === undefined) {
    return;
  }
  if (dynamic && (!sorted || item.sortOrder === undefined)) {
    throw invalid("Non-key column cannot be computed");
  }
  if (item.required) {
    throw invalid("Computed column cannot be required");
  }
}

const aggregateTypes: ReadonlyMap<string, readonly PhysicalType[]> = new Map<string, readonly PhysicalType[]>(
  [
    ["sum", ["int64", "uint64", "double"]],
    ["min", ["int64", "uint64", "double", "boolean", "string"]],
    ["max", ["int64", "uint64", "double", "boolean", "string"]],
    ["first", ["int64", "uint64", "double", "boolean", "string", "any"]],
    ["xdelta", ["string"]],
    ["dict_sum", ["any"]],
  ],
);

function validateAggregate(item: ColumnSchema): void {
  const { aggregate } = item;
  if (aggregate === undefined) {
    return;
  }
  if (item.sortOrder !== undefined) {
    throw invalid("Key column cannot be aggregated");
  }
  const types = aggregateTypes.get(aggregate);
  if (types === undefined) {
    throw invalid(`Invalid aggregate function "${aggregate}"`);
  }
  if (item.type !== item.physical || !isPlainScalar(item.typeV3)) {
    throw invalid(
      `Aggregated column "${item.name}" is forbidden to have logical type "${formatTypeV3(item.typeV3)}"`,
    );
  }
  if (!types.includes(item.physical)) {
    throw invalid(
      `Aggregate function "${aggregate}" cannot be used for column "${item.name}" of type "${item.physical}"`,
    );
  }
}

function validateHunkSize(item: ColumnSchema): void {
  if (item.maxInlineHunkSize === undefined) {
    return;
  }
  if (item.maxInlineHunkSize <= 0n) {
    throw invalid("Max inline hunk size must be positive");
  }
  if (item.physical !== "string" && item.physical !== "any") {
    throw invalid(`Max inline hunk size can only be set for string-like columns, not "${item.physical}"`);
  }
  if (item.sortOrder !== undefined) {
    throw invalid("Max inline hunk size cannot be set for key column");
  }
  if (item.aggregate !== undefined) {
    throw invalid("Max inline hunk size cannot be set for aggregate column");
  }
}

/** Whether the type can be said by `type` and `required` alone. */
function isPlainScalar(typeV3: YsonValue): boolean {
  const node = bare(typeV3);
  if (!isMap(node)) {
    return true;
  }
  const item = node.get("item");
  return (
    node.get("type_name") === "optional" && typeof item === "string" && item !== "null" && item !== "void"
  );
}

/** The length in bytes; a byte that is no UTF-8 is one lone surrogate. */
function byteLength(text: string): number {
  return Buffer.byteLength(text.replace(/[\udc80-\udcff]/gu, "x"));
}

function invalid(message: string): YtError {
  return new YtError(message, { code: "InvalidSchemaValue" });
}
