/**
 * Objects that have an id and no place in the tree (transactions, locks, chunks, chunk lists), dressed as nodes,
 * so that `#<id>/@title` goes the way of everything else. Nobody stores or creates them as nodes.
 */
import { emptyMap, YtError } from "@qyt/base";
import type { Ace } from "../access/index.ts";
import type { Node } from "./node.ts";
import type { BuiltinAttribute, NodeType } from "./node-type.ts";

export interface UnstoredObject<State> {
  readonly id: string;
  readonly type: string;
  /** Of all times that a node has; microseconds since the epoch. */
  readonly timeUs: number;
  readonly owner?: string;
  /** Default: who has the id may read. */
  readonly acl?: readonly Ace[];
  readonly attributes?: Node["attributes"];
  readonly state: State;
}

const readableAcl: readonly Ace[] = [
  {
    action: "allow",
    subjects: ["users"],
    permissions: ["read"],
    inheritanceMode: "object_and_descendants",
  },
];

export function objectNode<State>(object: UnstoredObject<State>): Node<State> {
  const { id, type, timeUs, owner = "root", acl = readableAcl, attributes = emptyMap, state } = object;
  return {
    id,
    type,
    creationTimeUs: timeUs,
    modificationTimeUs: timeUs,
    accessTimeUs: timeUs,
    accessCounter: 0,
    attributeRevision: 0n,
    contentRevision: 0n,
    account: "sys",
    owner,
    acl,
    inheritAcl: false,
    attributes,
    state,
  };
}

export interface UnstoredType<State> {
  readonly name: string;
  /** The type's number in object ids. */
  readonly objectType: number;
  readonly attributes: ReadonlyMap<string, BuiltinAttribute<State>>;
  readonly describe: (node: Node<State>) => string;
  /** Begins the error's text for whoever would store one: "Chunks". */
  readonly plural?: string;
}

export function unstoredType<State>(type: UnstoredType<State>): NodeType<State> {
  const { name, objectType, attributes, describe, plural = "Objects of this type" } = type;
  const notStored = (): never => {
    throw new YtError(`${plural} are not stored as nodes`);
  };
  return {
    name,
    objectType,
    content: "entity",
    isObject: true,
    attributes,
    encodeState: notStored,
    decodeState: notStored,
    create: notStored,
    describe,
  };
}
