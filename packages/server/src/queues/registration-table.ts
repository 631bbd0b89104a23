/**
 * Where registrations are kept: `//sys/queue_agents/consumer_registrations` of the cluster that keeps
 * the shared registrations; here directly, elsewhere through that cluster's API. Read and written as
 * `root`; every read is fresh (as with `bypass_caching`), so that a caller reads its own writes.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager.cpp.
 */
import { isList, mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { stringToBytes } from "@qyt/yson";
import { type CallBounds, type ClusterDirectory, isUnanswered } from "../clusters/index.ts";
import type { DynamicTable, TableManager, TabletTransactions } from "../tablets/index.ts";
import type { ConsumerReference, Reference } from "./reference.ts";
import { RegistrationCopy } from "./registration-copy.ts";
import {
  keyObject,
  keyOf,
  matches,
  type Registration,
  type RegistrationFilter,
  registrationOf,
  registrationOfObject,
  registrationOfYson,
  rowOf,
} from "./registration-rows.ts";

export const registrationTablePath = "//sys/queue_agents/consumer_registrations";

/** The bounds are those of the request; only a table elsewhere needs them. */
export interface RegistrationTable {
  find(bounds: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<Registration | undefined>;
  list(bounds: CallBounds, filter: RegistrationFilter): Promise<readonly Registration[]>;
  put(bounds: CallBounds, registration: Registration): Promise<void>;
  remove(bounds: CallBounds, queue: Reference, consumer: ConsumerReference): Promise<void>;
}

/** The table of this cluster. */
export class LocalRegistrationTable implements RegistrationTable {
  readonly #tables: TableManager;
  readonly #transactions: TabletTransactions;
  readonly #copy: RegistrationCopy;

  constructor(tables: TableManager, transactions: TabletTransactions) {
    this.#tables = tables;
    this.#transactions = transactions;
    this.#copy = new RegistrationCopy(tables, () => transactions.visibleTimestamp);
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

  async list(_: CallBounds, filter: RegistrationFilter): Promise<readonly Registration[]> {
    const table = this.#table();
    const { queue } = filter;
    if (queue === undefined) {
      const all = await this.#copy.all(table);
      return filter.consumer === undefined
        ? all
        : all.filter((registration) => matches(registration, filter));
    }
    const result: Registration[] = [];
    const keyPrefix = [stringToBytes(queue.cluster), stringToBytes(queue.path)];
    for await (const rows of this.#tables.scanSorted(table, keyPrefix)) {
      result.push(...rows.map(registrationOf).filter((registration) => matches(registration, filter)));
    }
    return result;
  }

  async put(_: CallBounds, registration: Registration): Promise<void> {
    await this.#transactions.run({ user: "root" }, (transaction) =>
      transaction.writeRow(this.#table(), rowOf(registration)),
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

  /** The other cluster sends the rows asked for only; when that is all of them, from the copy that it has. */
  async list(bounds: CallBounds, filter: RegistrationFilter): Promise<Registration[]> {
    const { queue, consumer } = filter;
    if (queue === undefined && consumer === undefined) {
      const list = await this.#call(bounds, (client, options) =>
        client.listQueueConsumerRegistrations(options),
      );
      return (isList(list) ? list : []).map(registrationOfYson);
    }
    const conditions: string[] = [];
    const values: Record<string, YsonValue> = {};
    if (queue !== undefined) {
      conditions.push("queue_cluster = {queue_cluster} and queue_path = {queue_path}");
      values.queue_cluster = queue.cluster;
      values.queue_path = queue.path;
    }
    if (consumer !== undefined) {
      // The stored path may have a name in front; `matches` looks at it.
      conditions.push("consumer_cluster = {consumer_cluster} and is_substr({consumer_path}, consumer_path)");
      values.consumer_cluster = consumer.cluster;
      values.consumer_path = consumer.path;
    }
    const query = `* from [${registrationTablePath}] where ${conditions.join(" and ")}`;
    const parameters = { placeholder_values: mapOf(values) };
    const rows = await this.#call(bounds, (client, options) =>
      client.selectRows(query, { ...options, parameters }),
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
