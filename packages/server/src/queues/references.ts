/**
 * References to queues and consumers: which cluster and which real path a rich path means.
 *
 * Specified in: yt/yt/ytlib/queue_client/registration_manager_base.cpp. Links are always resolved, as
 * the integration tests of the real system expect.
 */
import { toYtError, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import { normalizeClusterName, onCluster } from "../clusters/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";

/** A queue or a consumer by cluster and absolute path; the form that registrations and offsets store. */
export interface Reference {
  readonly cluster: string;
  readonly path: string;
}

/** `pythia://tmp/q`. */
export function formatReference(reference: Reference): string {
  return `${reference.cluster}:${reference.path}`;
}

export function clusterOf(path: RichPath): string | undefined {
  const cluster = path.attributes.get("cluster");
  return typeof cluster === "string" && cluster !== "" ? normalizeClusterName(cluster) : undefined;
}

/**
 * The stored reference of a path. The table is looked for on the cluster of the path if that cluster is
 * known, otherwise here; links lead to the real table.
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
        `Failed to get table mount info to perform registration manager resolutions for object "${path.path}"`,
        { code: error.code, inner: [error], attributes: { path: path.path, cluster: cluster ?? services.clusterName } },
      );
    }
    if (!error.has("ResolveError")) {
      throw error;
    }
  }
  return { cluster: cluster ?? services.clusterName, path: realPath };
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
  const client = services.clusters.client(cluster, context.user);
  if (client === undefined) {
    return services.tables.find({ user: context.user }, path).path;
  }
  const real = await onCluster(cluster, () => client.get(`${path}/@path`));
  if (typeof real !== "string") {
    throw new YtError(`Cluster "${cluster}" did not name the path of ${path}`);
  }
  return real;
}

/** Refuses a queue on a cluster that this one does not know. */
export function requireKnownCluster(services: QueueServices, cluster: string, path: RichPath): void {
  if (!services.clusters.isKnown(cluster)) {
    throw new YtError(`Queue cluster "${cluster}" was not found for path ${path.path}`, {
      attributes: { cluster, path: path.path },
    });
  }
}
