/**
 * The other clusters: who they are and how they are reached. A path with a cluster attribute goes to
 * that cluster over HTTP, on loopback too, so that nothing works here that two machines would not have.
 *
 * Specified in: YTsaurus documentation "Queue API" (`<cluster=…>` paths); `//sys/clusters`.
 */
import { type Clock, YtError } from "@qyt/base";
import {
  type ClientOptions,
  type CommandOptions,
  createClient,
  type Transport,
  undiciTransport,
  type YtClient,
} from "@qyt/client";
import { answerTimeoutMs, type CallBounds, connectTimeoutMs, RemoteCall } from "./remote-call.ts";

/** What `//sys/clusters/<name>` says of a cluster. */
export interface ClusterEntry {
  /** `host:port` or a URL of the proxy. */
  readonly proxy: string;
}

export interface ClusterDirectoryOptions {
  readonly localName: string;
  /** The entry of `//sys/clusters`, read anew at each call: the document may change at any time. */
  readonly lookup: (name: string) => ClusterEntry | undefined;
  readonly clock: Clock;
  readonly clientOptions?: Partial<ClientOptions>;
}

export class ClusterDirectory {
  readonly localName: string;
  readonly #lookup: (name: string) => ClusterEntry | undefined;
  readonly #clock: Clock;
  readonly #clientOptions: Partial<ClientOptions>;
  readonly #transport: Transport;
  readonly #clients = new Map<string, YtClient>();

  constructor(options: ClusterDirectoryOptions) {
    this.localName = options.localName;
    this.#lookup = options.lookup;
    this.#clock = options.clock;
    this.#clientOptions = options.clientOptions ?? {};
    this.#transport = undiciTransport({ connectTimeoutMs });
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
      client = createClient({
        transport: this.#transport,
        ...this.#clientOptions,
        proxy: entry.proxy,
        user,
        retries: false,
      });
      this.#clients.set(key, client);
    }
    return client;
  }

  /** An exchange with another cluster, to be run in steps. */
  begin(cluster: string, bounds: CallBounds): RemoteCall {
    return new RemoteCall(this.#clock, cluster, bounds);
  }

  /**
   * Runs one command on another cluster in the name of `user`; `work` hands the options on to the client.
   * @throws YtError as `RemoteCall.step`; 1 when the cluster is not known
   */
  call<T>(
    cluster: string,
    user: string,
    bounds: CallBounds,
    work: (client: YtClient, options: CommandOptions) => Promise<T>,
  ): Promise<T> {
    const client = this.client(cluster, user);
    if (client === undefined) {
      return Promise.reject(new YtError(`Cluster "${cluster}" is not known`, { attributes: { cluster } }));
    }
    const call = this.begin(cluster, bounds);
    return call.step(answerTimeoutMs, () => work(client, { signal: call.signal }));
  }

  async close(): Promise<void> {
    this.#clients.clear();
    await this.#transport.close();
  }
}

/** Cluster names are stored without the suffix that large installations add (queue-api, reference resolution). */
export function normalizeClusterName(name: string): string {
  const suffix = ".yt.yandex.net";
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}
