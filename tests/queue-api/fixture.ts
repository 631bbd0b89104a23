/**
 * Clusters of one process that share registrations, with everything in memory and real sockets between
 * them, and short ways to make queues, consumers and users.
 */
import { mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";
import { consumerSchema, type TableSchema } from "@qyt/schema";
import type { Cluster } from "@qyt/server";
import { freePort } from "@qyt/testing";
import { fromYson, parseYson, toYson, writeYson } from "@qyt/yson";
import type { Logger } from "pino";
import { expect } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";

export const registrationsPath = "//sys/queue_agents/consumer_registrations";

/** Columns of the queues of the reference tests. */
export const queueColumns = [
  { name: "$timestamp", type: "uint64" },
  { name: "$cumulative_data_weight", type: "int64" },
  { name: "data", type: "string" },
];

type Columns = readonly { readonly name: string; readonly type: string }[];

export type Row = Readonly<Record<string, unknown>>;

export class TestCluster {
  readonly name: string;
  readonly cluster: Cluster;
  /** Acts as `root`. */
  readonly root: YtClient;
  readonly #clients: YtClient[] = [];

  constructor(name: string, cluster: Cluster) {
    this.name = name;
    this.cluster = cluster;
    this.root = this.client();
  }

  /** A client without retries. */
  client(options: Omit<ClientOptions, "proxy"> = {}): YtClient {
    const client = createClient({ retries: false, ...options, proxy: this.cluster.address });
    this.#clients.push(client);
    return client;
  }

  /** A new user without rights of his own, and a client that acts for him. */
  async user(name: string): Promise<YtClient> {
    await this.root.execute("create", { type: "user", attributes: mapOf({ name }), ignore_existing: true });
    return this.client({ user: name });
  }

  async createQueue(
    path: string,
    options: { readonly columns?: Columns; readonly attributes?: Record<string, YsonValue> } = {},
  ): Promise<void> {
    await this.root.create("table", path, {
      attributes: mapOf({
        dynamic: true,
        schema: toYson(options.columns ?? queueColumns),
        ...options.attributes,
      }),
      recursive: true,
    });
    await this.root.mountTable(path);
  }

  /** A sorted table with the schema of consumers, or another one. */
  async createConsumer(path: string, schema: TableSchema = consumerSchema): Promise<void> {
    await this.root.create("table", path, {
      attributes: mapOf({ dynamic: true, treat_as_queue_consumer: true, schema: schema.toYson() }),
      recursive: true,
    });
    await this.root.mountTable(path);
  }

  async createProducer(path: string): Promise<void> {
    await this.root.create("queue_producer", path, { recursive: true });
  }

  async link(target: string, path: string): Promise<void> {
    await this.root.execute("link", { target_path: target, link_path: path, recursive: true });
  }

  async set(path: string, value: unknown): Promise<void> {
    await this.root.set(path, writeYson(toYson(value), "binary"));
  }

  async allow(path: string, user: string, permissions: readonly string[], vital?: boolean): Promise<void> {
    const entry = {
      action: "allow",
      subjects: [user],
      permissions,
      ...(vital === undefined ? {} : { vital }),
    };
    await this.set(`${path}/@acl/end`, entry);
  }

  /** The value of `data` in all rows of a partition. */
  async dataOf(path: string, partition = 0): Promise<unknown[]> {
    return (await this.root.pullQueue(path, 0n, partition)).map((row) => row["data"]);
  }

  /** The stored registrations, as their table has them. */
  async storedRegistrations(): Promise<Row[]> {
    return this.root.selectRows(`* from [${registrationsPath}]`);
  }

  /** Registrations as the command lists them: `[queue, consumer, vital, partitions]`, sorted. */
  async listed(
    filter: { readonly queue?: YsonValue; readonly consumer?: YsonValue } = {},
  ): Promise<ListedRegistration[]> {
    const list = await this.root.listQueueConsumerRegistrations({
      ...(filter.queue === undefined ? {} : { queuePath: filter.queue }),
      ...(filter.consumer === undefined ? {} : { consumerPath: filter.consumer }),
    });
    return readRegistrations(list);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.cluster.close(1000);
  }
}

export type ListedRegistration = readonly [
  queue: string,
  consumer: string,
  vital: unknown,
  partitions: unknown,
];

/** The command's answer with paths as `cluster:path`. Every path must have `cluster` as its only attribute. */
export function readRegistrations(list: YsonValue): ListedRegistration[] {
  expect(Array.isArray(list)).toBe(true);
  const items = Array.isArray(list) ? list : [];
  return items
    .map((item): ListedRegistration => {
      expect(item).toBeInstanceOf(Map);
      const map: YsonMap = item instanceof Map ? item : new Map();
      expect([...map.keys()]).toEqual(["queue_path", "consumer_path", "vital", "partitions"]);
      return [
        qualified(map.get("queue_path")),
        qualified(map.get("consumer_path")),
        map.get("vital"),
        map.get("partitions"),
      ];
    })
    .sort((a, b) => (`${a[0]} ${a[1]}` < `${b[0]} ${b[1]}` ? -1 : 1));
}

function qualified(path: YsonValue | undefined): string {
  expect(path).toMatchObject({ value: expect.any(String), attributes: expect.any(Map) });
  if (path === null || typeof path !== "object" || !("attributes" in path)) {
    return "";
  }
  expect([...path.attributes.keys()].filter((name) => name !== "queue_consumer_name")).toEqual(["cluster"]);
  const name = path.attributes.get("queue_consumer_name");
  return `${String(path.attributes.get("cluster"))}:${String(path.value)}${name === undefined ? "" : `#${String(name)}`}`;
}

/** Starts clusters that know each other; the first keeps the registrations. */
export async function startClusters(...names: readonly [string, ...string[]]): Promise<TestCluster[]> {
  return startClustersWith(names, () => ({ registrationsCluster: names[0] }));
}

/** Starts clusters that know each other, with options by name. */
export async function startClustersWith(
  names: readonly string[],
  optionsOf: (name: string) => { readonly registrationsCluster: string; readonly logger?: Logger },
): Promise<TestCluster[]> {
  const ports = await Promise.all(names.map(() => freePort()));
  const peers = new Map(names.map((name, index) => [name, { proxy: `127.0.0.1:${ports[index]}` }]));
  const clusters: TestCluster[] = [];
  for (const [index, name] of names.entries()) {
    const cluster = await startTestCluster({
      name,
      port: ports[index] ?? 0,
      peers: () => peers,
      ...optionsOf(name),
    });
    clusters.push(new TestCluster(name, cluster));
  }
  return clusters;
}

export async function startOne(name = "primary"): Promise<TestCluster> {
  const [cluster] = await startClusters(name);
  if (cluster === undefined) {
    throw new Error("No cluster was started");
  }
  return cluster;
}

/** The error of a command that must fail: its codes, outer to inner, and all its messages. */
export async function failureOf(
  work: Promise<unknown>,
): Promise<{ readonly codes: readonly number[]; readonly text: string; readonly error: YtError }> {
  const outcome = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(outcome instanceof YtError)) {
    throw new Error(`A YtError was expected, not ${String(outcome)}`);
  }
  const codes: number[] = [];
  const messages: string[] = [];
  const visit = (error: YtError): void => {
    codes.push(error.code);
    messages.push(error.message);
    error.innerErrors.forEach(visit);
  };
  visit(outcome);
  return { codes, text: messages.join("\n"), error: outcome };
}

/** The header `X-YT-Response-Parameters` in text YSON. */
export function responseParametersOf(header: string | null | undefined): unknown {
  return header === null || header === undefined ? undefined : fromYson(parseYson(header));
}

/** Strips the system columns that the commit fills. */
export function plain(rows: readonly Row[]): Row[] {
  return rows.map(({ $timestamp, $cumulative_data_weight, ...rest }) => rest);
}
