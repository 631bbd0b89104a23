/** The queue for rows that could not be handled: what a row there says. */
import { mapOf, Uint64, type YsonValue } from "@qyt/base";
import { toYson } from "@qyt/yson";
import type { YtClient } from "../client.ts";
import type { PathInput } from "../types.ts";
import type { Partition } from "./partition.ts";
import { indexOf, type Row } from "./row-buffer.ts";

const column = (name: string, type: string) => ({ name, type });

const schema = [
  column("consumer", "string"),
  column("queue", "string"),
  column("partition_index", "int64"),
  column("row_index", "int64"),
  column("attempts", "int64"),
  column("error", "string"),
  column("row", "any"),
  column("$timestamp", "uint64"),
  column("$cumulative_data_weight", "int64"),
];

const maxInt64 = (1n << 63n) - 1n;

/**
 * Makes a dead-letter queue and asks that it is mounted. It must be on the cluster of the consumer.
 * Columns: `consumer` and `queue` as `cluster:path`, `partition_index`, `row_index`, `attempts`, `error`, and the
 * whole `row`.
 */
export async function createDeadLetterQueue(client: YtClient, path: PathInput): Promise<void> {
  const attributes = mapOf({ dynamic: true, schema: toYson(schema) });
  await client.create("table", path, { attributes, recursive: true });
  await client.mountTable(path);
}

/** The row of the dead-letter queue for a row of a partition. */
export function deadLetterOf(partition: Partition, row: Row): Row {
  const { consumer } = partition.link;
  return {
    consumer: `${consumer.cluster}:${consumer.path}`,
    queue: partition.link.key,
    partition_index: BigInt(partition.index),
    row_index: indexOf(row),
    attempts: BigInt(partition.attempts.count),
    error: partition.attempts.error,
    row: storable(row),
  };
}

/** Decoded rows have unsigned integers as `bigint`; those that no int64 holds have to be told apart again. */
function storable(value: unknown): YsonValue {
  if (typeof value === "bigint" && value > maxInt64) {
    return new Uint64(value);
  }
  if (Array.isArray(value)) {
    return value.map(storable);
  }
  if (typeof value === "object" && value !== null) {
    return mapOf(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, storable(item)])));
  }
  return toYson(value);
}
