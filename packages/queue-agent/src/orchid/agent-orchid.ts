/**
 * The Orchid of one agent: what its parts know, as one tree.
 *
 * Specified in: yt/yt/server/queue_agent/bootstrap.cpp, queue_agent.cpp (GetOrchidNode).
 */
import type { YsonValue } from "@qyt/base";
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { AgentContext } from "../context.ts";
import type { AgentPass } from "../controllers/agent-pass.ts";
import { controllerInfo } from "../controllers/controller-info.ts";
import { objectMapNode } from "./object-map-node.ts";
import type { OrchidAsker } from "./orchid-client.ts";
import { mapNode, type OrchidNode, valueNode } from "./orchid-node.ts";

export interface AgentOrchidParts {
  readonly pass: AgentPass;
  /** Of the process. */
  readonly alerts: AlertManager;
  /** `active`, `pass_instant`, `pass_index`, `pass_error`. */
  readonly shardingManager: { orchid(): YsonValue };
  readonly synchronizer: { orchid(): YsonValue };
  readonly others: OrchidAsker;
  /** The static configuration, where it may be shown. */
  readonly config?: () => YsonValue;
  /** `effective_config`, `error` and `unrecognized_options` of the dynamic one, likewise. */
  readonly dynamicConfig?: () => YsonValue;
}

export function agentOrchid(context: AgentContext, parts: AgentOrchidParts): OrchidNode {
  const { pass, alerts, shardingManager, synchronizer, others } = parts;
  const proxying = {
    client: others,
    timeoutMs: () => context.config().agent.queueAgentChannelRequestTimeoutMs,
  };
  const { agentId } = context;
  const handlesReplicated = (): boolean => context.config().agent.handleReplicatedObjects;
  const common = { pass, agentId, handlesReplicated };
  const status = (field: string): OrchidNode => valueNode(() => pass.poll.status.orchid().get(field) ?? null);
  return mapNode({
    config: parts.config === undefined ? undefined : valueNode(parts.config),
    dynamic_config_manager: parts.dynamicConfig === undefined ? undefined : valueNode(parts.dynamicConfig),
    alerts: valueNode(() => alerts.alerts()),
    queue_agent_sharding_manager: valueNode(() => shardingManager.orchid()),
    cypress_synchronizer: valueNode(() => synchronizer.orchid()),
    queue_agent: mapNode({
      pass_instant: status("pass_instant"),
      pass_index: status("pass_index"),
      pass_error: status("pass_error"),
      // Of this project, in milliseconds: how long the passes of all controllers together took.
      controller_pass_duration: valueNode(() => {
        const durationMs = pass.controllerPassDurationMs;
        return durationMs === null ? null : BigInt(Math.round(durationMs));
      }),
      queues: objectMapNode({ ...common, kind: "queues", others: proxying }),
      consumers: objectMapNode({ ...common, kind: "consumers", others: proxying }),
      multi_consumers: objectMapNode({ ...common, kind: "multi_consumers", others: proxying }),
      owned_queues: objectMapNode({ ...common, kind: "queues", others: undefined }),
      owned_consumers: objectMapNode({ ...common, kind: "consumers", others: undefined }),
      owned_multi_consumers: objectMapNode({ ...common, kind: "multi_consumers", others: undefined }),
      controller_info: valueNode(() =>
        controllerInfo(pass.registry, context.config().agent.inactiveObjectDisplayLimit),
      ),
    }),
  });
}
