/**
 * Recognises the tables of consumers and producers by their schema.
 *
 * Specified in: yt/yt/client/queue_client/consumer_client.cpp (exact schema equality).
 */
import { mapOf, YtError } from "@qyt/base";
import { consumerSchema, consumerSchemaWithoutMeta, type TableSchema } from "@qyt/schema";

/** Whether the consumer table has the column `meta`. @throws YtError when it is no consumer's schema */
export function consumerHasMeta(schema: TableSchema, path: string): boolean {
  if (schema.equals(consumerSchema)) {
    return true;
  }
  if (schema.equals(consumerSchemaWithoutMeta)) {
    return false;
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
