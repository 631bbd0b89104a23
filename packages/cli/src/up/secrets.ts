/**
 * By what the clusters of this process and others know each other: what the secret files say, read at the
 * start and again when told to, and secrets that live as long as the process.
 */
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import type { UpPlan } from "./plan.ts";
import { type Connection, readSecretFiles, type TlsContents } from "./secret-files.ts";

/** A cluster that may act for its users on another. */
interface TrustedPeer {
  readonly cluster: string;
  readonly isSuperuserAllowed: boolean;
}

/** Who may act for others on a cluster. */
export interface TrustedPeers {
  /** By the user as whom the peer authenticates. */
  readonly peersByUser: ReadonlyMap<string, TrustedPeer>;
  /** Clusters of the same process, by their secrets. */
  readonly peersByToken: ReadonlyMap<string, TrustedPeer>;
}

/** What is known of secrets now. */
export class Secrets {
  readonly #plan: UpPlan;
  readonly #logger: Logger;
  /** Known to this process alone: by these its clusters know each other. */
  readonly #neighbours: ReadonlyMap<string, string>;
  #connections: ReadonlyMap<string, Connection> = new Map();
  #tls: TlsContents | undefined;

  constructor(plan: UpPlan, logger: Logger) {
    this.#plan = plan;
    this.#logger = logger;
    this.#neighbours = new Map(plan.clusters.map(({ name }) => [name, randomBytes(32).toString("hex")]));
  }

  get tls(): TlsContents | undefined {
    return this.#tls;
  }

  /** How the clusters of this process are reached from within it. */
  get own(): Connection {
    const ca = this.#tls?.ca;
    return ca === undefined ? {} : { ca };
  }

  /** Of a cluster here to any other. */
  connection(from: string, to: string): Connection {
    const token = this.#plan.security.isAuthenticated ? this.#neighbours.get(from) : undefined;
    return this.#neighbours.has(to)
      ? { ...this.own, ...(token === undefined ? {} : { token }) }
      : (this.#connections.get(to) ?? {});
  }

  /** Who may act for others on a cluster here. */
  trustedBy(cluster: string): TrustedPeers {
    const peersByUser = new Map<string, TrustedPeer>();
    for (const [name, { user, superusers }] of this.#plan.peers) {
      if (user !== undefined) {
        peersByUser.set(user, { cluster: name, isSuperuserAllowed: superusers ?? false });
      }
    }
    const peersByToken = new Map<string, TrustedPeer>();
    for (const [name, token] of this.#neighbours) {
      if (name !== cluster) {
        peersByToken.set(token, { cluster: name, isSuperuserAllowed: true });
      }
    }
    return { peersByUser, peersByToken };
  }

  /** @throws YtError 1 with one sentence */
  async read(): Promise<void> {
    const { connections, tls, missingTokens } = await readSecretFiles(
      this.#plan.security.tls,
      this.#plan.peers,
    );
    for (const file of missingTokens) {
      this.#logger.warn({ file }, "there is no such token file yet: write it, and send SIGHUP");
    }
    this.#connections = connections;
    this.#tls = tls;
  }

  /** What cannot be used is told in the log, and what was in use stays so. */
  async reload(clusters: readonly { replaceTls(files: TlsContents): void }[]): Promise<void> {
    const { tls, connections } = { tls: this.#tls, connections: this.#connections };
    try {
      await this.read();
      for (const cluster of clusters) {
        if (this.#tls !== undefined) {
          cluster.replaceTls(this.#tls);
        }
      }
      this.#logger.info("read certificates and tokens again");
    } catch (thrown) {
      this.#tls = tls;
      this.#connections = connections;
      this.#logger.error({ err: thrown }, "certificates and tokens stay as they were");
    }
  }
}
