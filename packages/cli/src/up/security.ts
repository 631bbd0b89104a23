/** What `qyt up` is told about authentication and TLS: options and configuration file put together. Pure. */
import { resolve } from "node:path";
import { YtError } from "@qyt/base";
import { formatAddress, isLoopback, parseAddress } from "./cluster-option.ts";
import type { UpConfig } from "./config.ts";

/** Options as typed. */
export interface SecurityOptions {
  readonly auth?: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
}

/** Files, as absolute paths. */
export interface TlsPlan {
  readonly cert: string;
  readonly key: string;
  /** Of the authority that signs the certificates of this group of clusters; absent: one that Node trusts. */
  readonly ca?: string;
}

/** A cluster of another process. */
export interface PeerPlan {
  readonly proxy: string;
  /** File with the certificate of its authority. */
  readonly ca?: string;
  /** File with the token as whose owner this process authenticates there. */
  readonly tokenFile?: string;
  /** The user here as whom that cluster authenticates; it may act for others then. */
  readonly user?: string;
  /** Whether it may act for superusers too. */
  readonly superusers?: boolean;
}

export interface SecurityPlan {
  readonly isAuthenticated: boolean;
  readonly tls?: TlsPlan;
  readonly allowedOrigins?: readonly string[];
}

/** The command line wins. @throws YtError 1 with one sentence */
export function planSecurity(
  options: SecurityOptions,
  config: UpConfig,
  workingDirectory: string,
): SecurityPlan {
  const own = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(workingDirectory, file);
  const cert = own(options.tlsCert) ?? config.tls?.cert;
  const key = own(options.tlsKey) ?? config.tls?.key;
  const ca = own(options.tlsCa) ?? config.tls?.ca;
  if ((cert === undefined) !== (key === undefined)) {
    throw new YtError(
      `TLS needs a certificate and its key: ${cert === undefined ? "--tls-cert" : "--tls-key"} is missing`,
    );
  }
  if (cert === undefined && ca !== undefined) {
    throw new YtError("--tls-ca is for clusters that serve TLS: give --tls-cert and --tls-key too");
  }
  return {
    isAuthenticated: options.auth ?? config.authentication ?? false,
    ...(cert === undefined || key === undefined
      ? {}
      : { tls: { cert, key, ...(ca === undefined ? {} : { ca }) } }),
    ...(config.allowed_origins === undefined ? {} : { allowedOrigins: config.allowed_origins }),
  };
}

/**
 * The entry of a peer, checked against the rest.
 * @throws YtError 1 when it names secrets while this process does not know its users
 */
export function planPeer(
  name: string,
  peer: NonNullable<UpConfig["peers"]>[string],
  isAuthenticated: boolean,
): PeerPlan {
  if (!isAuthenticated && (peer.token_file !== undefined || peer.user !== undefined)) {
    throw new YtError(
      `The entry of peer ${name} has "${peer.user === undefined ? "token_file" : "user"}", but authentication is off: whoever reaches a port of this process could act for any user on ${name}; turn it on with --auth`,
    );
  }
  return {
    proxy: peer.proxy,
    ...(peer.ca === undefined ? {} : { ca: peer.ca }),
    ...(peer.token_file === undefined ? {} : { tokenFile: peer.token_file }),
    ...(peer.user === undefined ? {} : { user: peer.user }),
    ...(peer.superusers === undefined ? {} : { superusers: peer.superusers }),
  };
}

/** `HOST:PORT` as clients are to use it. @throws YtError 1 when it is not that, or is needed and missing */
export function planPublicAddress(
  name: string,
  host: string,
  publicAddress: string | undefined,
): string | undefined {
  if (publicAddress !== undefined) {
    return formatAddress(parseAddress(publicAddress, name, true));
  }
  if (host === "0.0.0.0" || host === "::") {
    throw new YtError(
      `Cluster ${name} listens on all addresses (${host}), so it needs "public_address" in the configuration file: the HOST:PORT by which clients and other clusters reach it`,
    );
  }
  return undefined;
}

/** Peers to whom secrets would go in the open. */
export function exposedPeers(peers: ReadonlyMap<string, PeerPlan>): readonly string[] {
  return [...peers].flatMap(([name, { proxy, tokenFile }]) => {
    const host = /^(?:http:\/\/)?(?:\[([^\]]*)\]|([^:/]*))/.exec(proxy);
    const isPlain = !proxy.startsWith("https://") && !isLoopback(host?.[1] ?? host?.[2] ?? "");
    return tokenFile !== undefined && isPlain ? [name] : [];
  });
}
