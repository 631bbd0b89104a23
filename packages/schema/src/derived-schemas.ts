/**
 * The schemas rows are read and written with, which differ from the table's own by system columns.
 * Specified in: ToQuery, ToWrite, ToWriteViaQueueProducer of yt/yt/client/table_client/schema.cpp.
 */
import { systemColumns } from "./system-columns.ts";
import { type ColumnSchema, column, TableSchema } from "./table-schema.ts";

const tabletIndex = column(systemColumns.tabletIndex, "int64", { sortOrder: "ascending" });
const rowIndex = column(systemColumns.rowIndex, "int64", { sortOrder: "ascending" });
const sequenceNumber = column(systemColumns.sequenceNumber, "int64");

/**
 * What queries and pulls see. An ordered table gets `$tablet_index` and `$row_index` in front, as its key;
 * a sorted one is seen as it is.
 */
export function toQuerySchema(schema: TableSchema): TableSchema {
  return schema.isSorted ? schema : rebuild(schema, [tabletIndex, rowIndex, ...schema.columns]);
}

/**
 * What `insert_rows` accepts. An ordered table takes `$tablet_index` in front and nothing for the columns
 * the server fills; a sorted one takes all but its computed columns.
 */
export function toWriteSchema(schema: TableSchema): TableSchema {
  return schema.isSorted
    ? rebuild(
        schema,
        schema.columns.filter((item) => item.expression === undefined),
      )
    : rebuild(schema, [tabletIndex, ...writableColumns(schema)]);
}

/** What `push_queue_producer` accepts: `$tablet_index`, `$sequence_number`, then the columns of the queue. */
export function toProducerWriteSchema(schema: TableSchema): TableSchema {
  return rebuild(schema, [tabletIndex, sequenceNumber, ...writableColumns(schema)]);
}

function writableColumns(schema: TableSchema): readonly ColumnSchema[] {
  return schema.columns.filter(
    ({ name }) => name !== systemColumns.timestamp && name !== systemColumns.cumulativeDataWeight,
  );
}

function rebuild(schema: TableSchema, columns: readonly ColumnSchema[]): TableSchema {
  return new TableSchema(columns, { strict: schema.strict, uniqueKeys: schema.uniqueKeys });
}
