/**
 * A node of the tree, as an immutable record: a change makes a new record with the same id.
 *
 * Everything addressable has this shape. Users, groups, accounts, bundles and cells are nodes of the
 * maps under `//sys`; transactions and locks are shown as nodes too (see `transaction-objects.ts`).
 * Children are not part of it: they are records of their own, keyed (parent id, name).
 */
import type { YsonMap, YsonValue } from "@qyt/base";
import type { Ace } from "../access/ace.ts";

/** Times are microseconds since the Unix epoch (below 2^53). */
export interface Node<State = unknown> {
  readonly id: string;
  /** Name of the node type, "map_node". */
  readonly type: string;
  /** Absent for the root and for objects outside of the tree. */
  readonly parentId?: string;
  /** Name in the parent. */
  readonly key?: string;
  readonly creationTimeUs: number;
  readonly modificationTimeUs: number;
  readonly accessTimeUs: number;
  readonly accessCounter: number;
  readonly attributeRevision: bigint;
  readonly contentRevision: bigint;
  readonly account: string;
  /** Name of a subject. */
  readonly owner: string;
  readonly acl: readonly Ace[];
  readonly inheritAcl: boolean;
  /** User attributes only. */
  readonly attributes: YsonMap;
  readonly opaque?: boolean;
  readonly annotation?: YsonValue;
  readonly expirationTimeUs?: number;
  readonly expirationTimeoutMs?: number;
  /** Last access that counts for `expirationTimeoutMs`; kept while that is set. */
  readonly touchTimeUs?: number;
  /** What the type keeps; replaced as a whole. */
  readonly state: State;
}

/**
 * A change of one node. A field that is absent stays; `null` removes an optional one.
 * `attributes` holds only the user attributes that change: a value sets, `undefined` removes.
 */
export interface NodePatch<State = unknown> {
  readonly creationTimeUs?: number;
  readonly account?: string;
  readonly owner?: string;
  readonly acl?: readonly Ace[];
  readonly inheritAcl?: boolean;
  readonly attributes?: ReadonlyMap<string, YsonValue | undefined>;
  readonly opaque?: boolean | null;
  readonly annotation?: YsonValue | undefined;
  readonly removeAnnotation?: boolean;
  readonly expirationTimeUs?: number | null;
  readonly expirationTimeoutMs?: number | null;
  readonly touchTimeUs?: number | null;
  readonly state?: State;
}

/** `revision`: the larger of the two. */
export function revisionOf({ attributeRevision, contentRevision }: Node): bigint {
  // Math.max is for numbers only.
  const attributesAreNewer = attributeRevision > contentRevision;
  return attributesAreNewer ? attributeRevision : contentRevision;
}
