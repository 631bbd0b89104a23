/**
 * The other clusters: who they are and how they are reached. A path with a cluster attribute goes to
 * that cluster over HTTP, on loopback too, so that nothing works here that two machines would not have.
 *
 * Specified in: YTsaurus documentation "Queue API" (`<cluster=…>` paths); `//sys/clusters`.
 */
import { YtError } from "@qyt/base";
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";

/** What `//sys/clusters/<name>` says of a cluster. */
export interface ClusterEntry {
  /** `host:port` or a URL of the proxy. */
  readonly proxy: string;
}

export interface ClusterDirectoryOptions {
  readonly localName: string;
  /** The entry of `//sys/clusters`, read anew at each call: the document may change at any time. */
  readonly lookup: (name: string) => ClusterEntry | undefined;
  readonly clientOptions?: Partial<ClientOptions>;
}

export class ClusterDirectory {
  readonly localName: string;
  readonly #lookup: (name: string) => ClusterEntry | undefined;
  readonly #clientOptions: Partial<ClientOptions>;
  readonly #clients = new Map<string, YtClient>();

  constructor(options: ClusterDirectoryOptions) {
    this.localName = options.localName;
    this.#lookup = options.lookup;
    this.#clientOptions = options.clientOptions ?? {};
  }

  isLocal(cluster: string | undefined): boolean {
    return cluster === undefined || normalizeClusterName(cluster) === this.localName;
  }

  isKnown(cluster: string): boolean {
    return this.isLocal(cluster) || this.#lookup(normalizeClusterName(cluster)) !== undefined;
  }

  /** A client of another cluster that acts for `user`; `undefined` when the cluster is not known. */
  client(cluster: string, user: string): YtClient | undefined {
    const name = normalizeClusterName(cluster);
    const entry = this.#lookup(name);
    if (entry === undefined) {
      return undefined;
    }
    const key = `${user}\0${entry.proxy}`;
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = createClient({ ...this.#clientOptions, proxy: entry.proxy, user, retries: false });
      this.#clients.set(key, client);
    }
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    this.#clients.clear();
  }
}

/** Cluster names are stored without the suffix that large installations add (queue-api, reference resolution). */
export function normalizeClusterName(name: string): string {
  const suffix = ".yt.yandex.net";
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

/** Runs a call to another cluster; what fails says which cluster did not do it. */
export async function onCluster<T>(cluster: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof YtError) {
      throw error.wrap(`Request to cluster "${cluster}" failed`, { cluster });
    }
    throw error;
  }
}
