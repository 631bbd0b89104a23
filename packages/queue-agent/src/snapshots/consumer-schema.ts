/**
 * What a consumer's table keeps where, told by its schema.
 *
 * Specified in: yt/yt/client/queue_client/consumer_client.cpp (CreateConsumerClient).
 */
import { bare, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import {
  consumerSchema,
  consumerSchemaWithoutMeta,
  multiConsumerSchema,
  multiConsumerSchemaWithoutMeta,
  TableSchema,
} from "@qyt/schema";

export interface ConsumerTableKind {
  /** Rows say what the queue's rows at the offset were. */
  readonly hasMeta: boolean;
  /** The first key column is the name of a consumer. */
  readonly hasName: boolean;
  /** `ShardId`, `Offset`: the table of one queue, with the offset of the last row read. */
  readonly isLegacy: boolean;
}

const kinds: readonly (readonly [TableSchema, ConsumerTableKind])[] = [
  [consumerSchema, { hasMeta: true, hasName: false, isLegacy: false }],
  [consumerSchemaWithoutMeta, { hasMeta: false, hasName: false, isLegacy: false }],
  [multiConsumerSchema, { hasMeta: true, hasName: true, isLegacy: false }],
  [multiConsumerSchemaWithoutMeta, { hasMeta: false, hasName: true, isLegacy: false }],
];

/** @throws YtError when no consumer has such a schema */
export function consumerTableKind(schema: YsonValue): ConsumerTableKind {
  const parsed = TableSchema.fromYson(schema);
  const known = kinds.find(([candidate]) => parsed.equals(candidate));
  if (known !== undefined) {
    return known[1];
  }
  if (isLegacySchema(schema)) {
    return { hasMeta: false, hasName: false, isLegacy: true };
  }
  if (!parsed.uniqueKeys) {
    throw new YtError(
      "Consumer schema must have unique keys: create the table with a schema of <unique_keys=%true>",
    );
  }
  throw new YtError(
    "Table schema is not recognized as a valid consumer schema; create the table as a `queue_consumer`",
    { attributes: { expected_schema: consumerSchema.toYson(), actual_schema: parsed.toYson() } },
  );
}

function isLegacySchema(schema: YsonValue): boolean {
  const list = bare(schema);
  const names = (isList(list) ? list : []).map((item) => {
    const column = bare(item);
    return isMap(column) ? column.get("name") : undefined;
  });
  return names.length === 2 && names[0] === "ShardId" && names[1] === "Offset";
}
