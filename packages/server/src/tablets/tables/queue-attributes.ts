/**
 * What makes a table a queue, a consumer or a producer to the Queue Agent, and what the agent says of it.
 * Specified in: yt/yt/server/master/table_server/table_node_proxy.cpp (QueueAgentStage, TreatAsQueueConsumer),
 * helpers.cpp (GetEffectiveQueueAgentStage, GetQueueAgentAttributeAsync).
 */
import { bare, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  type BuiltinAttribute,
  clusterConfig,
  type Draft,
  type Node,
  parseBoolean,
  parseString,
  type View,
} from "../../cypress/index.ts";
import type { TableEnvironment } from "./environment.ts";
import type { QueueAgentQuestion } from "./queue-agent-access.ts";
import {
  isOrderedDynamic,
  isSortedDynamic,
  isTableType,
  type TableState,
  withoutSetting,
  withSetting,
} from "./table-state.ts";

type Attribute = BuiltinAttribute<TableState>;

const consumerFlag = "treat_as_queue_consumer";
const producerFlag = "treat_as_queue_producer";
const stageAttribute = "queue_agent_stage";

/** A consumer or a producer. Neither flag goes along with a copy. */
function hasFlag(state: TableState, flag: string): boolean {
  return isSortedDynamic(state) && state.settings.get(flag) === true;
}

/** What the table is to the Queue Agent, which tracks queues and consumers. */
export function trackedKind(state: TableState): "queue" | "consumer" | undefined {
  if (isOrderedDynamic(state)) {
    return "queue";
  }
  return hasFlag(state, consumerFlag) ? "consumer" : undefined;
}

/** Reads and checks one of the three for a new table. @throws YtError */
export function parseQueueSetting(state: TableState, name: string, value: YsonValue): YsonValue {
  const isAllowed = name === stageAttribute ? state.dynamic : isSortedDynamic(state);
  if (!isAllowed) {
    throw new YtError(`Builtin attribute "${name}" cannot be set`);
  }
  return name === stageAttribute ? parseString(value) : parseBoolean(value);
}

export const queueSettings = [consumerFlag, producerFlag, stageAttribute] as const;

/** The Queue Agent reads committed tables only, so that a change in a transaction would mean nothing to it. */
function requireNoTransaction(draft: Draft): void {
  if (draft.transactionId !== undefined) {
    throw new YtError("Operation cannot be performed in transaction");
  }
}

function queueSetting(
  name: string,
  get: (state: TableState, view: View) => YsonValue | undefined,
): [string, Attribute] {
  return [
    name,
    {
      get: (node, view) => get(node.state, view),
      set(draft, node, value) {
        requireNoTransaction(draft);
        return { state: withSetting(node.state, name, parseQueueSetting(node.state, name, value)) };
      },
      remove(draft, node) {
        if (!node.state.settings.has(name)) {
          return {};
        }
        requireNoTransaction(draft);
        return { state: withoutSetting(node.state, name) };
      },
    },
  ];
}

function stageOf(state: TableState, view: View): string {
  const own = state.settings.get(stageAttribute);
  return typeof own === "string" ? own : defaultStage(view);
}

function defaultStage(view: View): string {
  const server = bare(clusterConfig(view).get("queue_agent_server") ?? null);
  const stage = isMap(server) ? bare(server.get("default_queue_agent_stage") ?? null) : null;
  return typeof stage === "string" ? stage : "production";
}

function remoteAttribute(
  environment: TableEnvironment,
  kind: QueueAgentQuestion["kind"],
  part: QueueAgentQuestion["part"],
  isPresent: (state: TableState) => boolean,
): Attribute {
  return {
    opaque: true,
    isPresent: (node) => isPresent(node.state),
    get: (node) => (isPresent(node.state) ? null : undefined),
    remote(node, view) {
      const path = view.pathOf(node);
      const answer = environment.queueAgents.about({ kind, path, stage: stageOf(node.state, view), part });
      return {
        async ask(method, subPath) {
          try {
            return await answer.ask(method, subPath);
          } catch (error) {
            const ageMs = environment.cell.clock.now() - node.creationTimeUs / 1000;
            throw error instanceof YtError && isUnknownThere(error)
              ? notSeenYet(kind, path, Math.max(0, Math.round(ageMs)), error)
              : error;
          }
        },
      };
    },
  };
}

/** No agent has the object; or one has just been given it, and does not find it among its own yet. */
function isUnknownThere(error: YtError): boolean {
  const isBeingTaken = error.has("QueueAgentRetriableError") && error.has("ResolveError");
  return error.has("QueueAgentObjectIsNotMapped") || isBeingTaken;
}

const msPerSecond = 1000;

function notSeenYet(kind: string, path: string, ageMs: number, reason: YtError): YtError {
  const age = (ageMs / msPerSecond).toFixed(1);
  return new YtError(
    `The queue agent has not seen ${kind} ${path} yet: it exists for ${age} s, and a new object is seen within a few seconds; if it stays so, look at the alerts of the queue agents under //sys/queue_agents/instances`,
    {
      code: "ResolveError",
      attributes: { path, object_age: BigInt(ageMs) },
      inner: [reason],
    },
  );
}

export function queueAttributes(environment: TableEnvironment): [string, Attribute][] {
  const flag = (name: string): [string, Attribute] =>
    queueSetting(name, (state) => (isSortedDynamic(state) ? hasFlag(state, name) : undefined));
  const isConsumer = (state: TableState): boolean => hasFlag(state, consumerFlag);
  const isProducer = (state: TableState): boolean => hasFlag(state, producerFlag);
  return [
    flag(consumerFlag),
    flag(producerFlag),
    queueSetting(stageAttribute, (state, view) => (state.dynamic ? stageOf(state, view) : undefined)),
    ["queue_status", remoteAttribute(environment, "queue", "status", isOrderedDynamic)],
    ["queue_partitions", remoteAttribute(environment, "queue", "partitions", isOrderedDynamic)],
    ["queue_consumer_status", remoteAttribute(environment, "consumer", "status", isConsumer)],
    ["queue_consumer_partitions", remoteAttribute(environment, "consumer", "partitions", isConsumer)],
    ["queue_producer_status", remoteAttribute(environment, "producer", "status", isProducer)],
    ["queue_producer_partitions", remoteAttribute(environment, "producer", "partitions", isProducer)],
  ];
}

/** What a copy of the table keeps of its settings. */
export function copiedSettings(settings: YsonMap): YsonMap {
  const kept = new Map(settings);
  kept.delete(consumerFlag);
  kept.delete(producerFlag);
  return kept;
}

export function asTable(node: Node): Node<TableState> | undefined {
  return isTableType(node.type) ? (node as Node<TableState>) : undefined;
}
