/**
 * Schemas of the tables that keep offsets of consumers and sessions of producers. A table is recognised by
 * exact equality with one of them.
 * Specified in: yt/python/yt/environment/init_queue_agent_state.py, yt/yt/client/queue_client.
 */
import { column, TableSchema } from "./table-schema.ts";

const key = { sortOrder: "ascending", required: true } as const;
const required = { required: true } as const;

const consumerColumns = [
  column("queue_cluster", "string", key),
  column("queue_path", "string", key),
  column("partition_index", "uint64", key),
  column("offset", "uint64", required),
];

/** The consumer table that `create` with type `queue_consumer` makes. */
export const consumerSchema = new TableSchema([...consumerColumns, column("meta", "any")], {
  uniqueKeys: true,
});

/** The older form, still recognised everywhere; nothing is written to `meta` then. */
export const consumerSchemaWithoutMeta = new TableSchema(consumerColumns, { uniqueKeys: true });

/** A table of several consumers, each with a name and offsets of its own. */
export const multiConsumerSchema = new TableSchema(
  [column("queue_consumer_name", "string", key), ...consumerColumns, column("meta", "any")],
  { uniqueKeys: true },
);

export const multiConsumerSchemaWithoutMeta = new TableSchema(
  [column("queue_consumer_name", "string", key), ...consumerColumns],
  { uniqueKeys: true },
);

/** The producer table that `create` with type `queue_producer` makes. */
export const producerSchema = new TableSchema(
  [
    column("queue_cluster", "string", key),
    column("queue_path", "string", key),
    column("session_id", "string", key),
    column("sequence_number", "int64", required),
    column("epoch", "int64", required),
    column("user_meta", "any"),
    column("system_meta", "any"),
  ],
  { uniqueKeys: true },
);
