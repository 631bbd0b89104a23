/**
 * Where registrations are kept: `//sys/queue_agents/consumer_registrations` of the cluster that keeps
 * the shared registrations; here directly, elsewhere through that cluster's API. Read and written as
 * `root`; every read is fresh (as with `bypass_caching`), so that a caller reads its own writes.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager.cpp,
 * yt/yt/ytlib/queue_client/records/consumer_registration.yaml.
 */
import { bare, isList, mapOf, type YsonValue, YtError } from "@qyt/base";
import { type RowValue, TableSchema, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson, stringToBytes, writeYson } from "@qyt/yson";
import { type ClusterDirectory, onCluster } from "../clusters/index.ts";
import type { DynamicTable, TableManager, TabletTransactions } from "../tablets/index.ts";
import type { Reference } from "./references.ts";

export const registrationTablePath = "//sys/queue_agents/consumer_registrations";

export interface Registration {
  readonly queue: Reference;
  readonly consumer: Reference;
  readonly vital: boolean;
  /** `null`: all partitions. */
  readonly partitions: readonly bigint[] | null;
}

export interface RegistrationTable {
  find(queue: Reference, consumer: Reference): Promise<Registration | undefined>;
  list(filter: { readonly queue?: Reference; readonly consumer?: Reference }): Promise<Registration[]>;
  put(registration: Registration): Promise<void>;
  remove(queue: Reference, consumer: Reference): Promise<void>;
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

  async find(queue: Reference, consumer: Reference): Promise<Registration | undefined> {
    const transaction = this.#transactions.begin({ user: "root" });
    try {
      const [row] = transaction.lookup(this.#table(), [keyOf(queue, consumer)]);
      return row === undefined ? undefined : registrationOf(row);
    } finally {
      transaction.abort();
    }
  }

  async list(filter: { readonly queue?: Reference; readonly consumer?: Reference }): Promise<Registration[]> {
    const result: Registration[] = [];
    for await (const rows of this.#tables.scanSorted(this.#table())) {
      for (const row of rows) {
        const registration = registrationOf(row);
        if (matches(registration, filter)) {
          result.push(registration);
        }
      }
    }
    return result;
  }

  async put(registration: Registration): Promise<void> {
    const transaction = this.#transactions.begin({ user: "root" });
    transaction.writeRow(this.#table(), [
      ...keyOf(registration.queue, registration.consumer),
      registration.vital,
      registration.partitions === null ? null : new YsonAny(writeYson(registration.partitions, "binary")),
    ]);
    await transaction.commit();
  }

  async remove(queue: Reference, consumer: Reference): Promise<void> {
    const transaction = this.#transactions.begin({ user: "root" });
    transaction.deleteKey(this.#table(), keyOf(queue, consumer));
    await transaction.commit();
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

  async find(queue: Reference, consumer: Reference): Promise<Registration | undefined> {
    const rows = await this.#call((client) =>
      client.lookupRows(registrationTablePath, [keyObject(queue, consumer)]),
    );
    const [row] = rows;
    return row === undefined || row === null ? undefined : registrationOfObject(row);
  }

  async list(filter: { readonly queue?: Reference; readonly consumer?: Reference }): Promise<Registration[]> {
    const rows = await this.#call((client) => client.selectRows(`* from [${registrationTablePath}]`));
    return rows.map(registrationOfObject).filter((registration) => matches(registration, filter));
  }

  async put(registration: Registration): Promise<void> {
    await this.#call((client) =>
      client.insertRows(registrationTablePath, [
        {
          ...keyObject(registration.queue, registration.consumer),
          vital: registration.vital,
          partitions: registration.partitions,
        },
      ]),
    );
  }

  async remove(queue: Reference, consumer: Reference): Promise<void> {
    await this.#call((client) => client.deleteRows(registrationTablePath, [keyObject(queue, consumer)]));
  }

  #call<T>(work: (client: NonNullable<ReturnType<ClusterDirectory["client"]>>) => Promise<T>): Promise<T> {
    const client = this.#clusters.client(this.#cluster, "root");
    if (client === undefined) {
      throw new YtError(
        `Cluster "${this.#cluster}", which keeps the queue consumer registrations, is not known here; add it to //sys/clusters`,
      );
    }
    return onCluster(this.#cluster, () => work(client));
  }
}

function keyOf(queue: Reference, consumer: Reference): RowValue[] {
  return [queue.cluster, queue.path, consumer.cluster, consumer.path].map((text) => stringToBytes(text));
}

function keyObject(queue: Reference, consumer: Reference): Record<string, string> {
  return {
    queue_cluster: queue.cluster,
    queue_path: queue.path,
    consumer_cluster: consumer.cluster,
    consumer_path: consumer.path,
  };
}

function registrationOf(row: readonly RowValue[]): Registration {
  const text = (index: number): string => {
    const value = row[index];
    return value instanceof Uint8Array ? bytesToString(value) : "";
  };
  const partitions = row[keyTypes.length + 1];
  return {
    queue: { cluster: text(0), path: text(1) },
    consumer: { cluster: text(2), path: text(3) },
    vital: row[keyTypes.length] === true,
    partitions: partitions instanceof YsonAny ? readPartitions(parseYson(partitions.bytes)) : null,
  };
}

function registrationOfObject(row: Readonly<Record<string, unknown>>): Registration {
  const text = (name: string): string => (typeof row[name] === "string" ? row[name] : "");
  return {
    queue: { cluster: text("queue_cluster"), path: text("queue_path") },
    consumer: { cluster: text("consumer_cluster"), path: text("consumer_path") },
    vital: row["vital"] === true,
    partitions: Array.isArray(row["partitions"]) ? row["partitions"].filter((item) => typeof item === "bigint") : null,
  };
}

function readPartitions(value: YsonValue): readonly bigint[] | null {
  const plain = bare(value);
  return isList(plain) ? plain.filter((item) => typeof item === "bigint") : null;
}

function matches(registration: Registration, filter: { queue?: Reference; consumer?: Reference }): boolean {
  return sameOrAny(registration.queue, filter.queue) && sameOrAny(registration.consumer, filter.consumer);
}

function sameOrAny(stored: Reference, wanted: Reference | undefined): boolean {
  return wanted === undefined || (stored.cluster === wanted.cluster && stored.path === wanted.path);
}
