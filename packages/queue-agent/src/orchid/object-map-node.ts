/**
 * `queues`, `consumers` and `multi_consumers` (those of the consumers that have names) of the Orchid: objects led here answer themselves, requests for the others go to
 * the agent that leads them. `owned_queues` and the like never go on, so that a request goes over at
 * most two agents.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (TObjectServiceBase, RedirectYPathRequest).
 */
import { type YsonValue, YtError } from "@qyt/base";
import { escapeYPathLiteral, type YPathStep } from "@qyt/yson";
import type { AgentPass } from "../controllers/agent-pass.ts";
import { referenceToString } from "../objects/reference.ts";
import { isReplicated } from "../objects/state-rows.ts";
import type { OrchidAsker } from "./orchid-client.ts";
import { askOrchid, noChild, type OrchidMethod, type OrchidNode, stepsToText } from "./orchid-node.ts";

export interface ObjectMapOptions {
  readonly pass: AgentPass;
  readonly agentId: string;
  readonly kind: "queues" | "consumers" | "multi_consumers";
  /** Whether replicated tables are led at all. */
  readonly handlesReplicated: () => boolean;
  /** `undefined`: only what is led here. */
  readonly others: { readonly client: OrchidAsker; readonly timeoutMs: () => number } | undefined;
}

export function objectMapNode(options: ObjectMapOptions): OrchidNode {
  const { pass, agentId, kind, others, handlesReplicated } = options;
  const objects = () => (kind === "queues" ? pass.registry.queues : pass.registry.consumers);
  const rows = () => (kind === "queues" ? pass.state.queues : pass.state.consumers);
  const isShown = (key: string): boolean =>
    kind !== "multi_consumers" || pass.state.consumers.get(key)?.isMultiConsumer === true;
  const keys = (): readonly string[] =>
    others === undefined
      ? [...objects().values()]
          .filter(({ isLeading }) => isLeading)
          .map(({ reference }) => referenceToString(reference))
          .filter(isShown)
      : [...rows().keys()].filter((key) => pass.state.mapping.has(key) && isShown(key));
  const owned = (key: string): OrchidNode | undefined => {
    const object = objects().get(key);
    return object?.isLeading === true && isShown(key) ? object.orchid : undefined;
  };
  return {
    // Opaque: the statuses of all objects together would be a very long answer.
    get: () => new Map(keys().map((key) => [key, null])),
    async ask(method: OrchidMethod, steps: readonly YPathStep[], path: string): Promise<YsonValue> {
      const [first, ...rest] = steps;
      if (first === undefined) {
        return method === "list" ? [...keys()] : method === "exists" ? true : this.get();
      }
      if (first.kind !== "child") {
        throw new YtError(`An object is named by its reference here, not by "${stepsToText([first])}"`);
      }
      const node = owned(first.name);
      if (node !== undefined) {
        return askOrchid(node, method, rest);
      }
      const host = pass.state.mapping.get(first.name);
      if (host === undefined) {
        throw notMapped(first.name, noChild(path, first.name));
      }
      if (host === agentId && isReplicated(rows().get(first.name)) && !handlesReplicated()) {
        throw new YtError(
          `Object ${first.name} is a replicated table, which the queue agents do not look at: "handle_replicated_objects" is off in //sys/queue_agents/config; see the statuses of the tables that are its replicas (@replicas)`,
        );
      }
      if (others === undefined || host === agentId) {
        throw missing(first.name, noChild(path, first.name));
      }
      const ownedPath = `/queue_agent/owned_${kind}/${escapeYPathLiteral(first.name)}${stepsToText(rest)}`;
      return others.client.ask(host, method, ownedPath, others.timeoutMs());
    },
  };
}

function notMapped(reference: string, reason: YtError): YtError {
  return new YtError(`Object ${reference} is not mapped to any queue agent`, {
    code: "QueueAgentObjectIsNotMapped",
    inner: [reason],
  });
}

/** It has moved lately, or is about to come here: another try soon finds it. */
function missing(reference: string, reason: YtError): YtError {
  return new YtError(`Object ${reference} is missing`, { code: "QueueAgentRetriableError", inner: [reason] });
}
