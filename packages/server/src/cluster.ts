/**
 * One cluster of this process: opens its store, puts the rooms together and serves them over HTTP. The
 * only place of wiring; it decides nothing.
 */
import { crc32 } from "node:zlib";
import {
  bare,
  type Clock,
  emptyMap,
  isMap,
  mapOf,
  type Random,
  secureRandom,
  systemClock,
  type YsonMap,
  type YsonValue,
} from "@qyt/base";
import type { Logger } from "pino";
import { Cell, openLmdbStore, type Store } from "./cell/index.ts";
import {
  ClusterDirectory,
  type ClusterEntry,
  type ClusterTree,
  OrchidClient,
  type PeerConnection,
  QueueAgents,
} from "./clusters/index.ts";
import { Credentials, Cypress } from "./cypress/index.ts";
import { allCommands, CommandDriver, RequestLimits, type Services } from "./driver/index.ts";
import {
  Authenticator,
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
  type TlsFiles,
  type TrustedPeer,
} from "./http/index.ts";
import {
  Keepers,
  keeperSettings,
  LocalRegistrationTable,
  PullWaits,
  type QueueServices,
  RemoteRegistrationTable,
  registrationTablePath,
  registrationTableSchema,
} from "./queues/index.ts";
import { TableManager, TabletTransactions } from "./tablets/index.ts";

/** Authentication that is on. */
export interface AuthenticationOptions {
  /** Clusters that act for their users, by the user as whom they authenticate here. */
  readonly peersByUser: ReadonlyMap<string, TrustedPeer>;
  /** Those of the same process, by secrets that nobody else knows. */
  readonly peersByToken: ReadonlyMap<string, TrustedPeer>;
}

export interface ClusterOptions {
  readonly name: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly dataDirectory: string;
  readonly version: string;
  readonly logger: Logger;
  /** All clusters that this one knows, itself included, with their proxies. Written to `//sys/clusters`. */
  readonly peers: () => ReadonlyMap<string, ClusterEntry>;
  /** How this cluster proves to another who it is, and how it knows that one. */
  readonly connection?: (peer: string) => PeerConnection;
  /** Absent: off. Every request is `root`'s, or that of who it says it is. */
  readonly authentication?: AuthenticationOptions;
  /** Absent: plain HTTP. */
  readonly tls?: TlsFiles;
  /** `host:port` as clients reach the cluster. Default: where it listens. */
  readonly publicAddress?: string;
  /** Origins whose pages may call; by default all without authentication, none with it. */
  readonly allowedOrigins?: readonly string[];
  /** The cluster that keeps the shared registrations. */
  readonly registrationsCluster: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Instead of LMDB in `dataDirectory`, for tests. */
  readonly store?: Store;
  readonly admission?: NonNullable<HttpServerOptions["admission"]>;
}

export interface Cluster {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly services: Services;
  /** The administrator's first token; see `Credentials`. */
  issueFirstToken(token: string, save: () => Promise<void>): Promise<boolean>;
  /** A token for a service of this process that acts as `user`; good as long as the process. */
  issueServiceToken(user: string): string;
  /** @throws YtError 1 when certificate and key do not fit; the old ones stay in use then */
  replaceTls(files: TlsFiles): void;
  /** Lets requests under way finish for at most `graceMs`, then stops and closes the store. */
  close(graceMs: number): Promise<void>;
}

const root = { user: "root" };

/**
 * Starts a cluster; it answers when the promise resolves.
 * @throws YtError with one sentence: directory in use, newer format, port in use, disk full
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? secureRandom();
  const store = options.store ?? (await openLmdbStore(options.dataDirectory));
  const closers: (() => Promise<void> | void)[] = [];
  try {
    const cell = await Cell.open({
      store,
      clock,
      random,
      cellTag: cellTagOf(options.name),
      logger: options.logger,
    });
    closers.push(() => cell.close());
    const tables = await TableManager.open(cell);
    const orchids = new OrchidClient({ clock });
    closers.push(() => orchids.close());
    const cypress = await Cypress.open(cell, {
      clusterName: options.name,
      nodeTypes: tables.nodeTypes,
      attributeExtensions: tables.attributeExtensions,
      findObject: (_view, id) => tables.findObject(id),
      onNodesChanged: (changes, view) => tables.nodesChanged(changes, view),
      remoteAddress: (address) => ({ ask: (method, path) => orchids.ask(address, { method, path }) }),
      proxyAddress: options.publicAddress ?? `${options.host}:${options.port}`,
    });
    closers.push(() => cypress.close());
    const transactions = new TabletTransactions(cell);
    tables.onMaintenanceError = (tableId, error) =>
      options.logger.error({ err: error, table_id: tableId }, "Background work on a table failed");
    const clusters = new ClusterDirectory({
      localName: options.name,
      lookup: (name) => clusterEntry(cypress, name),
      clock,
      isAuthenticated: options.authentication !== undefined,
      ...(options.connection === undefined ? {} : { connection: options.connection }),
    });
    closers.push(() => clusters.close());
    const queueAgents = new QueueAgents({ clusters, orchids, own: ownTree(cypress), clock, random });
    await tables.start(cypress, transactions, {
      nodeAddress: `${options.host}:${options.port}`,
      queueAgents,
    });
    closers.push(() => tables.close());
    closers.push(() => transactions.close());
    await prepareSystemTables(cypress, tables, options);

    const waits = new PullWaits(clock);
    const keepers = new Keepers({
      clusters,
      keeper: options.registrationsCluster,
      clock,
      onDisagreement: (error) => options.logger.error({ err: error }, error.message),
    });
    const registrations =
      options.registrationsCluster === options.name
        ? new LocalRegistrationTable(tables, transactions)
        : new RemoteRegistrationTable(clusters, keepers);
    const queues: QueueServices = {
      clusterName: options.name,
      clusters,
      tables,
      transactions,
      registrations,
      keepers,
      waits,
      view: () => cypress.view(),
    };
    const credentials = new Credentials(cypress);
    let driver: CommandDriver;
    let server: HttpServer | undefined;
    const services: Services = {
      clusterName: options.name,
      version: options.version,
      proxyAddress: () => server?.address ?? `${options.host}:${options.port}`,
      cell,
      cypress,
      access: cypress.access,
      credentials,
      tables,
      transactions,
      clusters,
      queues,
      processes: orchids,
      driver: () => driver,
    };
    const authentication =
      options.authentication === undefined
        ? undefined
        : new Authenticator({ credentials, clock, ...options.authentication });
    driver = new CommandDriver(
      services,
      allCommands,
      clock,
      // Without authentication a name costs nothing, so a limit by name would limit nobody.
      authentication === undefined
        ? undefined
        : new RequestLimits(clock, (user) => credentials.requestLimits(user)),
    );
    server = await startHttpServer({
      host: options.host,
      port: options.port,
      driver,
      identity: {
        clusterName: options.name,
        version: options.version,
        startTime: new Date(clock.now()).toISOString(),
      },
      clusterConnection: () => clusterConnection(cypress),
      logger: options.logger,
      clock,
      ...(options.admission === undefined ? {} : { admission: options.admission }),
      ...(options.publicAddress === undefined ? {} : { publicAddress: options.publicAddress }),
      ...(options.tls === undefined ? {} : { tls: options.tls }),
      ...(authentication === undefined ? {} : authenticated(authentication)),
      ...allowedOrigins(options),
    });
    const { address } = server;
    if (registrations instanceof LocalRegistrationTable) {
      // The first listing after a start shall be as fast as the others; if this fails, it reads the table itself.
      registrations.list({ user: "root" }, {}).catch(() => undefined);
    }
    return {
      name: options.name,
      address,
      services,
      issueFirstToken: (token, save) => credentials.issueFirstToken(token, save),
      issueServiceToken: (user) => credentials.issueServiceToken(user),
      replaceTls: (files) => server?.replaceTls(files),
      async close(graceMs) {
        waits.close();
        await server?.close(graceMs);
        await closeAll(closers);
      },
    };
  } catch (error) {
    if (closers.length === 0) {
      await store.close();
    }
    await closeAll(closers);
    throw error;
  }
}

function authenticated(
  authenticator: Authenticator,
): Pick<HttpServerOptions, "authenticate" | "csrfTokenFor" | "login"> {
  return {
    authenticate: authenticator.authenticate,
    csrfTokenFor: (user) => authenticator.csrf.sign(user),
    login: (user, password) => authenticator.login(user, password),
  };
}

/** A page of an allowed origin may do what the session of the person before it may do. */
function allowedOrigins(options: ClusterOptions): Pick<HttpServerOptions, "isOriginAllowed"> {
  const { allowedOrigins: origins, authentication } = options;
  if (origins === undefined && authentication === undefined) {
    return {};
  }
  return { isOriginAllowed: (origin) => origins?.includes(origin) ?? false };
}

async function closeAll(closers: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const close of closers.toReversed()) {
    await close();
  }
}

/** What the other rooms expect to find: the peers, and the table of registrations. */
async function prepareSystemTables(
  cypress: Cypress,
  tables: TableManager,
  options: ClusterOptions,
): Promise<void> {
  const known = clustersDocument(cypress);
  const entries = new Map<string, YsonValue>(known);
  for (const [name, { proxy }] of options.peers()) {
    const own = name === options.name ? { queue_agent: keeperSettings(options.registrationsCluster) } : {};
    entries.set(name, mapOf({ proxy, cluster_name: name, ...own }));
  }
  await cypress.set(root, { path: "//sys/clusters", value: entries, recursive: false, force: true });
  if (cypress.view().findNode(registrationTablePath) === undefined) {
    await cypress.create(root, {
      type: "table",
      path: registrationTablePath,
      attributes: mapOf({ dynamic: true, schema: registrationTableSchema.toYson() }),
      recursive: true,
      force: false,
      ignoreExisting: false,
      lockExisting: false,
      ignoreTypeMismatch: false,
    });
  }
  await tables.mount(root, { path: registrationTablePath, attributes: emptyMap }, {});
}

/** The own tree, for those who ask the same of other clusters over HTTP. */
function ownTree(cypress: Cypress): ClusterTree {
  const reader = { ...root, suppressAccessTracking: true, suppressExpirationTimeoutRenewal: true };
  return {
    get: (path) => cypress.get(reader, { path }),
    list: (path, attributes) => cypress.list(reader, { path, attributes }),
  };
}

function clustersDocument(cypress: Cypress): YsonMap {
  const view = cypress.view();
  const node = view.findNode("//sys/clusters");
  const content = node === undefined ? undefined : view.typeOf(node).getContent?.(node);
  const plain = content === undefined ? emptyMap : bare(content);
  return isMap(plain) ? plain : emptyMap;
}

function clusterEntry(cypress: Cypress, name: string): ClusterEntry | undefined {
  const entry = bare(clustersDocument(cypress).get(name) ?? null);
  const proxy = isMap(entry) ? bare(entry.get("proxy") ?? null) : undefined;
  return typeof proxy === "string" ? { proxy } : undefined;
}

async function clusterConnection(cypress: Cypress): Promise<YsonValue> {
  return cypress.get(root, { path: "//sys/@cluster_connection" });
}

/** Clusters tell their ids apart by the tag; never zero. */
function cellTagOf(name: string): number {
  return (crc32(Buffer.from(name)) & 0x7fff) + 1;
}
