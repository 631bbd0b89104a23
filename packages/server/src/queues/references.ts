/**
 * References to queues and consumers: which cluster and which real path a rich path means.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager_base.cpp. Links are always resolved, as
 * the integration tests of the real system expect.
 */
import { bare, emptyMap, isMap, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import type { RichPath } from "@qyt/yson";
import { isUnanswered } from "../clusters/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";
import {
  type ConsumerReference,
  clusterOf,
  consumerNameOf,
  consumerOf,
  type Reference,
} from "./reference.ts";

/** `resolveReference` for the path of a consumer. */
export async function resolveConsumer(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  mode: "strict" | "lenient",
): Promise<ConsumerReference> {
  const name = consumerNameOf(path);
  const reference = await resolveReference(services, context, path, mode);
  return consumerOf(reference, name);
}

/**
 * The stored reference of a path. The table is looked for on the cluster of the path if that cluster is
 * known, otherwise here; links lead to the real table. Needs no right on the table.
 * `strict`: a table that cannot be found is an error. Otherwise the text is taken as it is.
 */
export async function resolveReference(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  mode: "strict" | "lenient",
): Promise<Reference> {
  const cluster = clusterOf(path);
  let realPath = path.path;
  try {
    realPath = await realPathOf(services, context, cluster, path.path);
  } catch (thrown) {
    const error = toYtError(thrown);
    if (mode === "strict") {
      throw new YtError(
        `Failed to get table mount info to perform registration manager resolutions for object "${path.path}"${unansweredBy(cluster, error)}`,
        {
          code: error.code,
          inner: [error],
          attributes: { path: path.path, cluster: cluster ?? services.clusterName },
        },
      );
    }
    if (!isMissingTable(error)) {
      throw error;
    }
  }
  if (isServedHere(services, cluster)) {
    realPath = replicatedPathOf(services, context, realPath, mode);
  }
  return { cluster: cluster ?? services.clusterName, path: realPath };
}

/**
 * A replica stands for the replicated table that it belongs to. Replicas are on the cluster of that table.
 * @throws YtError for a replica of a table that is not known
 */
function replicatedPathOf(
  { tables }: QueueServices,
  context: QueueContext,
  path: string,
  mode: "strict" | "lenient",
): string {
  let state: { readonly upstreamReplicaId?: string };
  try {
    ({ state } = tables.find({ user: context.user }, path).node);
  } catch {
    // Taken as it is, see above.
    return path;
  }
  const log = tables.replication.logOfReplica(state);
  if (log !== undefined || state.upstreamReplicaId === undefined) {
    return log?.table.path ?? path;
  }
  if (mode === "lenient") {
    return path;
  }
  throw new YtError(
    `Cannot perform request for replica "${path}" with unknown [chaos_]replicated_table: its replica object is gone; set upstream_replica_id of the table to "0-0-0-0" with alter_table to use it as a queue or consumer of its own`,
    { attributes: { path, upstream_replica_id: state.upstreamReplicaId } },
  );
}

/** For the end of a message: nobody should have to look for the cluster in inner errors. */
export function unansweredBy(cluster: string | undefined, error: YtError): string {
  return cluster !== undefined && isUnanswered(error) ? `: cluster "${cluster}" did not answer` : "";
}

function isMissingTable(error: YtError): boolean {
  return error.has("ResolveError") || error.has("InvalidObjectType");
}

/** Whether the table is looked for on this cluster: also when the named cluster is not known. */
export function isServedHere(services: QueueServices, cluster: string | undefined): boolean {
  return cluster === undefined || services.clusters.isLocal(cluster) || !services.clusters.isKnown(cluster);
}

async function realPathOf(
  services: QueueServices,
  context: QueueContext,
  cluster: string | undefined,
  path: string,
): Promise<string> {
  if (isServedHere(services, cluster) || cluster === undefined) {
    return services.tables.find({ user: context.user }, path).path;
  }
  const { clusters } = services;
  // Where a link leads is told without a right on its target, here and there.
  const real = clusters.isAuthenticated
    ? await clusters.call(cluster, context.user, context, (client, options) =>
        realPathFrom(client, path, options),
      )
    : await clusters.call(cluster, "root", context, (client, options) =>
        client.get(`${path}/@path`, options),
      );
  if (typeof real !== "string") {
    throw new YtError(`Cluster "${cluster}" did not name the path of ${path}`);
  }
  return real;
}

async function realPathFrom(client: YtClient, path: string, options: CommandOptions): Promise<YsonValue> {
  const answer = await client.execute("exists", { path, return_path: true }, { ...options, method: "GET" });
  const fields = isMap(answer) ? answer : emptyMap;
  if (fields.get("value") === false) {
    throw new YtError(`Node ${path} does not exist`, { code: "ResolveError" });
  }
  return bare(fields.get("path") ?? null);
}

/** Refuses a queue on a cluster that this one does not know. */
export function requireKnownCluster(services: QueueServices, cluster: string, path: RichPath): void {
  if (!services.clusters.isKnown(cluster)) {
    throw new YtError(`Queue cluster "${cluster}" was not found for path ${path.path}`, {
      attributes: { cluster, path: path.path },
    });
  }
}

/**
 * Refuses a path on another cluster where a command only works here. The real system takes the table of
 * the same path on this cluster then, and says nothing.
 * @param instead what to do
 */
export function requireLocalCluster(services: QueueServices, path: RichPath, instead: string): void {
  const cluster = clusterOf(path);
  if (!services.clusters.isLocal(cluster)) {
    throw new YtError(
      `Path ${path.path} names cluster "${cluster}", but this command works on cluster "${services.clusterName}" only; ${instead}`,
      { attributes: { path: path.path, cluster, local_cluster: services.clusterName } },
    );
  }
}
