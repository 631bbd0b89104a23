/**
 * Parameters of sinks with the rules between them.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/spec.cpp, spec.h. The texts about routing are our own: those
 * of the real system are not known.
 */
import { type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import { onCluster } from "./parameter-types.ts";
import {
  asyncSinkDynamicParameters,
  asyncSinkParameters,
  multiClusterSinkParameters,
  type ParsedParameters,
  parseParameters,
  syncSinkDynamicParameters,
  syncSinkParameters,
} from "./parameters.ts";
import type { TabletIndexExpression } from "./tablet-router.ts";

export type SyncSinkSettings = ParsedParameters<typeof syncSinkParameters>;
export type AsyncSinkSettings = ParsedParameters<typeof asyncSinkParameters>;
export type AsyncSinkDynamicSettings = ParsedParameters<typeof asyncSinkDynamicParameters>;
export type SinkDynamicSettings = ParsedParameters<typeof syncSinkDynamicParameters>;

/** A queue with the producer for it. */
export interface AsyncTarget {
  readonly queue: ClusterPath;
  readonly producer: ClusterPath;
}

type Routing = Pick<
  SyncSinkSettings,
  | "tabletIndexExpression"
  | "tabletIndexRoutingHashExpression"
  | "tabletIndexRoutingHashPolicy"
  | "tabletCount"
>;

/** @throws YtError 1 with the rule that is broken */
export function parseSyncSink(parameters: YsonValue): SyncSinkSettings {
  const settings = parseParameters(
    syncSinkParameters,
    parameters,
    "parameters of the synchronous queue sink",
  );
  checkRouting(settings);
  return settings;
}

/** @throws YtError 1 with the rule that is broken */
export function parseAsyncSink(parameters: YsonValue): AsyncSinkSettings {
  const settings = parseParameters(
    asyncSinkParameters,
    parameters,
    "parameters of the asynchronous queue sink",
  );
  refuseRouting(settings);
  targetOf(settings);
  return settings;
}

/** @returns the settings and the clusters to write to, in order. @throws YtError 1 with the rule that is broken */
export function parseMultiClusterSink(parameters: YsonValue): {
  readonly settings: AsyncSinkSettings;
  readonly targets: readonly AsyncTarget[];
} {
  const settings = parseParameters(
    multiClusterSinkParameters,
    parameters,
    "parameters of the asynchronous queue sink of several clusters",
  );
  refuseRouting(settings);
  if (!settings.useClusters) {
    return { settings, targets: [targetOf(settings)] };
  }
  const { queuePath, producerPath } = settings;
  const own = new Set(queuePath.clusters);
  const others = new Set(producerPath.clusters);
  if (own.size === 0 || own.size !== others.size || [...own].some((name) => !others.has(name))) {
    throw new YtError("QueuePath and ProducerPath should have same set of clusters");
  }
  const targets = [...own].map((cluster) => ({
    queue: { cluster, path: queuePath.path },
    producer: { cluster, path: producerPath.path },
  }));
  return { settings, targets };
}

/** @throws YtError 1 naming the parameter */
export function parseAsyncDynamic(parameters: YsonValue): AsyncSinkDynamicSettings {
  return parseParameters(asyncSinkDynamicParameters, parameters, "dynamic parameters of the queue sink");
}

/** @throws YtError 1 naming the parameter */
export function parseSinkDynamic(parameters: YsonMap | YsonValue): SinkDynamicSettings {
  return parseParameters(syncSinkDynamicParameters, parameters, "dynamic parameters of the queue sink");
}

/** @throws YtError 1 when one of the paths has no cluster, or they have different ones */
export function targetOf({ queuePath, producerPath }: AsyncSinkSettings): AsyncTarget {
  const queue = onCluster(queuePath, "QueuePath should have cluster");
  const producer = onCluster(producerPath, "ProducerPath should have cluster");
  if (queue.cluster !== producer.cluster) {
    throw new YtError("ProducerPath and QueuePath should have the same cluster");
  }
  return { queue, producer };
}

/** A synchronous sink writes in the pipeline's transaction. @throws YtError 1 for a queue on another cluster */
export function syncSinkQueue({ queuePath }: SyncSinkSettings, pipelineCluster: string): ClusterPath {
  const { cluster = pipelineCluster, path } = queuePath;
  if (cluster !== pipelineCluster) {
    throw new YtError(
      `A synchronous queue sink writes in the transaction of the pipeline, so its queue must be on the pipeline's cluster "${pipelineCluster}", but it is on "${cluster}"; use an asynchronous queue sink for it`,
    );
  }
  return { cluster, path };
}

/** The expression that messages are routed by, if any. */
export function routingOf(settings: Routing): TabletIndexExpression | undefined {
  const { tabletIndexExpression, tabletIndexRoutingHashExpression, tabletIndexRoutingHashPolicy } = settings;
  if (tabletIndexExpression !== undefined) {
    return { text: tabletIndexExpression, policy: undefined };
  }
  return tabletIndexRoutingHashExpression === undefined
    ? undefined
    : { text: tabletIndexRoutingHashExpression, policy: tabletIndexRoutingHashPolicy };
}

function checkRouting(settings: Routing): void {
  const hash = settings.tabletIndexRoutingHashExpression;
  const policy = settings.tabletIndexRoutingHashPolicy;
  if (settings.tabletIndexExpression !== undefined && hash !== undefined) {
    throw new YtError(
      '"tablet_index_expression" and "tablet_index_routing_hash_expression" are mutually exclusive',
    );
  }
  if (hash !== undefined && policy === undefined) {
    throw new YtError(
      '"tablet_index_routing_hash_policy" is required with "tablet_index_routing_hash_expression"',
    );
  }
  const alone = policy !== undefined ? "tablet_index_routing_hash_policy" : "tablet_count";
  if (hash === undefined && (policy !== undefined || settings.tabletCount !== undefined)) {
    throw new YtError(`"${alone}" requires "tablet_index_routing_hash_expression"`);
  }
}

function refuseRouting(settings: Routing): void {
  const given = [
    settings.tabletIndexExpression,
    settings.tabletIndexRoutingHashExpression,
    settings.tabletIndexRoutingHashPolicy,
    settings.tabletCount,
  ];
  if (given.some((value) => value !== undefined)) {
    throw new YtError("Tablet routing is not supported for async queue sinks (YTFLOW-766)");
  }
}
