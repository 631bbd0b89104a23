/**
 * Recognises the tables of consumers by their schema: of one consumer, or of several with names.
 *
 * Specified in: yt/yt/client/queue_client/consumer_client.cpp (exact schema equality),
 * yt/yt/tests/integration/queues/test_api.py (names).
 */
import { mapOf, YtError } from "@qyt/base";
import {
  consumerSchema,
  consumerSchemaWithoutMeta,
  multiConsumerSchema,
  multiConsumerSchemaWithoutMeta,
  type TableSchema,
} from "@qyt/schema";
import type { DynamicTable } from "../tablets/index.ts";

/** The part of a consumer table that one consumer uses. */
export interface ConsumerTable {
  readonly table: DynamicTable;
  readonly hasMeta: boolean;
  /** First key column, in a table of several consumers. */
  readonly name: string | undefined;
}

interface ConsumerKind {
  readonly schema: TableSchema;
  readonly hasMeta: boolean;
  readonly hasName: boolean;
}

const kinds: readonly ConsumerKind[] = [
  { schema: consumerSchema, hasMeta: true, hasName: false },
  { schema: consumerSchemaWithoutMeta, hasMeta: false, hasName: false },
  { schema: multiConsumerSchema, hasMeta: true, hasName: true },
  { schema: multiConsumerSchemaWithoutMeta, hasMeta: false, hasName: true },
];

/**
 * @param name `queue_consumer_name` of the consumer's path
 * @throws YtError when the schema is no consumer's, or the name is missing or has no place
 */
export function consumerTable(table: DynamicTable, name: string | undefined): ConsumerTable {
  const { hasMeta, hasName } = consumerKind(table.schema, table.path);
  if (hasName && name === undefined) {
    throw new YtError(
      `Queue consumer name is required for multi-consumer schema, path ${table.path} has no attribute "queue_consumer_name"`,
      { attributes: { path: table.path } },
    );
  }
  if (!hasName && name !== undefined) {
    throw new YtError(`Queue consumer name is not supported for consumer schema of table ${table.path}`, {
      attributes: { path: table.path, queue_consumer_name: name },
    });
  }
  return { table, hasMeta, name };
}

/** Schemas compared before; a table keeps one object as long as its schema stays. */
const recognised = new WeakMap<TableSchema, ConsumerKind>();

function consumerKind(schema: TableSchema, path: string): ConsumerKind {
  const kind = recognised.get(schema) ?? kinds.find((candidate) => schema.equals(candidate.schema));
  if (kind !== undefined) {
    recognised.set(schema, kind);
    return kind;
  }
  if (!schema.uniqueKeys) {
    throw new YtError(`Consumer schema must have unique keys, table ${path} has not`, {
      attributes: mapOf({ actual_schema: schema.toYson() }),
    });
  }
  throw new YtError(`Table schema is not recognized as a valid consumer schema, table ${path}`, {
    attributes: mapOf({ expected_schema: consumerSchema.toYson(), actual_schema: schema.toYson() }),
  });
}
