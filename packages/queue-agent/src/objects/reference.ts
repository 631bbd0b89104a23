/**
 * Cross-cluster references of queues and consumers. The string form `<cluster>:<path>` is the key of
 * statuses, of the Orchid and of the mapping table.
 *
 * Specified in: yt/yt/client/queue_client/common.h (TCrossClusterReference).
 */
import { YtError } from "@qyt/base";

export interface ObjectReference {
  readonly cluster: string;
  /** The path without attributes, starting with `//`. */
  readonly path: string;
}

export function referenceToString(reference: ObjectReference): string {
  return `${reference.cluster}:${reference.path}`;
}

/** @throws YtError when there is no `:` with a cluster before it */
export function parseReference(text: string): ObjectReference {
  const colon = text.indexOf(":");
  if (colon <= 0) {
    throw new YtError(`"${text}" is not a reference of the form "<cluster>:<path>"`);
  }
  return { cluster: text.slice(0, colon), path: text.slice(colon + 1) };
}
