/** The names of queues and consumers: what a rich path says, and what is stored. */
import { Attributed, bare, mapOf, type YsonValue, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import { normalizeClusterName } from "../clusters/index.ts";

/** A queue or a consumer by cluster and absolute path; the form that registrations and offsets store. */
export interface Reference {
  readonly cluster: string;
  readonly path: string;
}

/** A consumer; with a name, one of several that share a table. */
export interface ConsumerReference extends Reference {
  readonly name?: string;
}

/** A consumer of the table; the only one without a name. */
export function consumerOf(table: Reference, name: string | undefined): ConsumerReference {
  return name === undefined ? table : { ...table, name };
}

/** As a rich path, in answers and in requests to other clusters. */
export function referenceToYson({ cluster, path, name }: ConsumerReference): YsonValue {
  return new Attributed(mapOf({ cluster, queue_consumer_name: name }), path);
}

/** `pythia://tmp/q`. */
export function formatReference(reference: ConsumerReference): string {
  const text = `${reference.cluster}:${reference.path}`;
  return reference.name === undefined
    ? text
    : `<queue_consumer_name=${JSON.stringify(reference.name)}>${text}`;
}

export function clusterOf(path: RichPath): string | undefined {
  const cluster = path.attributes.get("cluster");
  return typeof cluster === "string" && cluster !== "" ? normalizeClusterName(cluster) : undefined;
}

/** The attribute that tells consumers of one table apart. @throws YtError when it is no text */
export function consumerNameOf(path: RichPath): string | undefined {
  const name = bare(path.attributes.get("queue_consumer_name") ?? null);
  if (name === null) {
    return undefined;
  }
  if (typeof name !== "string" || name === "") {
    throw new YtError(`Attribute "queue_consumer_name" of path ${path.path} must be a non-empty string`);
  }
  return name;
}
