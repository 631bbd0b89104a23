/** Runs the clusters of one `qyt up`: starts them all or none, and stops them within the time given. */
import { type Clock, sleep, toYtError, YtError } from "@qyt/base";
import type { Logger } from "pino";
import { aliasVariable, exportLine } from "./aliases.ts";
import { formatAddress } from "./cluster-option.ts";
import { withFreePorts } from "./free-ports.ts";
import { readKeepers, writeKeeper } from "./keeper-record.ts";
import { type ClusterPlan, chooseRegistrationsCluster, type UpPlan } from "./plan.ts";

/** A started cluster, as far as the command needs it. */
export interface RunningCluster {
  readonly name: string;
  /** `HOST:PORT`. */
  readonly address: string;
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
}

/** What `up` needs of the world. */
export interface UpPorts {
  start(options: StartOptions): Promise<RunningCluster>;
  /** Sends a request and resolves when it is answered. */
  probe(url: string): Promise<void>;
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
  const clusters = await startAll(plan, ports);
  let isStopping = false;
  void stop.then(() => {
    isStopping = true;
  });
  try {
    await Promise.all(clusters.map((cluster) => ports.probe(urlOf(cluster))));
    // Lets a stop that came meanwhile be seen.
    await Promise.resolve();
    if (!isStopping) {
      announce(plan, clusters, ports);
    }
    await stop;
  } finally {
    await closeAll(clusters, ports);
  }
}

async function startAll(plan: UpPlan, ports: UpPorts): Promise<readonly RunningCluster[]> {
  const registrationsCluster = chooseRegistrationsCluster(plan, await readKeepers(plan.clusters));
  const addresses = await withFreePorts(plan.clusters.map(({ address }) => address));
  const clusters = plan.clusters.map((cluster, index) => ({
    ...cluster,
    address: addresses[index] ?? cluster.address,
  }));
  const proxies = new Map(plan.peers);
  for (const { name, address } of clusters) {
    proxies.set(name, { proxy: `http://${formatAddress(address)}` });
  }
  const attempts = await Promise.allSettled(
    clusters.map((cluster) => startOne(cluster, registrationsCluster, () => proxies, ports)),
  );
  const started = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
  const failure = attempts.find((attempt) => attempt.status === "rejected");
  if (failure !== undefined) {
    await closeAll(started, ports);
    throw toYtError(failure.reason);
  }
  return started;
}

async function startOne(
  { name, address, dataDirectory }: ClusterPlan,
  registrationsCluster: string,
  peers: StartOptions["peers"],
  ports: UpPorts,
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
      peers,
      registrationsCluster,
    });
  } catch (thrown) {
    logger.debug({ err: thrown, cluster: name }, "cluster did not start");
    throw new YtError(`Cluster ${name} cannot start: ${sentence(thrown)}`, { cause: thrown });
  }
  try {
    await writeKeeper(dataDirectory, registrationsCluster);
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

/** The error's message and those of its first inner errors, as one sentence. */
export function sentence(thrown: unknown): string {
  const error = toYtError(thrown);
  const [inner] = error.innerErrors;
  return inner === undefined ? error.message : `${error.message}: ${sentence(inner)}`;
}

function announce(plan: UpPlan, clusters: readonly RunningCluster[], ports: UpPorts): void {
  const width = Math.max(...clusters.map(({ name }) => name.length));
  for (const [index, cluster] of clusters.entries()) {
    ports.print(
      `cluster ${cluster.name.padEnd(width)}  ${urlOf(cluster)}  data in ${plan.clusters[index]?.dataDirectory ?? ""}`,
    );
  }
  ports.print("");
  ports.print(
    `For \`yt --proxy ${clusters[0]?.name ?? "NAME"} …\` paste this line (the client reads ${aliasVariable}):`,
  );
  ports.print(exportLine(clusters.map((cluster) => ({ name: cluster.name, url: urlOf(cluster) }))));
  ports.print("");
  ports.print("qyt is ready");
}

async function closeAll(clusters: readonly RunningCluster[], { clock, logger }: UpPorts): Promise<void> {
  const closed = Promise.allSettled(clusters.map((cluster) => cluster.close(graceMs)));
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

function urlOf({ address }: RunningCluster): string {
  return `http://${address}`;
}
