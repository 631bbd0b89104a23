/** Runs the clusters of one `qyt up`: starts them all or none, and stops them within the time given. */
import { randomBytes } from "node:crypto";
import { type Clock, sleep, toYtError, YtError } from "@qyt/base";
import type { Logger } from "pino";
import { sentence } from "../error-text.ts";
import { AgentRun, type AgentStart, type RunningAgent } from "./agent.ts";
import { aliasVariable, exportLine } from "./aliases.ts";
import { formatAddress } from "./cluster-option.ts";
import { withFreePorts } from "./free-ports.ts";
import { readKeepers, writeKeeper } from "./keeper-record.ts";
import { type ClusterPlan, chooseRegistrationsCluster, type UpPlan } from "./plan.ts";
import {
  type Connection,
  protectDirectory,
  type TlsContents,
  tokenFileOf,
  writeTokenFile,
} from "./secret-files.ts";
import { Secrets, type TrustedPeers } from "./secrets.ts";
import { exposedPeers } from "./security.ts";

/** A started cluster, as far as the command needs it. */
export interface RunningCluster {
  readonly name: string;
  /** `HOST:PORT`. */
  readonly address: string;
  /**
   * Makes the token good for `root`, once `save` has kept it, unless `root` has had one before.
   * @returns whether it did
   */
  issueFirstToken(token: string, save: () => Promise<void>): Promise<boolean>;
  /** A token for this process that acts as `user`. */
  issueServiceToken(user: string): string;
  /** @throws YtError when certificate and key do not fit; the old ones stay in use then */
  replaceTls(files: TlsContents): void;
  /** Finishes what is under way, for at most so long, then closes the store. */
  close(graceMs: number): Promise<void>;
}

export interface StartOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly dataDirectory: string;
  readonly version: string;
  readonly logger: Logger;
  readonly peers: () => ReadonlyMap<string, { readonly proxy: string }>;
  readonly registrationsCluster: string;
  readonly connection: (peer: string) => Connection;
  /** Absent: off. */
  readonly authentication?: TrustedPeers;
  readonly tls?: TlsContents;
  readonly publicAddress?: string;
  readonly allowedOrigins?: readonly string[];
}

/** What `up` needs of the world. */
export interface UpPorts {
  start(options: StartOptions): Promise<RunningCluster>;
  startAgent(options: AgentStart): Promise<RunningAgent>;
  /** Sends a request and resolves when it is answered. */
  probe(url: string, connection: Connection): Promise<void>;
  /** Calls back whenever the process is told to read its files again. Only asked for when there are any. */
  onReload(reload: () => void): void;
  /** Writes a line for the person or the script that started us. */
  print(line: string): void;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly version: string;
}

/** How long requests under way are waited for; the rest of the 10 s promised is for closing the stores. */
export const graceMs = 9000;
export const maxStopMs = 10_000;

/**
 * Starts everything, prints where it is, waits for `stop` and closes it again.
 * @throws YtError with one sentence when a cluster cannot start; those that did are closed
 */
export async function runUp(plan: UpPlan, ports: UpPorts, stop: Promise<void>): Promise<void> {
  const { tls, isAuthenticated } = plan.security;
  const secrets = new Secrets(plan, ports.logger);
  await secrets.read();
  for (const peer of exposedPeers(plan.peers)) {
    ports.logger.warn({ peer }, "the token for this peer goes over the network as plain text: use https");
  }
  const { clusters, registrationsCluster } = await startAll(plan, ports, secrets);
  const agent = plan.queueAgent ? runAgent(plan, ports, secrets, clusters, registrationsCluster) : undefined;
  const hasFiles = [...plan.peers.values()].some(
    ({ ca, tokenFile }) => ca !== undefined || tokenFile !== undefined,
  );
  // Without any, SIGHUP ends the process, as it does by default.
  if (tls !== undefined || hasFiles) {
    ports.onReload(() => void secrets.reload(clusters));
  }
  let isStopping = false;
  void stop.then(() => {
    isStopping = true;
  });
  try {
    const firstToken = isAuthenticated ? await issueFirstToken(plan, clusters) : undefined;
    await Promise.all(
      clusters.map((cluster) =>
        ports.probe(urlOf(plan, cluster.name, cluster.address), {
          ...secrets.own,
          ...(isAuthenticated ? { token: cluster.issueServiceToken("guest") } : {}),
        }),
      ),
    );
    // An agent whose state is elsewhere may have to wait for that cluster; nobody else has to.
    const isStateHere = clusters.some(({ name }) => name === registrationsCluster);
    const running = isStateHere ? await Promise.race([agent?.started(), stop]) : undefined;
    // Lets a stop that came meanwhile be seen.
    await Promise.resolve();
    if (!isStopping) {
      announce(plan, clusters, ports, firstToken, running?.agentId);
    }
    await stop;
  } finally {
    await closeAll(clusters, ports, agent);
  }
}

function runAgent(
  plan: UpPlan,
  ports: UpPorts,
  secrets: Secrets,
  clusters: readonly RunningCluster[],
  stateCluster: string,
): AgentRun {
  const [from] = clusters;
  const tokens = new Map(
    plan.security.isAuthenticated
      ? clusters.map((cluster) => [cluster.name, { token: cluster.issueServiceToken("queue_agent") }])
      : [],
  );
  const access = (): ReadonlyMap<string, Connection & { readonly proxy: string }> => {
    const result = new Map<string, Connection & { readonly proxy: string }>();
    for (const [name, { proxy }] of plan.peers) {
      result.set(name, { ...(from === undefined ? {} : secrets.connection(from.name, name)), proxy });
    }
    for (const { name, address } of clusters) {
      result.set(name, { ...secrets.own, ...tokens.get(name), proxy: urlOf(plan, name, address) });
    }
    return result;
  };
  const logger = ports.logger.child({ cluster: stateCluster, service: "queue-agent" });
  return new AgentRun((start) => ports.startAgent(start), { stateCluster, access, logger }, ports.clock);
}

/** One token for all clusters that have had none, so that it serves a person with all of them. */
async function issueFirstToken(
  plan: UpPlan,
  clusters: readonly RunningCluster[],
): Promise<{ readonly token: string; readonly clusters: readonly ClusterPlan[] } | undefined> {
  const token = randomBytes(16).toString("hex");
  const issued: ClusterPlan[] = [];
  for (const cluster of clusters) {
    const planned = plan.clusters.find(({ name }) => name === cluster.name);
    if (planned !== undefined) {
      const save = (): Promise<void> => writeTokenFile(planned.dataDirectory, token);
      if (await cluster.issueFirstToken(token, save)) {
        issued.push(planned);
      }
    }
  }
  return issued.length === 0 ? undefined : { token, clusters: issued };
}

interface Started {
  readonly clusters: readonly RunningCluster[];
  readonly registrationsCluster: string;
}

async function startAll(plan: UpPlan, ports: UpPorts, secrets: Secrets): Promise<Started> {
  const registrationsCluster = chooseRegistrationsCluster(plan, await readKeepers(plan.clusters));
  const addresses = await withFreePorts(plan.clusters.map(({ address }) => address));
  const clusters = plan.clusters.map((cluster, index) => ({
    ...cluster,
    address: addresses[index] ?? cluster.address,
  }));
  const proxies = new Map<string, { readonly proxy: string }>(
    [...plan.peers].map(([name, { proxy }]) => [name, { proxy }]),
  );
  for (const { name, address } of clusters) {
    proxies.set(name, { proxy: urlOf(plan, name, formatAddress(address)) });
  }
  const attempts = await Promise.allSettled(
    clusters.map((cluster) =>
      startOne(cluster, ports, {
        registrationsCluster,
        peers: () => proxies,
        connection: (peer) => secrets.connection(cluster.name, peer),
        ...(plan.security.isAuthenticated ? { authentication: secrets.trustedBy(cluster.name) } : {}),
        ...(secrets.tls === undefined ? {} : { tls: secrets.tls }),
        ...(plan.security.allowedOrigins === undefined
          ? {}
          : { allowedOrigins: plan.security.allowedOrigins }),
      }),
    ),
  );
  const started = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
  const failure = attempts.find((attempt) => attempt.status === "rejected");
  if (failure !== undefined) {
    await closeAll(started, ports);
    throw toYtError(failure.reason);
  }
  return { clusters: started, registrationsCluster };
}

type SharedOptions = Pick<
  StartOptions,
  "registrationsCluster" | "peers" | "connection" | "authentication" | "tls" | "allowedOrigins"
>;

async function startOne(
  { name, address, dataDirectory, publicAddress }: ClusterPlan,
  ports: UpPorts,
  shared: SharedOptions,
): Promise<RunningCluster> {
  const { logger, version } = ports;
  let running: RunningCluster;
  try {
    running = await ports.start({
      name,
      ...address,
      dataDirectory,
      version,
      logger: logger.child({ cluster: name }),
      ...shared,
      ...(publicAddress === undefined ? {} : { publicAddress }),
    });
  } catch (thrown) {
    logger.debug({ err: thrown, cluster: name }, "cluster did not start");
    throw new YtError(`Cluster ${name} cannot start: ${sentence(thrown)}`, { cause: thrown });
  }
  try {
    await writeKeeper(dataDirectory, shared.registrationsCluster);
    if (shared.authentication !== undefined) {
      await protectDirectory(dataDirectory);
    }
  } catch (thrown) {
    await running.close(0);
    throw new YtError(
      `Cluster ${name} cannot start: cannot write to "${dataDirectory}": ${sentence(thrown)}`,
      {
        cause: thrown,
      },
    );
  }
  return running;
}

function announce(
  plan: UpPlan,
  clusters: readonly RunningCluster[],
  ports: UpPorts,
  firstToken: Awaited<ReturnType<typeof issueFirstToken>>,
  agentId: string | undefined,
): void {
  const width = Math.max(...clusters.map(({ name }) => name.length));
  const urls = clusters.map(({ name, address }) => ({ name, url: urlOf(plan, name, address) }));
  for (const [index, { name, url }] of urls.entries()) {
    ports.print(
      `cluster ${name.padEnd(width)}  ${url}  data in ${plan.clusters[index]?.dataDirectory ?? ""}`,
    );
  }
  if (agentId !== undefined) {
    ports.print(`queue agent  http://${agentId}`);
  }
  ports.print("");
  ports.print(
    `For \`yt --proxy ${clusters[0]?.name ?? "NAME"} …\` paste this line (the client reads ${aliasVariable}):`,
  );
  ports.print(exportLine(urls));
  const { tls } = plan.security;
  if (tls !== undefined) {
    // Proxies that the client learns of by their addresses have no scheme.
    const bundle = tls.ca === undefined ? "" : ` REQUESTS_CA_BUNDLE=${quoted(tls.ca)}`;
    ports.print(`export YT_PREFER_HTTPS=1${bundle}`);
  }
  ports.print("");
  if (firstToken !== undefined) {
    const files = firstToken.clusters.map(({ dataDirectory }) => tokenFileOf(dataDirectory));
    const names = firstToken.clusters.map(({ name }) => name);
    ports.print(
      `The token of root on ${names.join(", ")}, shown this once; it is kept in ${files.join(", ")}:`,
    );
    ports.print(`export YT_TOKEN=${firstToken.token}`);
    ports.print("");
  }
  ports.print("qyt is ready");
}

/** The agent first, as it is a client of the clusters. */
async function closeAll(
  clusters: readonly RunningCluster[],
  { clock, logger }: UpPorts,
  agent?: AgentRun,
): Promise<void> {
  const stopped = agent === undefined ? Promise.resolve() : agent.stop();
  const closed = stopped.then(() => Promise.allSettled(clusters.map((cluster) => cluster.close(graceMs))));
  const results = await Promise.race([closed, sleep(clock, maxStopMs)]);
  if (results === undefined) {
    logger.warn("not everything was finished within 10 s; what was acknowledged is stored");
    return;
  }
  for (const result of results) {
    if (result.status === "rejected") {
      logger.error({ err: result.reason }, "closing failed");
    }
  }
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** By which clients reach a cluster that listens on `address`. */
function urlOf(plan: UpPlan, name: string, address: string): string {
  const publicAddress = plan.clusters.find((cluster) => cluster.name === name)?.publicAddress;
  return `${plan.security.tls === undefined ? "http" : "https"}://${publicAddress ?? address}`;
}
