/**
 * What a write to a static table comes to: the schema its rows must have and the table has afterwards, and
 * the lock it needs.
 * Specified in: yt/yt/ytlib/table_client/table_upload_options.cpp.
 */
import { bare, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import { column, TableSchema, validateStaticTableSchema } from "@qyt/schema";
import type { RichPath } from "@qyt/yson";
import { type LockRequest, parseBoolean } from "../../cypress/index.ts";
import { isOrderedDynamic, type TableState } from "../tables/table-state.ts";

export interface WritePlan {
  readonly append: boolean;
  readonly schema: TableSchema;
  readonly schemaMode: "weak" | "strong";
  readonly lock: LockRequest;
}

const weakSchema = new TableSchema([], { strict: false });

/** @throws YtError for a dynamic table, for path attributes that do not go together or with the table */
export function planWrite(path: RichPath, tablePath: string, state: TableState): WritePlan {
  if (state.dynamic) {
    throw new YtError(
      isOrderedDynamic(state)
        ? "Cannot upload into ordered dynamic table"
        : "Cannot upload into sorted dynamic table; insert its rows with insert_rows",
      { attributes: { path: tablePath } },
    );
  }
  const { attributes } = path;
  const append = isAppend(path);
  const schema = attributes.get("schema") ?? null;
  const sortedBy = sortColumns(attributes.get("sorted_by") ?? null);
  if (schema !== null && append) {
    throw incompatible("append", "schema", tablePath);
  }
  if (schema !== null && sortedBy.length > 0) {
    throw incompatible("sorted_by", "schema", tablePath);
  }
  if (schema !== null) {
    const parsed = TableSchema.fromYson(schema);
    validateStaticTableSchema(parsed);
    return { append, schema: parsed, schemaMode: "strong", lock: { mode: "exclusive" } };
  }
  return state.schemaMode === "strong"
    ? planStrong(append, sortedBy, tablePath, state)
    : planWeak(append, sortedBy, state);
}

function planStrong(
  append: boolean,
  sortedBy: readonly SortColumn[],
  tablePath: string,
  state: TableState,
): WritePlan {
  const { schema } = state;
  if (append && sortedBy.length > 0) {
    throw new YtError("Cannot append sorted data to a table with strong schema", {
      attributes: { path: tablePath },
    });
  }
  if (sortedBy.length > 0) {
    const keys = schema.columns.slice(0, schema.keyColumnCount).map(({ name }) => name);
    const asked = sortedBy.map(({ name }) => name);
    if (keys.length !== asked.length || keys.some((name, index) => name !== asked[index])) {
      throw new YtError('Path attribute "sorted_by" does not match the key columns of the table', {
        code: "IncompatibleKeyColumns",
        attributes: { path: tablePath, sorted_by: asked, key_columns: keys },
      });
    }
  }
  return {
    append,
    schema,
    schemaMode: "strong",
    lock: { mode: append && !schema.isSorted ? "shared" : "exclusive" },
  };
}

/** Appending unsorted rows makes a sorted table unsorted; that changes more than its rows. */
function planWeak(append: boolean, sortedBy: readonly SortColumn[], state: TableState): WritePlan {
  const isEmpty = (state.chunkListId ?? state.deltaListIds) === undefined;
  const schema = weakSchemaOf(sortedBy);
  if (append && schema.isSorted && !isEmpty && !startsWith(state.schema, sortedBy)) {
    throw new YtError("Cannot append sorted data to a table that is not sorted by the same columns", {
      code: "IncompatibleKeyColumns",
    });
  }
  const isPlain = !schema.isSorted && !state.schema.isSorted;
  return { append, schema, schemaMode: "weak", lock: { mode: append && isPlain ? "shared" : "exclusive" } };
}

interface SortColumn {
  readonly name: string;
  readonly order: "ascending" | "descending";
}

function weakSchemaOf(sortedBy: readonly SortColumn[]): TableSchema {
  if (sortedBy.length === 0) {
    return weakSchema;
  }
  const columns = sortedBy.map(({ name, order }) => column(name, "any", { sortOrder: order }));
  return new TableSchema(columns, { strict: false });
}

function startsWith(schema: TableSchema, sortedBy: readonly SortColumn[]): boolean {
  return sortedBy.every(({ name, order }, index) => {
    const found = schema.columns[index];
    return found?.name === name && found.sortOrder === order;
  });
}

/** Names, or `{name=…; sort_order=…}`. */
function sortColumns(value: YsonValue): SortColumn[] {
  const list = bare(value);
  if (list === null) {
    return [];
  }
  if (!isList(list)) {
    throw new YtError('Path attribute "sorted_by" must be a list of columns');
  }
  return list.map((item) => {
    const plain = bare(item);
    const name = isMap(plain) ? bare(plain.get("name") ?? null) : plain;
    const order = isMap(plain) ? bare(plain.get("sort_order") ?? "ascending") : "ascending";
    if (typeof name !== "string" || (order !== "ascending" && order !== "descending")) {
      throw new YtError('Path attribute "sorted_by" must be a list of columns');
    }
    return { name, order };
  });
}

/** Whether the path says `<append=%true>`. @throws YtError when it is no boolean */
export function isAppend(path: RichPath): boolean {
  const value = path.attributes.get("append");
  return value !== undefined && bare(value) !== null && parseBoolean(value);
}

function incompatible(one: string, other: string, path: string): YtError {
  return new YtError(`YPath attributes "${one}" and "${other}" are not compatible`, { attributes: { path } });
}
