/**
 * Which changes of a table's schema are allowed when the table already has rows.
 * Specified in: `ValidateTableSchemaUpdate` of yt/yt/library/heavy_schema_validation/schema_validation.cpp.
 */
import { toYtError, YtError } from "@qyt/base";
import { toDynamicSchema, validateStaticTableSchema } from "./schema-validation.ts";
import { type ColumnSchema, sameColumn, type TableSchema } from "./table-schema.ts";
import { checkTypeChange } from "./type-compatibility.ts";

export interface AlterOptions {
  /** Whether the table is dynamic after the change. */
  readonly dynamic: boolean;
  /** Whether a static table has no rows. A dynamic table always counts as one that has. */
  readonly empty: boolean;
}

/**
 * Checks a change of schema. The new schema is checked for itself first; that of a dynamic table is taken
 * as `toDynamicSchema` gives it.
 * @throws YtError 314 when the new schema is not valid, 316 `Table schemas are incompatible` when it does
 *   not fit the rows written under the old one; the reason is inside
 */
export function checkAlter(oldSchema: TableSchema, newSchema: TableSchema, options: AlterOptions): void {
  let next = newSchema;
  if (options.dynamic) {
    next = toDynamicSchema(newSchema);
  } else {
    validateStaticTableSchema(newSchema);
  }
  try {
    checkKeysNotAny(oldSchema, next);
    if (options.dynamic || !options.empty) {
      checkRowsStayValid(oldSchema, next, options.dynamic);
    }
  } catch (thrown) {
    throw new YtError("Table schemas are incompatible", {
      code: "IncompatibleSchemas",
      attributes: { old_schema: oldSchema.toYson(), new_schema: newSchema.toYson() },
      inner: [toYtError(thrown)],
    });
  }
}

function checkRowsStayValid(before: TableSchema, after: TableSchema, dynamic: boolean): void {
  if (dynamic && before.isSorted !== after.isSorted) {
    throw incompatible("Cannot change dynamic table type from sorted to ordered or vice versa");
  }
  if (!before.isSorted && after.isSorted) {
    throw incompatible("Cannot change schema from unsorted to sorted");
  }
  if (!before.strict && after.strict) {
    throw incompatible(`Changing "strict" from "false" to "true" is not allowed`);
  }
  if (!before.uniqueKeys && after.uniqueKeys) {
    throw incompatible(`Changing "unique_keys" from "false" to "true" is not allowed`);
  }
  if (before.strict && !after.strict) {
    if (!sameColumns(before, after)) {
      throw incompatible(`Changing columns is not allowed while changing "strict" from "true" to "false"`);
    }
    return;
  }
  if (before.strict) {
    checkNothingRemoved(before, after);
  } else {
    checkNothingInserted(before, after);
  }
  checkCommonColumns(before, after);
  checkNewColumns(before, after);
}

/** Holds even for empty tables: readers of the key rely on its physical type. */
function checkKeysNotAny(before: TableSchema, after: TableSchema): void {
  for (const oldColumn of before.columns.slice(0, before.keyColumnCount)) {
    if (oldColumn.physical !== "any" && after.find(oldColumn.name)?.physical === "any") {
      throw new YtError(`Altering a key column type to "any" is forbidden`, {
        code: "IncompatibleSchemas",
        attributes: { column_name: oldColumn.name },
      });
    }
  }
}

function checkNothingRemoved(before: TableSchema, after: TableSchema): void {
  for (const { name } of before.columns) {
    if (after.indexOf(name) < 0) {
      throw incompatible(`Cannot remove column "${name}" from a strict schema`);
    }
  }
}

function checkNothingInserted(before: TableSchema, after: TableSchema): void {
  for (const { name } of after.columns) {
    if (before.indexOf(name) < 0) {
      throw incompatible(`Cannot insert a new column "${name}" into non-strict schema`);
    }
  }
}

function checkCommonColumns(before: TableSchema, after: TableSchema): void {
  let commonKeyPrefix = 0;
  for (const [oldIndex, oldColumn] of before.columns.entries()) {
    const newIndex = after.indexOf(oldColumn.name);
    const newColumn = after.columns[newIndex];
    if (newColumn === undefined) {
      continue;
    }
    checkColumnChange(oldColumn, newColumn);
    if (oldColumn.sortOrder !== undefined && newColumn.sortOrder !== undefined) {
      if (oldIndex !== newIndex) {
        throw incompatible(
          `Cannot change position of a key column "${oldColumn.name}": old ${oldIndex}, new ${newIndex}`,
        );
      }
      commonKeyPrefix = oldIndex + 1;
    }
  }
  for (const { name } of before.columns.slice(0, commonKeyPrefix)) {
    if (after.indexOf(name) < 0) {
      throw incompatible(`Key column "${name}" is missing in new schema`);
    }
  }
  if (commonKeyPrefix < before.keyColumnCount && after.uniqueKeys) {
    throw incompatible("Table cannot have unique keys since some of its key columns were removed");
  }
}

function checkColumnChange(before: ColumnSchema, after: ColumnSchema): void {
  const { name } = before;
  try {
    checkTypeChange(before.typeV3, after.typeV3, name);
  } catch (thrown) {
    throw toYtError(thrown).wrap(`Type mismatch for column "${name}"`);
  }
  if (after.sortOrder !== undefined && after.sortOrder !== before.sortOrder) {
    throw mismatch("Sort order", name, before.sortOrder, after.sortOrder);
  }
  if (before.expression !== after.expression) {
    throw mismatch("Expression", name, before.expression, after.expression);
  }
  // An aggregate may be introduced; from then on it stays.
  if (before.aggregate !== undefined && before.aggregate !== after.aggregate) {
    throw mismatch("Aggregate mode", name, before.aggregate, after.aggregate);
  }
  if (before.maxInlineHunkSize !== undefined && after.maxInlineHunkSize === undefined) {
    throw incompatible(`Cannot reset max inline hunk size for column "${name}"`);
  }
}

function checkNewColumns(before: TableSchema, after: TableSchema): void {
  for (const item of after.columns) {
    if (before.indexOf(item.name) >= 0) {
      continue;
    }
    if (item.expression !== undefined) {
      throw incompatible(`Cannot introduce a new computed column "${item.name}" after creation`);
    }
    if (item.required) {
      throw incompatible(`Cannot insert a new required column "${item.name}" into a non-empty table`);
    }
  }
}

function sameColumns(before: TableSchema, after: TableSchema): boolean {
  return (
    before.columns.length === after.columns.length &&
    before.columns.every((item, index) => {
      const counterpart = after.columns[index];
      return counterpart !== undefined && sameColumn(item, counterpart);
    })
  );
}

function mismatch(
  what: string,
  name: string,
  before: string | undefined,
  after: string | undefined,
): YtError {
  return incompatible(
    `${what} mismatch for column "${name}": old "${before ?? "<null>"}", new "${after ?? "<null>"}"`,
  );
}

function incompatible(message: string): YtError {
  return new YtError(message, { code: "IncompatibleSchemas" });
}
