/** Names and addresses of clusters, as `--cluster` and the configuration file give them. */
import { YtError } from "@qyt/base";

export interface Address {
  /** An IP address or `localhost`, without brackets. */
  readonly host: string;
  /** 0 asks the system for a free port. */
  readonly port: number;
}

export interface ClusterOption {
  readonly name: string;
  readonly address?: Address;
}

const maxNameLength = 63;

/**
 * @param isAuthenticated whether other hosts than loopback are taken
 * @throws YtError 1 when `text` is not `NAME` or `NAME=HOST:PORT`
 */
export function parseClusterOption(text: string, isAuthenticated = false): ClusterOption {
  const equals = text.indexOf("=");
  if (equals === -1) {
    return { name: checkClusterName(text) };
  }
  const name = checkClusterName(text.slice(0, equals));
  return { name, address: parseAddress(text.slice(equals + 1), name, isAuthenticated) };
}

/**
 * A cluster name goes into paths (`<cluster=NAME>//…`, `NAME://…`), folder names and `yt --proxy NAME`,
 * so it keeps to what all of them take as it is.
 * @throws YtError 1
 */
export function checkClusterName(name: string): string {
  if (!isClusterName(name)) {
    throw new YtError(
      `"${name}" cannot be the name of a cluster: a name starts with a Latin letter, goes on with letters, digits, "-" and "_", and has at most ${maxNameLength} characters`,
    );
  }
  return name;
}

export function isClusterName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && name.length <= maxNameLength;
}

/**
 * Reads `HOST:PORT` (`[::1]:8000` for IPv6). Without authentication only loopback hosts are taken.
 * @throws YtError 1
 */
export function parseAddress(text: string, cluster: string, isAuthenticated = false): Address {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw new YtError(
      `"${text}" is not an address for cluster ${cluster}: write HOST:PORT, for example 127.0.0.1:8000`,
    );
  }
  if (!isAuthenticated && !isLoopback(host)) {
    throw new YtError(
      `Cluster ${cluster} cannot listen on ${text}: without authentication it listens on loopback addresses only (127.0.0.1, ::1, localhost), as whoever reaches it may do everything; turn authentication on with --auth, best with --tls-cert and --tls-key, or use an SSH tunnel`,
    );
  }
  return { host, port };
}

/** `HOST:PORT` for a URL. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether only this machine reaches the host. */
export function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === "localhost" ||
    host === "::1" ||
    /^127\.(?:25[0-5]|2[0-4]\d|1?\d?\d)\.(?:25[0-5]|2[0-4]\d|1?\d?\d)\.(?:25[0-5]|2[0-4]\d|1?\d?\d)$/.test(
      host,
    )
  );
}
