/**
 * Registrations as rows of `consumer_registrations`: keys, the stored form of paths, and back.
 *
 * Specified in: yt/yt/ytlib/queue_client/records/consumer_registration.yaml.
 */
import { attributesOf, bare, emptyMap, isList, isMap, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { type RowValue, TableSchema, YsonAny } from "@qyt/schema";
import { bytesToString, parseRichPath, parseYson, stringToBytes, writeYson, writeYsonText } from "@qyt/yson";
import type { ConsumerReference, Reference } from "./reference.ts";
import { consumerNameOf, consumerOf, referenceToYson } from "./reference.ts";

export const registrationTablePath = "//sys/queue_agents/consumer_registrations";

export interface Registration {
  readonly queue: Reference;
  readonly consumer: ConsumerReference;
  readonly vital: boolean;
  /** `null`: all partitions. */
  readonly partitions: readonly bigint[] | null;
}

export interface RegistrationFilter {
  readonly queue?: Reference;
  /** Without a name: all consumers of the table. */
  readonly consumer?: ConsumerReference;
}

/** Keys are never null in practice, but not required by the schema, as in the real system's script. */
export const registrationTableSchema: TableSchema = TableSchema.fromYson([
  ...["queue_cluster", "queue_path", "consumer_cluster", "consumer_path"].map((name) =>
    mapOf({ name, type: "string", sort_order: "ascending" }),
  ),
  mapOf({ name: "vital", type: "boolean" }),
  mapOf({ name: "partitions", type: "any" }),
]);

const keyColumnCount = 4;

export function keyOf(queue: Reference, consumer: ConsumerReference): RowValue[] {
  return Object.values(keyObject(queue, consumer)).map((text) => stringToBytes(text));
}

/** In the order of the key columns. */
export function keyObject(queue: Reference, consumer: ConsumerReference): Record<string, string> {
  return {
    queue_cluster: queue.cluster,
    queue_path: queue.path,
    consumer_cluster: consumer.cluster,
    consumer_path: storedPath(consumer),
  };
}

export function rowOf({ queue, consumer, vital, partitions }: Registration): RowValue[] {
  const encoded = partitions === null ? null : new YsonAny(writeYson(partitions, "binary"));
  return [...keyOf(queue, consumer), vital, encoded];
}

/**
 * The table has one column for the consumer's path, and clients read it; so a name goes in front of the
 * path, as in the text form of a rich path: `<"queue_consumer_name"="a">//tmp/c`.
 */
function storedPath(consumer: ConsumerReference): string {
  return consumer.name === undefined
    ? consumer.path
    : `<"queue_consumer_name"=${writeYsonText(consumer.name)}>${consumer.path}`;
}

function parseStoredPath(stored: string): { readonly path: string; readonly name?: string } {
  if (!stored.startsWith("<")) {
    return { path: stored };
  }
  const rich = parseRichPath(stored);
  const name = consumerNameOf(rich);
  return { path: rich.path, ...(name === undefined ? {} : { name }) };
}

export function registrationOf(row: readonly RowValue[]): Registration {
  const text = (index: number): string => {
    const value = row[index];
    return value instanceof Uint8Array ? bytesToString(value) : "";
  };
  const partitions = row[keyColumnCount + 1];
  return {
    queue: { cluster: text(0), path: text(1) },
    consumer: { cluster: text(2), ...parseStoredPath(text(3)) },
    vital: row[keyColumnCount] === true,
    partitions: partitions instanceof YsonAny ? readPartitions(parseYson(partitions.bytes)) : null,
  };
}

/** Of a row that a client has read. */
export function registrationOfObject(row: Readonly<Record<string, unknown>>): Registration {
  const text = (name: string): string => (typeof row[name] === "string" ? row[name] : "");
  return {
    queue: { cluster: text("queue_cluster"), path: text("queue_path") },
    consumer: { cluster: text("consumer_cluster"), ...parseStoredPath(text("consumer_path")) },
    vital: row.vital === true,
    partitions: Array.isArray(row.partitions)
      ? row.partitions.filter((item) => typeof item === "bigint")
      : null,
  };
}

/** Thousands are listed at once, and mostly the same ones: making them took longer than writing them. */
const toldRegistrations = new WeakMap<Registration, YsonMap>();

/** As `list_queue_consumer_registrations` tells it. */
export function registrationToYson(registration: Registration): YsonMap {
  let told = toldRegistrations.get(registration);
  if (told === undefined) {
    told = new Map<string, YsonValue>([
      ["queue_path", referenceToYson(registration.queue)],
      ["consumer_path", referenceToYson(registration.consumer)],
      ["vital", registration.vital],
      ["partitions", registration.partitions],
    ]);
    toldRegistrations.set(registration, told);
  }
  return told;
}

/** Of an answer of `list_queue_consumer_registrations`. */
export function registrationOfYson(item: YsonValue): Registration {
  const map = isMap(item) ? item : emptyMap;
  const consumer = map.get("consumer_path") ?? null;
  const name = attributesOf(consumer).get("queue_consumer_name");
  const registration: Registration = {
    queue: referenceOf(map.get("queue_path") ?? null),
    consumer: consumerOf(referenceOf(consumer), typeof name === "string" ? name : undefined),
    vital: map.get("vital") === true,
    partitions: readPartitions(map.get("partitions") ?? null),
  };
  toldRegistrations.set(registration, map);
  return registration;
}

function referenceOf(path: YsonValue): Reference {
  const cluster = attributesOf(path).get("cluster");
  const text = bare(path);
  return {
    cluster: typeof cluster === "string" ? cluster : "",
    path: typeof text === "string" ? text : "",
  };
}

function readPartitions(value: YsonValue): readonly bigint[] | null {
  const plain = bare(value);
  return isList(plain) ? plain.filter((item) => typeof item === "bigint") : null;
}

export function matches(registration: Registration, filter: RegistrationFilter): boolean {
  const { queue, consumer } = filter;
  return (
    (queue === undefined || isSame(registration.queue, queue)) &&
    (consumer === undefined ||
      (isSame(registration.consumer, consumer) &&
        (consumer.name === undefined || consumer.name === registration.consumer.name)))
  );
}

function isSame(stored: Reference, wanted: Reference): boolean {
  return stored.cluster === wanted.cluster && stored.path === wanted.path;
}
