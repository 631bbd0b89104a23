/**
 * What clusters tell of a queue's partition: its ends, and the consumer's offset.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/source.cpp, sync_replica.cpp.
 */
import { attributesOf, bare, isMap, type YsonValue, YtError } from "@qyt/base";
import type { CallOptions, ClusterPath, TabletInfo } from "../../cluster/flow-cluster.ts";
import type { ConnectorContext } from "../connector.ts";

/**
 * The rows that a partition has. Of a replicated queue an enabled synchronous replica is asked: its log is trimmed
 * by itself when the replicas have all.
 * @throws YtError `No enabled synchronous queue replica found for replicated queue %v`
 */
export async function readPartitionEnds(
  { clusters }: Pick<ConnectorContext, "clusters">,
  queue: ClusterPath,
  partitionIndex: number,
  options: CallOptions,
): Promise<TabletInfo> {
  const home = clusters.cluster(queue.cluster);
  const node = await home.get(queue.path, { attributes: ["type", "replicas"], ...options });
  const attributes = attributesOf(node);
  if (bare(attributes.get("type") ?? null) !== "replicated_table") {
    return await home.getTabletInfo(queue.path, partitionIndex, options);
  }
  const replica = findSyncReplica(attributes.get("replicas"));
  if (replica === undefined) {
    throw new YtError(`No enabled synchronous queue replica found for replicated queue ${queue.path}`);
  }
  return await clusters.cluster(replica.cluster).getTabletInfo(replica.path, partitionIndex, options);
}

function findSyncReplica(replicas: YsonValue | undefined): ClusterPath | undefined {
  const known = bare(replicas ?? null);
  for (const value of isMap(known) ? known.values() : []) {
    const replica = bare(value);
    if (isMap(replica) && replica.get("mode") === "sync" && replica.get("state") === "enabled") {
      const [cluster, path] = [replica.get("cluster_name"), replica.get("replica_path")];
      if (typeof cluster === "string" && typeof path === "string") {
        return { cluster, path };
      }
    }
  }
  return undefined;
}
