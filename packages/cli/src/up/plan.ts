/** What `qyt up` is going to start: options and configuration file put together. Pure. */
import { join, resolve } from "node:path";
import { YtError } from "@qyt/base";
import {
  type Address,
  type ClusterOption,
  checkClusterName,
  isClusterName,
  parseAddress,
  parseClusterOption,
} from "./cluster-option.ts";
import { type LogLevel, logLevels, type UpConfig } from "./config.ts";
import {
  type PeerPlan,
  planPeer,
  planPublicAddress,
  planSecurity,
  type SecurityOptions,
  type SecurityPlan,
} from "./security.ts";

export interface UpOptions extends SecurityOptions {
  readonly dataDir?: string;
  /** As typed: `NAME` or `NAME=HOST:PORT`. */
  readonly cluster?: readonly string[];
  readonly logLevel?: string;
  /** `false`: no queue agent runs beside the clusters. */
  readonly queueAgent?: boolean;
}

export interface ClusterPlan {
  readonly name: string;
  readonly address: Address;
  /** Absolute. */
  readonly dataDirectory: string;
  /** `HOST:PORT` as clients and other clusters reach it, where that is not `address`. */
  readonly publicAddress?: string;
}

export interface UpPlan {
  readonly clusters: readonly ClusterPlan[];
  /** Clusters of other processes, by name. */
  readonly peers: ReadonlyMap<string, PeerPlan>;
  readonly security: SecurityPlan;
  /** As configured; without it the cluster is chosen by `chooseRegistrationsCluster`. */
  readonly registrationsCluster?: string;
  readonly logLevel: LogLevel;
  /** Whether a queue agent runs beside the clusters. */
  readonly queueAgent: boolean;
}

export const defaults = {
  dataDirectory: "qyt-data",
  clusterName: "primary",
  host: "127.0.0.1",
  firstPort: 8000,
  logLevel: "warn",
} as const;

/**
 * The command line wins over the file; with `--cluster` only the clusters named there are started, with
 * address and folder from the file where the option has none. `aliases` are the addresses by name that the
 * person has set for his clients.
 * @throws YtError 1 with one sentence
 */
export function planUp(
  options: UpOptions,
  config: UpConfig,
  workingDirectory: string,
  aliases: ReadonlyMap<string, string> = new Map(),
): UpPlan {
  const security = planSecurity(options, config, workingDirectory);
  const named = namedClusters(options, config, security.isAuthenticated);
  checkDuplicates(
    named.map(({ name }) => name),
    (name) => `Cluster ${name} is named twice: give each cluster one --cluster`,
  );
  const root =
    options.dataDir === undefined
      ? (config.data_directory ?? resolve(workingDirectory, defaults.dataDirectory))
      : resolve(workingDirectory, options.dataDir);
  const addresses = assignAddresses(named);
  const clusters = named.map(({ name }, index) => {
    const address = addresses[index] ?? { host: defaults.host, port: 0 };
    const publicAddress = planPublicAddress(name, address.host, config.clusters?.[name]?.public_address);
    return {
      name,
      address,
      dataDirectory: configuredDirectory(config, name) ?? join(root, name),
      ...(publicAddress === undefined ? {} : { publicAddress }),
    };
  });
  checkDuplicates(
    clusters.map(({ dataDirectory }) => dataDirectory),
    (directory) => `Two clusters share the data directory "${directory}": give each its own`,
  );
  const peers = planPeers(
    config,
    aliases,
    named.map(({ name }) => name),
    security.isAuthenticated,
  );
  const registrationsCluster = config.registrations_cluster;
  if (registrationsCluster !== undefined && !isReachable(registrationsCluster, clusters, peers)) {
    throw new YtError(
      `"registrations_cluster" names ${registrationsCluster}, which is neither started here nor among "peers"`,
    );
  }
  return {
    clusters,
    peers,
    security,
    queueAgent: (options.queueAgent ?? true) && (config.queue_agent ?? true),
    logLevel: logLevel(options.logLevel) ?? config.log_level ?? defaults.logLevel,
    ...(registrationsCluster === undefined ? {} : { registrationsCluster }),
  };
}

/**
 * Which cluster keeps the registrations. Where they have been kept so far decides, as a change would
 * leave them behind unseen: `recorded` has what each cluster wrote down when it was last started.
 * @throws YtError 1 when that cluster is not here now
 */
export function chooseRegistrationsCluster(plan: UpPlan, recorded: ReadonlyMap<string, string>): string {
  if (plan.registrationsCluster !== undefined) {
    return plan.registrationsCluster;
  }
  for (const { name } of plan.clusters) {
    const keeper = recorded.get(name);
    if (keeper !== undefined) {
      if (!isReachable(keeper, plan.clusters, plan.peers)) {
        throw new YtError(
          `Cluster ${name} keeps the registrations of its consumers on cluster ${keeper}, which is neither started here nor among the peers: add --cluster ${keeper}, or name another cluster in "registrations_cluster" of a configuration file`,
        );
      }
      return keeper;
    }
  }
  return plan.clusters[0]?.name ?? defaults.clusterName;
}

function isReachable(name: string, clusters: readonly ClusterPlan[], peers: UpPlan["peers"]): boolean {
  return peers.has(name) || clusters.some((cluster) => cluster.name === name);
}

function namedClusters(
  options: UpOptions,
  config: UpConfig,
  isAuthenticated: boolean,
): readonly ClusterOption[] {
  const configured = config.clusters ?? {};
  const optionOf = (name: string): ClusterOption => {
    const address = configured[name]?.address;
    return address === undefined
      ? { name: checkClusterName(name) }
      : { name: checkClusterName(name), address: parseAddress(address, name, isAuthenticated) };
  };
  if (options.cluster !== undefined && options.cluster.length > 0) {
    return options.cluster.map((text) => {
      const option = parseClusterOption(text, isAuthenticated);
      return option.address === undefined ? optionOf(option.name) : option;
    });
  }
  const names = Object.keys(configured);
  return (names.length === 0 ? [defaults.clusterName] : names).map(optionOf);
}

/** Those of the file; then those that the aliases know and that are not started here. */
function planPeers(
  config: UpConfig,
  aliases: ReadonlyMap<string, string>,
  started: readonly string[],
  isAuthenticated: boolean,
): ReadonlyMap<string, PeerPlan> {
  const peers = new Map<string, PeerPlan>();
  for (const [name, peer] of Object.entries(config.peers ?? {})) {
    if (started.includes(checkClusterName(name))) {
      throw new YtError(
        `Cluster ${name} is both started here and among "peers" of the configuration file: remove one of the two`,
      );
    }
    peers.set(name, planPeer(name, peer, isAuthenticated));
  }
  checkDuplicates(
    [...peers.values()].flatMap(({ user }) => (user === undefined ? [] : [user])),
    (user) => `Two peers have the user ${user}: give each its own, or one could act for the other's users`,
  );
  for (const [name, proxy] of aliases) {
    if (isClusterName(name) && !started.includes(name) && !peers.has(name)) {
      peers.set(name, { proxy });
    }
  }
  return peers;
}

/** Clusters without an address get 8000, 8001, … in order, past the ports that others ask for. */
function assignAddresses(clusters: readonly ClusterOption[]): readonly Address[] {
  const given = new Set(clusters.flatMap(({ address }) => (address === undefined ? [] : [address.port])));
  let next: number = defaults.firstPort;
  const addresses = clusters.map(({ address }) => {
    if (address !== undefined) {
      return address;
    }
    while (given.has(next)) {
      ++next;
    }
    return { host: defaults.host, port: next++ };
  });
  checkDuplicates(
    addresses.filter(({ port }) => port !== 0).map(({ host, port }) => `${host}:${port}`),
    (address) => `Two clusters ask for the address ${address}: give each its own`,
  );
  return addresses;
}

function configuredDirectory(config: UpConfig, name: string): string | undefined {
  return config.clusters?.[name]?.data_directory;
}

function logLevel(text: string | undefined): LogLevel | undefined {
  if (text === undefined) {
    return undefined;
  }
  const level = logLevels.find((known) => known === text);
  if (level === undefined) {
    throw new YtError(`"${text}" is not a log level: choose one of ${logLevels.join(", ")}`);
  }
  return level;
}

function checkDuplicates(values: readonly string[], complaint: (value: string) => string): void {
  const seen = new Set<string>();
  for (const value of values) {
    if (seen.has(value)) {
      throw new YtError(complaint(value));
    }
    seen.add(value);
  }
}
