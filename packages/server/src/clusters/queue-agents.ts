/**
 * The queue agents, as the owner of queues and consumers finds and asks them: by the stage of the object,
 * in the own cluster first, then in every other one.
 * Specified in: yt/yt/server/master/table_server/helpers.cpp (GetQueueAgentAttributeAsync),
 * yt/yt/ytlib/queue_client/helpers.cpp (CreateQueueAgentYPathService).
 */
import {
  attributesOf,
  bare,
  type Clock,
  errorCodes,
  isList,
  isMap,
  type Random,
  toYtError,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { escapeYPathLiteral } from "@qyt/yson";
import type { ClusterDirectory } from "./directory.ts";
import { NoAnswer, type OrchidClient, type OrchidQuestion } from "./orchid-client.ts";
import { answerTimeoutMs, Deadline } from "./remote-call.ts";

/** What is asked of the tree of a cluster, of the own one directly and of the others over HTTP. */
export interface ClusterTree {
  get(path: string): Promise<YsonValue>;
  list(path: string, attributes: readonly string[]): Promise<YsonValue>;
}

export interface QueueAgentsOptions {
  readonly clusters: ClusterDirectory;
  readonly orchids: OrchidClient;
  readonly own: ClusterTree;
  readonly clock: Clock;
  readonly random: Random;
}

export interface QueueAgentObjectPart {
  readonly kind: "queue" | "consumer" | "producer";
  readonly path: string;
  readonly stage: string;
  readonly part: "status" | "partitions";
}

export interface RemotePartOfAgent {
  ask(method: OrchidQuestion["method"], path: string): Promise<YsonValue>;
}

const instancesPath = "//sys/queue_agents/instances";
/** Key of the shared lock that an agent holds on its own node as long as it lives. */
const presenceLockKey = "presence";

/** How long it is remembered which agents another cluster has, in milliseconds. */
const keepMs = 3_000;
/** How long another cluster may take to say which agents it has, in milliseconds. */
const discoveryTimeoutMs = 3_000;
/** How long an agent may take to answer while there are others to ask, in milliseconds. */
const patienceMs = 3_000;
/** An agent that did not answer is asked after the others for so long, in milliseconds. */
const suspicionMs = 10_000;
const maxAttempts = 4;

/** Agents of one cluster by stage. */
type Stages = ReadonlyMap<string, readonly string[]>;

interface OwnAgents {
  readonly stages: Stages;
  /** `//sys/clusters`. */
  readonly entries: YsonMap;
}

export class QueueAgents {
  readonly #options: QueueAgentsOptions;
  readonly #others = new Map<string, { readonly at: number; readonly stages: Promise<Stages> }>();
  /** Shared by those who ask at the same moment, as a listing with the statuses of many queues does. */
  #own: Promise<OwnAgents> | undefined;
  readonly #silentUntil = new Map<string, number>();

  constructor(options: QueueAgentsOptions) {
    this.#options = options;
  }

  /** What the agents of a stage know of an object of this cluster. */
  about({ kind, path, stage, part }: QueueAgentObjectPart): RemotePartOfAgent {
    const reference = escapeYPathLiteral(`${this.#options.clusters.localName}:${path}`);
    const base = `/queue_agent/${kind}s/${reference}/${part}`;
    return { ask: (method, subPath) => this.#askStage(stage, { method, path: `${base}${subPath}` }) };
  }

  /** @throws YtError of the last agent that was asked, or that there is none */
  async #askStage(stage: string, question: OrchidQuestion): Promise<YsonValue> {
    const addresses = this.#inOrder(await this.#agentsOf(stage)).slice(0, maxAttempts);
    const failures: YtError[] = [];
    for (const [index, address] of addresses.entries()) {
      const timeoutMs = index < addresses.length - 1 ? patienceMs : answerTimeoutMs;
      try {
        const value = await this.#options.orchids.ask(address, question, timeoutMs);
        this.#silentUntil.delete(address);
        return value;
      } catch (thrown) {
        const error = toYtError(thrown);
        if (error instanceof NoAnswer) {
          this.#silentUntil.set(address, this.#options.clock.monotonic() + suspicionMs);
          failures.push(error.wrap(`Queue agent ${address} did not answer`, { queue_agent: address }));
          continue;
        }
        const answer = error.withAttributes({ queue_agent: address });
        if (error.code !== errorCodes.QueueAgentRetriableError) {
          throw answer;
        }
        failures.push(answer);
      }
    }
    // The agents of other clusters may not be those that are remembered any more.
    this.#others.clear();
    const [only] = failures;
    throw failures.length === 1 && only !== undefined
      ? only
      : new YtError(`None of the ${failures.length} queue agents of stage "${stage}" can answer now`, {
          code: failures.at(-1)?.code ?? "Generic",
          attributes: { stage },
          inner: failures,
        });
  }

  /** In random order, those that did not answer lately behind the others. */
  #inOrder(addresses: readonly string[]): string[] {
    const now = this.#options.clock.monotonic();
    // Agents come back at other ports: nobody would ask for the former ones again.
    for (const [address, untilMs] of this.#silentUntil) {
      if (untilMs <= now) {
        this.#silentUntil.delete(address);
      }
    }
    const isSilent = (address: string): boolean => this.#silentUntil.has(address);
    const shuffled = [...addresses];
    for (let index = shuffled.length - 1; index > 0; index -= 1) {
      const other = this.#options.random.below(index + 1);
      const moved = shuffled[index] ?? "";
      shuffled[index] = shuffled[other] ?? "";
      shuffled[other] = moved;
    }
    return [...shuffled.filter((address) => !isSilent(address)), ...shuffled.filter(isSilent)];
  }

  /** @throws YtError `Queue agent stage "testing" is not found` */
  async #agentsOf(stage: string): Promise<readonly string[]> {
    const { localName } = this.#options.clusters;
    this.#own ??= this.#readOwn().finally(() => {
      this.#own = undefined;
    });
    const { stages, entries } = await this.#own;
    const mine = stages.get(stage) ?? [];
    if (mine.length > 0) {
      return mine;
    }
    const unreachable: YtError[] = [];
    const asked = [...entries]
      .filter(([name]) => name !== localName)
      .map(([name, entry]) => this.#stagesOfOther(name, entry));
    for (const answer of asked) {
      try {
        const theirs = (await answer).get(stage) ?? [];
        if (theirs.length > 0) {
          return theirs;
        }
      } catch (thrown) {
        unreachable.push(toYtError(thrown));
      }
    }
    throw new YtError(
      `Queue agent stage "${stage}" is not found: no queue agent of this stage runs with cluster "${localName}" or one that it knows. ` +
        'Start one ("qyt up" does, unless told --no-queue-agent; "qyt queue-agent --config FILE" runs one alone), or set @queue_agent_stage of the object to the stage of a running one',
      { attributes: { stage, cluster: localName }, inner: unreachable },
    );
  }

  async #readOwn(): Promise<OwnAgents> {
    const { own, clusters } = this.#options;
    const known = bare(await own.get("//sys/clusters"));
    const entries: YsonMap = isMap(known) ? known : new Map();
    return { entries, stages: await stagesOf(own, entries.get(clusters.localName)) };
  }

  #stagesOfOther(cluster: string, entry: YsonValue): Promise<Stages> {
    const now = this.#options.clock.monotonic();
    const known = this.#others.get(cluster);
    if (known !== undefined && now - known.at < keepMs) {
      return known.stages;
    }
    const deadline = new Deadline(this.#options.clock, discoveryTimeoutMs);
    const tree: ClusterTree = {
      get: (path) =>
        this.#options.clusters.call(
          cluster,
          this.#options.clusters.actingFor(),
          { deadline },
          (client, options) => client.get(path, options),
        ),
      list: (path, attributes) =>
        this.#options.clusters.call(
          cluster,
          this.#options.clusters.actingFor(),
          { deadline },
          (client, options) => client.list(path, { ...options, attributes }),
        ),
    };
    const stages = stagesOf(tree, entry);
    // Several are asked at once and waited for one after the other.
    stages.catch(() => undefined);
    this.#others.set(cluster, { at: now, stages });
    return stages;
  }
}

/** What is written down of a stage counts; where nothing is, the agents that live. */
async function stagesOf(tree: ClusterTree, entry: YsonValue | undefined): Promise<Stages> {
  const [connection, instances] = await Promise.all([
    tree.get("//sys/@cluster_connection"),
    tree.list(instancesPath, ["queue_agent_stage", "locks"]).catch(nothingWhereMissing),
  ]);
  const stages = liveAgents(instances);
  for (const configured of [entry, connection]) {
    for (const [stage, addresses] of configuredAgents(configured)) {
      stages.set(stage, addresses);
    }
  }
  return stages;
}

/** A cluster of another make may lack the directory. */
function nothingWhereMissing(error: unknown): YsonValue {
  if (error instanceof YtError && error.has("ResolveError")) {
    return [];
  }
  throw error;
}

function liveAgents(instances: YsonValue): Map<string, readonly string[]> {
  const stages = new Map<string, string[]>();
  const list = bare(instances);
  for (const item of isList(list) ? list : []) {
    const address = bare(item);
    const attributes = attributesOf(item);
    const stage = bare(attributes.get("queue_agent_stage") ?? null);
    if (typeof address === "string" && typeof stage === "string" && isPresent(attributes.get("locks"))) {
      stages.set(stage, [...(stages.get(stage) ?? []), address]);
    }
  }
  return stages;
}

function isPresent(locks: YsonValue | undefined): boolean {
  const list = bare(locks ?? []);
  return (isList(list) ? list : []).some((item) => {
    const lock = bare(item);
    return isMap(lock) && lock.get("state") === "acquired" && lock.get("attribute_key") === presenceLockKey;
  });
}

/** `queue_agent/stages/<stage>/addresses` of a cluster connection. */
function configuredAgents(connection: YsonValue | undefined): [stage: string, addresses: string[]][] {
  const queueAgent = mapAt(connection, "queue_agent");
  return [...(mapAt(queueAgent, "stages") ?? [])].flatMap(([stage, config]) => {
    const plain = bare(config);
    const addresses = isMap(plain) ? bare(plain.get("addresses") ?? []) : [];
    const texts = (isList(addresses) ? addresses : []).flatMap((address) => {
      const text = bare(address);
      return typeof text === "string" ? [text] : [];
    });
    return texts.length === 0 ? [] : [[stage, texts]];
  });
}

function mapAt(value: YsonValue | undefined, key: string): YsonMap | undefined {
  const plain = bare(value ?? null);
  const inner = isMap(plain) ? bare(plain.get(key) ?? null) : null;
  return isMap(inner) ? inner : undefined;
}
