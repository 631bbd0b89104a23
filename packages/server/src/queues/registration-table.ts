/**
 * Where registrations are kept: `//sys/queue_agents/consumer_registrations` of the cluster that keeps
 * the shared registrations; here directly, elsewhere through that cluster's API. Read and written as
 * `root`; every read is fresh (as with `bypass_caching`), so that a caller reads its own writes.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager.cpp,
 * yt/yt/ytlib/queue_client/records/consumer_registration.yaml.
 */
import { bare, isList, mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { type RowValue, TableSchema, YsonAny } from "@qyt/schema";
import { bytesToString, parseRichPath, parseYson, stringToBytes, writeYson, writeYsonText } from "@qyt/yson";
import { type CallBounds, type ClusterDirectory, isUnanswered } from "../clusters/index.ts";
import type { DynamicTable, TableManager, TabletTransactions } from "../tablets/index.ts";
import type { ConsumerReference, Reference } from "./reference.ts";
import { consumerNameOf } from "./reference.ts";

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

/** The bounds are those of the request; only a table elsewhere needs them. */
export interface RegistrationTable {
  find(bounds: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<Registration | undefined>;
  list(bounds: CallBounds, filter: RegistrationFilter): Promise<Registration[]>;
  put(bounds: CallBounds, registration: Registration): Promise<void>;
  remove(bounds: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<void>;
}

/** Keys are never null in practice, but not required by the schema, as in the real system's script. */
export const registrationTableSchema: TableSchema = TableSchema.fromYson([
  ...["queue_cluster", "queue_path", "consumer_cluster", "consumer_path"].map((name) =>
    mapOf({ name, type: "string", sort_order: "ascending" }),
  ),
  mapOf({ name: "vital", type: "boolean" }),
  mapOf({ name: "partitions", type: "any" }),
]);

const keyTypes = ["string", "string", "string", "string"] as const;

/** The table of this cluster. */
export class LocalRegistrationTable implements RegistrationTable {
  readonly #tables: TableManager;
  readonly #transactions: TabletTransactions;

  constructor(tables: TableManager, transactions: TabletTransactions) {
    this.#tables = tables;
    this.#transactions = transactions;
  }

  async find(
    _: CallBounds,
    queue: Reference,
    consumer: ConsumerReference,
  ): Promise<Registration | undefined> {
    const transaction = this.#transactions.begin({ user: "root" });
    try {
      const [row] = transaction.lookup(this.#table(), [keyOf(queue, consumer)]);
      return row === undefined ? undefined : registrationOf(row);
    } finally {
      transaction.abort();
    }
  }

  async list(_: CallBounds, filter: RegistrationFilter): Promise<Registration[]> {
    const result: Registration[] = [];
    const { queue } = filter;
    const keyPrefix = queue === undefined ? [] : [stringToBytes(queue.cluster), stringToBytes(queue.path)];
    for await (const rows of this.#tables.scanSorted(this.#table(), keyPrefix)) {
      for (const row of rows) {
        const registration = registrationOf(row);
        if (matches(registration, filter)) {
          result.push(registration);
        }
      }
    }
    return result;
  }

  async put(_: CallBounds, registration: Registration): Promise<void> {
    const { partitions } = registration;
    await this.#transactions.run({ user: "root" }, (transaction) =>
      transaction.writeRow(this.#table(), [
        ...keyOf(registration.queue, registration.consumer),
        registration.vital,
        partitions === null ? null : new YsonAny(writeYson(partitions, "binary")),
      ]),
    );
  }

  async remove(_: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<void> {
    await this.#transactions.run({ user: "root" }, (transaction) =>
      transaction.deleteKey(this.#table(), keyOf(queue, consumer)),
    );
  }

  #table(): DynamicTable {
    return this.#tables.dynamicTable({ user: "root" }, registrationTablePath);
  }
}

/** The table of another cluster, which keeps the registrations for this one. */
export class RemoteRegistrationTable implements RegistrationTable {
  readonly #clusters: ClusterDirectory;
  readonly #cluster: string;

  constructor(clusters: ClusterDirectory, cluster: string) {
    this.#clusters = clusters;
    this.#cluster = cluster;
  }

  async find(
    bounds: CallBounds,
    queue: Reference,
    consumer: ConsumerReference,
  ): Promise<Registration | undefined> {
    const [row] = await this.#call(bounds, (client, options) =>
      client.lookupRows(registrationTablePath, [keyObject(queue, consumer)], options),
    );
    return row === undefined || row === null ? undefined : registrationOfObject(row);
  }

  async list(bounds: CallBounds, filter: RegistrationFilter): Promise<Registration[]> {
    const rows = await this.#call(bounds, (client, options) =>
      client.selectRows(`* from [${registrationTablePath}]`, options),
    );
    return rows.map(registrationOfObject).filter((registration) => matches(registration, filter));
  }

  /** Without an answer the row may be there or not, as a whole; the same request again is harmless. */
  async put(bounds: CallBounds, registration: Registration): Promise<void> {
    const row = {
      ...keyObject(registration.queue, registration.consumer),
      vital: registration.vital,
      partitions: registration.partitions,
    };
    await this.#call(bounds, (client, options) => client.insertRows(registrationTablePath, [row], options));
  }

  async remove(bounds: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<void> {
    await this.#call(bounds, (client, options) =>
      client.deleteRows(registrationTablePath, [keyObject(queue, consumer)], options),
    );
  }

  async #call<T>(
    bounds: CallBounds,
    work: (client: YtClient, options: CommandOptions) => Promise<T>,
  ): Promise<T> {
    if (!this.#clusters.isKnown(this.#cluster)) {
      throw new YtError(
        `Cluster "${this.#cluster}", which keeps the queue consumer registrations, is not known here; add it to //sys/clusters`,
      );
    }
    try {
      return await this.#clusters.call(this.#cluster, "root", bounds, work);
    } catch (thrown) {
      const error = toYtError(thrown);
      throw isUnanswered(error)
        ? error.wrap(
            `Cluster "${this.#cluster}", which keeps the queue consumer registrations, did not answer; repeat the request when it does`,
            { cluster: this.#cluster },
          )
        : error;
    }
  }
}

function keyOf(queue: Reference, consumer: ConsumerReference): RowValue[] {
  return Object.values(keyObject(queue, consumer)).map((text) => stringToBytes(text));
}

/** In the order of the key columns. */
function keyObject(queue: Reference, consumer: ConsumerReference): Record<string, string> {
  return {
    queue_cluster: queue.cluster,
    queue_path: queue.path,
    consumer_cluster: consumer.cluster,
    consumer_path: storedPath(consumer),
  };
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

function registrationOf(row: readonly RowValue[]): Registration {
  const text = (index: number): string => {
    const value = row[index];
    return value instanceof Uint8Array ? bytesToString(value) : "";
  };
  const partitions = row[keyTypes.length + 1];
  return {
    queue: { cluster: text(0), path: text(1) },
    consumer: { cluster: text(2), ...parseStoredPath(text(3)) },
    vital: row[keyTypes.length] === true,
    partitions: partitions instanceof YsonAny ? readPartitions(parseYson(partitions.bytes)) : null,
  };
}

function registrationOfObject(row: Readonly<Record<string, unknown>>): Registration {
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

function readPartitions(value: YsonValue): readonly bigint[] | null {
  const plain = bare(value);
  return isList(plain) ? plain.filter((item) => typeof item === "bigint") : null;
}

function matches(registration: Registration, filter: RegistrationFilter): boolean {
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
