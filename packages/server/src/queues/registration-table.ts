/**
 * Where registrations are kept: `//sys/queue_agents/consumer_registrations` of the cluster that keeps
 * the shared registrations; here directly, as `root`, elsewhere through that cluster's API: as `root` where
 * nobody's rights are checked, otherwise in the name of who asks, and that cluster checks what he may
 * write. Every read is fresh (as with `bypass_caching`), so that a caller reads its own writes.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager.cpp.
 */
import { isList, mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { stringToBytes } from "@qyt/yson";
import { type CallBounds, type ClusterDirectory, isUnanswered } from "../clusters/index.ts";
import type { DynamicTable, TableManager, TabletTransactions } from "../tablets/index.ts";
import type { Keepers } from "./keepers.ts";
import { type ConsumerReference, type Reference, referenceToYson } from "./reference.ts";
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
  registrationTablePath,
  rowOf,
} from "./registration-rows.ts";

/** Who asks, and the bounds of the request; only a table elsewhere needs them. */
export interface Asking extends CallBounds {
  readonly user: string;
}

export interface RegistrationTable {
  find(asking: Asking, queue: Reference, consumer: ConsumerReference): Promise<Registration | undefined>;
  list(asking: Asking, filter: RegistrationFilter): Promise<readonly Registration[]>;
  /** The caller has checked that who asks may register. */
  put(asking: Asking, registration: Registration): Promise<void>;
  /** The caller has checked that who asks may unregister. */
  remove(asking: Asking, queue: Reference, consumer: ConsumerReference): Promise<void>;
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

  async find(_: Asking, queue: Reference, consumer: ConsumerReference): Promise<Registration | undefined> {
    const transaction = this.#transactions.begin({ user: "root" });
    try {
      const [row] = transaction.lookup(this.#table(), [keyOf(queue, consumer)]);
      return row === undefined ? undefined : registrationOf(row);
    } finally {
      transaction.abort();
    }
  }

  async list(_: Asking, filter: RegistrationFilter): Promise<readonly Registration[]> {
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

  async put(_: Asking, registration: Registration): Promise<void> {
    await this.#transactions.run({ user: "root" }, (transaction) =>
      transaction.writeRow(this.#table(), rowOf(registration)),
    );
  }

  async remove(_: Asking, queue: Reference, consumer: ConsumerReference): Promise<void> {
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
  readonly #keepers: Keepers;
  readonly #cluster: string;

  constructor(clusters: ClusterDirectory, keepers: Keepers) {
    this.#clusters = clusters;
    this.#keepers = keepers;
    this.#cluster = keepers.keeper;
  }

  async find(
    asking: Asking,
    queue: Reference,
    consumer: ConsumerReference,
  ): Promise<Registration | undefined> {
    const [row] = await this.#call(asking, (client, options) =>
      client.lookupRows(registrationTablePath, [keyObject(queue, consumer)], options),
    );
    return row === undefined || row === null ? undefined : registrationOfObject(row);
  }

  /** The other cluster sends the rows asked for only; when that is all of them, from the copy that it has. */
  async list(asking: Asking, filter: RegistrationFilter): Promise<Registration[]> {
    const { queue, consumer } = filter;
    if (queue === undefined && consumer === undefined) {
      const list = await this.#call(asking, (client, options) =>
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
    const rows = await this.#call(asking, (client, options) =>
      client.selectRows(query, { ...options, parameters }),
    );
    return rows.map(registrationOfObject).filter((registration) => matches(registration, filter));
  }

  /** Without an answer the row may be there or not, as a whole; the same request again is harmless. */
  async put(asking: Asking, registration: Registration): Promise<void> {
    const { queue, consumer, vital, partitions } = registration;
    if (this.#clusters.isAuthenticated) {
      const parameters = { ...pathsOf(queue, consumer), vital, partitions: partitions ?? undefined };
      await this.#call(asking, (client, options) =>
        client.execute("register_queue_consumer", parameters, options),
      );
      return;
    }
    const row = { ...keyObject(queue, consumer), vital, partitions };
    await this.#call(asking, (client, options) => client.insertRows(registrationTablePath, [row], options));
  }

  async remove(asking: Asking, queue: Reference, consumer: ConsumerReference): Promise<void> {
    if (this.#clusters.isAuthenticated) {
      await this.#call(asking, (client, options) =>
        client.execute("unregister_queue_consumer", pathsOf(queue, consumer), options),
      );
      return;
    }
    await this.#call(asking, (client, options) =>
      client.deleteRows(registrationTablePath, [keyObject(queue, consumer)], options),
    );
  }

  async #call<T>(
    asking: Asking,
    work: (client: YtClient, options: CommandOptions) => Promise<T>,
  ): Promise<T> {
    if (!this.#clusters.isKnown(this.#cluster)) {
      throw new YtError(
        `Cluster "${this.#cluster}", which keeps the queue consumer registrations, is not known here; add it to //sys/clusters`,
      );
    }
    try {
      // One that is configured otherwise would ask a third cluster, or this one again.
      await this.#keepers.requireAgreement(asking, this.#cluster);
      const user = this.#clusters.actingFor(asking.user);
      return await this.#clusters.call(this.#cluster, user, asking, work);
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

/** Parameters of the commands that make and end registrations. */
function pathsOf(queue: Reference, consumer: ConsumerReference): Record<string, YsonValue> {
  return { queue_path: referenceToYson(queue), consumer_path: referenceToYson(consumer) };
}
