/**
 * Clients of the clusters that the state cluster knows (`//sys/clusters`), or that the configuration names.
 * A client is made when first asked for and replaced when its cluster's proxy or token changes.
 *
 * Specified in: yt/yt/server/queue_agent/helpers.cpp (TQueueAgentClientDirectory),
 * yt/yt/ytlib/hive/cluster_directory_synchronizer.cpp.
 */
import { bare, type Clock, isMap, type Random, type YsonValue, YtError } from "@qyt/base";
import { createClient, type RetryPolicy, type Transport, undiciTransport, type YtClient } from "@qyt/client";
import type { AgentClusters } from "../context.ts";

export interface ClusterAccess {
  /** Address of the HTTP proxy; without one that of `//sys/clusters` is taken. */
  readonly proxy?: string;
  readonly token?: string;
  /** PEM of the certificate authorities to trust for an `https` proxy. */
  readonly ca?: string;
  /** Acts for this user, where the server allows it. */
  readonly user?: string;
}

export interface ClusterClientsOptions {
  readonly stateCluster: string;
  readonly stateProxy: string;
  /** By name, asked for at each refresh; for a cluster that is not in it, `byDefault`. */
  readonly access: () => ReadonlyMap<string, ClusterAccess>;
  readonly byDefault: ClusterAccess;
  readonly clock: Clock;
  readonly random: Random;
}

/** A pass comes again soon, so it does not wait long for one answer. */
const retries: RetryPolicy = { attempts: 2, minDelayMs: 100, maxDelayMs: 500 };
const requestTimeoutMs = 10_000;
const connectTimeoutMs = 3_000;

interface Entry {
  /** What it was made with. */
  readonly access: ClusterAccess;
  readonly client: YtClient;
  readonly transport: Transport;
}

/** A client as the agent uses it: few retries, short timeouts. The transport is the caller's to close. */
export function agentClient(
  access: ClusterAccess & { readonly proxy: string },
  clock: Clock,
  random: Random,
): { readonly client: YtClient; readonly transport: Transport } {
  const { proxy, token, user, ca } = access;
  const transport = undiciTransport({ connectTimeoutMs, ...(ca === undefined ? {} : { ca }) });
  const client = createClient({
    proxy,
    transport,
    retries,
    requestTimeoutMs,
    clock,
    random,
    userAgent: "qyt-queue-agent",
    ...(token === undefined ? {} : { token }),
    ...(user === undefined ? {} : { user }),
  });
  return { client, transport };
}

export class ClusterClients implements AgentClusters {
  readonly stateCluster: string;
  readonly #options: ClusterClientsOptions;
  readonly #entries = new Map<string, Entry>();
  #proxies: ReadonlyMap<string, string>;

  constructor(options: ClusterClientsOptions) {
    this.#options = options;
    this.stateCluster = options.stateCluster;
    this.#proxies = this.#withConfigured(new Map());
  }

  names(): readonly string[] {
    return [...this.#proxies.keys()];
  }

  client(cluster: string): YtClient {
    const proxy = this.#proxies.get(cluster);
    if (proxy === undefined) {
      throw new YtError(
        `Cluster "${cluster}" is not known to the queue agent; add it to //sys/clusters of "${this.stateCluster}" or to the agent's configuration`,
        { attributes: { cluster } },
      );
    }
    const known = this.#entries.get(cluster);
    if (known !== undefined) {
      return known.client;
    }
    const access = this.#accessOf(cluster, proxy);
    const made = agentClient(access, this.#options.clock, this.#options.random);
    this.#entries.set(cluster, { access, ...made });
    return made.client;
  }

  /** Reads `//sys/clusters` anew. @throws YtError when the state cluster does not answer; what was known stays */
  async refresh(signal?: AbortSignal): Promise<void> {
    // First: the list may be refused because the token by which it is asked for is the old one.
    this.#dropOutdated();
    const value = await this.client(this.stateCluster).get(
      "//sys/clusters",
      signal === undefined ? {} : { signal },
    );
    this.#proxies = this.#withConfigured(parseClusters(value));
    this.#dropOutdated();
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ transport }) => transport.close()));
  }

  /** What is configured wins over what the cluster says. */
  #withConfigured(found: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const { access, stateCluster, stateProxy } = this.#options;
    const proxies = new Map(found);
    for (const [name, { proxy }] of access()) {
      if (proxy !== undefined) {
        proxies.set(name, proxy);
      }
    }
    return proxies.set(stateCluster, stateProxy);
  }

  #accessOf(cluster: string, proxy: string): ClusterAccess & { readonly proxy: string } {
    return { ...this.#options.byDefault, ...this.#options.access().get(cluster), proxy };
  }

  #dropOutdated(): void {
    for (const [name, { access }] of this.#entries) {
      const proxy = this.#proxies.get(name);
      if (proxy === undefined || !isSameAccess(access, this.#accessOf(name, proxy))) {
        this.#drop(name);
      }
    }
  }

  #drop(cluster: string): void {
    const entry = this.#entries.get(cluster);
    this.#entries.delete(cluster);
    // Requests under way end first.
    void entry?.transport.close().catch(() => {});
  }
}

/** Names with their HTTP proxies; entries without one (native connections alone) are left out. */
export function parseClusters(value: YsonValue): ReadonlyMap<string, string> {
  const proxies = new Map<string, string>();
  const clusters = bare(value);
  for (const [name, entry] of isMap(clusters) ? clusters : []) {
    const connection = bare(entry);
    const proxy = isMap(connection) ? bare(connection.get("proxy") ?? null) : null;
    if (typeof proxy === "string" && proxy !== "") {
      proxies.set(name, proxy);
    }
  }
  return proxies;
}

function isSameAccess(a: ClusterAccess, b: ClusterAccess): boolean {
  return a.proxy === b.proxy && a.token === b.token && a.ca === b.ca && a.user === b.user;
}
