/**
 * What a pass of the synchronizer has to do: which objects to fetch, which rows to delete. Pure: from the
 * rows of the state and what the clusters said.
 *
 * Specified in: yt/yt/server/queue_agent/cypress_synchronizer.cpp (both policies).
 */
import type { YtError } from "@qyt/base";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, DynamicState, QueueRow, StateRow } from "../objects/state-rows.ts";

type ObjectKind = StateRow["kind"];
export type ObjectRows = Pick<DynamicState, "queues" | "consumers">;

/** An object as a pass names it: one path may be a queue now and have been a consumer before. */
export interface SyncObject {
  readonly kind: ObjectKind;
  readonly reference: ObjectReference;
}

/** `@queue_agent_object_revisions` of one cluster: revisions by path. */
export interface ObjectRevisions {
  readonly queue: ReadonlyMap<string, bigint>;
  readonly consumer: ReadonlyMap<string, bigint>;
}

export interface SyncPlan {
  readonly fetch: readonly SyncObject[];
  readonly remove: readonly SyncObject[];
  /** Objects whose revision could not be had, and why. */
  readonly failed: readonly (SyncObject & { readonly error: YtError })[];
}

const kinds = ["queue", "consumer"] as const;

function rowsOf(rows: ObjectRows, kind: ObjectKind): ReadonlyMap<string, QueueRow | ConsumerRow> {
  return kind === "queue" ? rows.queues : rows.consumers;
}

/** Whether the stored row is older than the object. */
function isOutdated(row: QueueRow | ConsumerRow | undefined, revision: bigint): boolean {
  return row === undefined || row.revision === null || row.revision < revision;
}

/**
 * The watching policy: the clusters list their objects. Rows of clusters that did not answer, or are not
 * watched, stay as they are.
 */
export function planWatching(rows: ObjectRows, revisions: ReadonlyMap<string, ObjectRevisions>): SyncPlan {
  const fetch: SyncObject[] = [];
  const remove: SyncObject[] = [];
  for (const kind of kinds) {
    const stored = rowsOf(rows, kind);
    for (const [cluster, listed] of revisions) {
      for (const [path, revision] of listed[kind]) {
        const reference = { cluster, path };
        if (isOutdated(stored.get(referenceToString(reference)), revision)) {
          fetch.push({ kind, reference });
        }
      }
    }
    for (const { reference } of stored.values()) {
      if (revisions.get(reference.cluster)?.[kind].has(reference.path) === false) {
        remove.push({ kind, reference });
      }
    }
  }
  return { fetch, remove, failed: [] };
}

/**
 * The polling policy: each row's object was asked for its revision. Nothing is found, nothing is deleted.
 * @param revisions in the order of `pollingObjects`; `undefined` where the cluster did not answer
 */
export function planPolling(
  rows: ObjectRows,
  objects: readonly SyncObject[],
  revisions: readonly (bigint | YtError | undefined)[],
): SyncPlan {
  const fetch: SyncObject[] = [];
  const failed: (SyncObject & { readonly error: YtError })[] = [];
  for (const [index, object] of objects.entries()) {
    const revision = revisions[index];
    if (typeof revision === "bigint") {
      const row = rowsOf(rows, object.kind).get(referenceToString(object.reference));
      if (isOutdated(row, revision)) {
        fetch.push(object);
      }
    } else if (revision !== undefined) {
      failed.push({ ...object, error: revision });
    }
  }
  return { fetch, remove: [], failed };
}

/** All objects of the state, in the order in which they are asked for. */
export function pollingObjects(rows: ObjectRows): readonly SyncObject[] {
  return kinds.flatMap((kind) =>
    [...rowsOf(rows, kind).values()].map(({ reference }) => ({ kind, reference })),
  );
}

/** References that stand in both tables. */
export function conflictingReferences({ queues, consumers }: ObjectRows): readonly ObjectReference[] {
  return [...queues].flatMap(([key, row]) => (consumers.has(key) ? [row.reference] : []));
}

/** The revision of the row's next version. */
export function nextRowRevision(rows: ObjectRows, { kind, reference }: SyncObject): bigint {
  return (rowsOf(rows, kind).get(referenceToString(reference))?.rowRevision ?? 0n) + 1n;
}

/** Whether writing an erroneous row would only say again what the stored one says. */
export function isSameFailure(rows: ObjectRows, object: SyncObject, error: YtError): boolean {
  const row = rowsOf(rows, object.kind).get(referenceToString(object.reference));
  const stored = row?.synchronizationError;
  return (
    row !== undefined &&
    row.revision === null &&
    stored?.code === error.code &&
    stored.message === error.message
  );
}
