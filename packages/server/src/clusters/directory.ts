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

/** How this process is known to another cluster, and how that one proves who it is. */
export interface PeerConnection {
  /** Of the user as whom this cluster authenticates there. Absent: nothing is sent. */
  readonly token?: string;
  /** PEM of the certificate authority. Absent: those that the system trusts. */
  readonly ca?: string;
}

export interface ClusterDirectoryOptions {
  readonly localName: string;
  /** The entry of `//sys/clusters`, read anew at each call: the document may change at any time. */
  readonly lookup: (name: string) => ClusterEntry | undefined;
  readonly clock: Clock;
  readonly clientOptions?: Partial<ClientOptions>;
  /** Asked anew at each call, so that files may be read again. */
  readonly connection?: (name: string) => PeerConnection;
  /**
   * Whether users are known to be who they say they are. Then no request leaves with rights that its user
   * does not have; otherwise nobody's rights are checked, and the server's own questions are `root`'s.
   */
  readonly isAuthenticated?: boolean;
}

/** May read what everybody may. */
const nobody = "guest";

/** A client is small, and there is one for each user who asks; beyond so many they are made anew. */
const maxClients = 10_000;

export class ClusterDirectory {
  readonly localName: string;
  readonly #lookup: (name: string) => ClusterEntry | undefined;
  readonly #clock: Clock;
  readonly #clientOptions: Partial<ClientOptions>;
  readonly #connection: (name: string) => PeerConnection;
  readonly #isAuthenticated: boolean;
  /** By certificate authority. */
  readonly #transports = new Map<string, Transport>();
  readonly #clients = new Map<string, YtClient>();

  constructor(options: ClusterDirectoryOptions) {
    this.localName = options.localName;
    this.#lookup = options.lookup;
    this.#clock = options.clock;
    this.#clientOptions = options.clientOptions ?? {};
    this.#connection = options.connection ?? (() => ({}));
    this.#isAuthenticated = options.isAuthenticated ?? false;
  }

  isLocal(cluster: string | undefined): boolean {
    return cluster === undefined || normalizeClusterName(cluster) === this.localName;
  }

  isKnown(cluster: string): boolean {
    return this.isLocal(cluster) || this.#lookup(normalizeClusterName(cluster)) !== undefined;
  }

  /** Whether questions to other clusters are asked with the rights of the user only. */
  get isAuthenticated(): boolean {
    return this.#isAuthenticated;
  }

  /**
   * In whose name the server asks another cluster what it needs for a request of `user`; without one, for
   * nobody in particular.
   */
  actingFor(user?: string): string {
    return this.#isAuthenticated ? (user ?? nobody) : "root";
  }

  /** A client of another cluster that acts for `user`; `undefined` when the cluster is not known. */
  client(cluster: string, user: string): YtClient | undefined {
    const name = normalizeClusterName(cluster);
    const entry = this.#lookup(name);
    if (entry === undefined) {
      return undefined;
    }
    const { token, ca } = this.#connection(name);
    const key = [user, entry.proxy, token, ca].join("\0");
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = createClient({
        transport: this.#transportFor(ca),
        ...this.#clientOptions,
        proxy: entry.proxy,
        user,
        ...(token === undefined ? {} : { token }),
        retries: false,
      });
      if (this.#clients.size >= maxClients) {
        this.#clients.clear();
      }
      this.#clients.set(key, client);
    }
    return client;
  }

  #transportFor(ca: string | undefined): Transport {
    const key = ca ?? "";
    let transport = this.#transports.get(key);
    if (transport === undefined) {
      transport = undiciTransport({ connectTimeoutMs, ...(ca === undefined ? {} : { ca }) });
      this.#transports.set(key, transport);
    }
    return transport;
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
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }
}

/** Cluster names are stored without the suffix that large installations add (queue-api, reference resolution). */
export function normalizeClusterName(name: string): string {
  const suffix = ".yt.yandex.net";
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}
