/**
 * Records of the tree as YSON. The forms are on disk: fields may be added, never given another meaning.
 */
import {
  assert,
  bare,
  emptyMap,
  isList,
  isMap,
  mapOf,
  Uint64,
  type YsonMap,
  type YsonValue,
} from "@qyt/base";
import { type Ace, aclToYson, parseAcl } from "../access/index.ts";
import type { Node } from "./node.ts";
import type { NodeTypes } from "./node-type.ts";
import type { Branch, LockMode, LockRecord, StoredPatch, TransactionRecord } from "./state.ts";

function map(value: YsonValue | undefined): YsonMap {
  const plain = bare(value ?? new Map());
  assert(isMap(plain), "stored record is a map");
  return plain;
}

function text(value: YsonValue | undefined): string {
  assert(typeof value === "string", "stored field is a string");
  return value;
}

function integer(value: YsonValue | undefined): number {
  assert(typeof value === "bigint", "stored field is an integer");
  return Number(value);
}

function revision(value: YsonValue | undefined): bigint {
  assert(value instanceof Uint64, "stored field is a revision");
  return value.value;
}

function list(value: YsonValue | undefined): readonly YsonValue[] {
  const plain = bare(value ?? []);
  assert(isList(plain), "stored field is a list");
  return plain;
}

const int = (value: number | undefined): bigint | undefined =>
  value === undefined ? undefined : BigInt(value);

const noAces: readonly Ace[] = [];

/** Names in stored entries were checked when they were set. */
function storedAcl(value: YsonValue | undefined): readonly Ace[] {
  return value === undefined ? noAces : parseAcl(value, (name) => name);
}

/** An optional field: a list with the value, an empty list for "removed". */
function optionalField<T>(
  value: T | null | undefined,
  encode: (value: T) => YsonValue,
): YsonValue | undefined {
  return value === undefined ? undefined : value === null ? [] : [encode(value)];
}

function readOptional<T>(
  value: YsonValue | undefined,
  decode: (value: YsonValue) => T,
): T | null | undefined {
  if (value === undefined) {
    return undefined;
  }
  const [item] = list(value);
  return item === undefined ? null : decode(item);
}

/** Fields with what was there; those that are `undefined` are left out. */
function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

export function encodeNode(node: Node, types: NodeTypes): YsonMap {
  return mapOf({
    id: node.id,
    type: node.type,
    parent_id: node.parentId,
    key: node.key,
    creation_time: BigInt(node.creationTimeUs),
    modification_time: BigInt(node.modificationTimeUs),
    access_time: BigInt(node.accessTimeUs),
    access_counter: BigInt(node.accessCounter),
    attribute_revision: new Uint64(node.attributeRevision),
    content_revision: new Uint64(node.contentRevision),
    account: node.account,
    owner: node.owner,
    acl: node.acl.length === 0 ? undefined : aclToYson(node.acl),
    inherit_acl: node.inheritAcl,
    attributes: node.attributes.size === 0 ? undefined : node.attributes,
    opaque: node.opaque,
    annotation: node.annotation === undefined ? undefined : [node.annotation],
    expiration_time: int(node.expirationTimeUs),
    expiration_timeout: int(node.expirationTimeoutMs),
    touch_time: int(node.touchTimeUs),
    state: types.get(node.type).encodeState(node.state),
  });
}

/** A start decodes all nodes there are: it makes as little as possible for each. */
export function decodeNode(value: YsonValue, types: NodeTypes): Node {
  const fields = map(value);
  const type = text(fields.get("type"));
  const annotations = fields.get("annotation");
  const annotation = annotations === undefined ? undefined : list(annotations)[0];
  const attributes = fields.get("attributes");
  const expirationTime = fields.get("expiration_time");
  const expirationTimeout = fields.get("expiration_timeout");
  const touchTime = fields.get("touch_time");
  const parentId = fields.get("parent_id");
  const key = fields.get("key");
  const opaque = fields.get("opaque");
  return {
    id: text(fields.get("id")),
    type,
    ...(parentId === undefined ? {} : { parentId: text(parentId) }),
    ...(key === undefined ? {} : { key: text(key) }),
    creationTimeUs: integer(fields.get("creation_time")),
    modificationTimeUs: integer(fields.get("modification_time")),
    accessTimeUs: integer(fields.get("access_time")),
    accessCounter: integer(fields.get("access_counter")),
    attributeRevision: revision(fields.get("attribute_revision")),
    contentRevision: revision(fields.get("content_revision")),
    account: text(fields.get("account")),
    owner: text(fields.get("owner")),
    acl: storedAcl(fields.get("acl")),
    inheritAcl: fields.get("inherit_acl") === true,
    attributes: attributes === undefined ? emptyMap : map(attributes),
    ...(opaque === undefined ? {} : { opaque: opaque === true }),
    ...(annotation === undefined ? {} : { annotation }),
    ...(expirationTime === undefined ? {} : { expirationTimeUs: integer(expirationTime) }),
    ...(expirationTimeout === undefined ? {} : { expirationTimeoutMs: integer(expirationTimeout) }),
    ...(touchTime === undefined ? {} : { touchTimeUs: integer(touchTime) }),
    state: types.get(type).decodeState(fields.get("state") ?? null),
  };
}

function encodePatch(patch: StoredPatch, type: string, types: NodeTypes): YsonMap {
  const attributes = [...(patch.attributes ?? [])].map(([name, value]): [string, YsonValue] => [
    name,
    value === undefined ? [] : [value],
  ]);
  return mapOf({
    creation_time: int(patch.creationTimeUs),
    modification_time: int(patch.modificationTimeUs),
    attribute_revision:
      patch.attributeRevision === undefined ? undefined : new Uint64(patch.attributeRevision),
    content_revision: patch.contentRevision === undefined ? undefined : new Uint64(patch.contentRevision),
    account: patch.account,
    owner: patch.owner,
    acl: patch.acl === undefined ? undefined : aclToYson(patch.acl),
    inherit_acl: patch.inheritAcl,
    attributes: attributes.length === 0 ? undefined : new Map(attributes),
    opaque: optionalField(patch.opaque, (value) => value),
    annotation: patch.annotation === undefined ? undefined : [patch.annotation],
    remove_annotation: patch.removeAnnotation,
    expiration_time: optionalField(patch.expirationTimeUs, BigInt),
    expiration_timeout: optionalField(patch.expirationTimeoutMs, BigInt),
    touch_time: optionalField(patch.touchTimeUs, BigInt),
    state: "state" in patch ? [types.get(type).encodeState(patch.state)] : undefined,
  });
}

function decodePatch(value: YsonValue | undefined, type: string, types: NodeTypes): StoredPatch {
  const fields = map(value);
  const optionalInteger = (name: string): number | undefined => {
    const field = fields.get(name);
    return field === undefined ? undefined : integer(field);
  };
  const optionalRevision = (name: string): bigint | undefined => {
    const field = fields.get(name);
    return field === undefined ? undefined : revision(field);
  };
  const optionalText = (name: string): string | undefined => {
    const field = fields.get(name);
    return field === undefined ? undefined : text(field);
  };
  const attributes = fields.get("attributes");
  const state = fields.get("state");
  const [annotation] = list(fields.get("annotation"));
  return {
    ...present({
      creationTimeUs: optionalInteger("creation_time"),
      modificationTimeUs: optionalInteger("modification_time"),
      attributeRevision: optionalRevision("attribute_revision"),
      contentRevision: optionalRevision("content_revision"),
      account: optionalText("account"),
      owner: optionalText("owner"),
      acl: fields.has("acl") ? storedAcl(fields.get("acl")) : undefined,
      inheritAcl: fields.has("inherit_acl") ? fields.get("inherit_acl") === true : undefined,
      opaque: readOptional(fields.get("opaque"), (item) => item === true),
      annotation,
      removeAnnotation: fields.get("remove_annotation") === true ? true : undefined,
      expirationTimeUs: readOptional(fields.get("expiration_time"), integer),
      expirationTimeoutMs: readOptional(fields.get("expiration_timeout"), integer),
      touchTimeUs: readOptional(fields.get("touch_time"), integer),
    }),
    ...(attributes === undefined
      ? {}
      : {
          attributes: new Map([...map(attributes)].map(([name, item]) => [name, list(item)[0]] as const)),
        }),
    ...(state === undefined ? {} : { state: types.get(type).decodeState(list(state)[0] ?? null) }),
  };
}

/** @param type type of the node that a patch is for */
export function encodeBranch(branch: Branch, type: string, types: NodeTypes): YsonMap {
  switch (branch.kind) {
    case "created":
      return mapOf({ kind: "created", node: encodeNode(branch.node, types) });
    case "changed":
      return mapOf({ kind: "changed", type, patch: encodePatch(branch.patch, type, types) });
    case "snapshot":
      return mapOf({
        kind: "snapshot",
        node: encodeNode(branch.node, types),
        children: new Map(branch.children),
      });
    case "removed":
      return mapOf({ kind: "removed" });
  }
}

export function decodeBranch(value: YsonValue, types: NodeTypes): Branch {
  const fields = map(value);
  const kind = text(fields.get("kind"));
  switch (kind) {
    case "created":
      return { kind, node: decodeNode(fields.get("node") ?? null, types) };
    case "changed":
      return { kind, patch: decodePatch(fields.get("patch"), text(fields.get("type")), types) };
    case "snapshot":
      return {
        kind,
        node: decodeNode(fields.get("node") ?? null, types),
        children: new Map([...map(fields.get("children"))].map(([name, id]) => [name, text(id)])),
      };
    default:
      return { kind: "removed" };
  }
}

export function encodeTransaction(record: TransactionRecord): YsonMap {
  return mapOf({
    id: record.id,
    parent_id: record.parentId,
    start_time: BigInt(record.startTimeUs),
    timeout: BigInt(record.timeoutMs),
    deadline: int(record.deadlineUs),
    owner: record.owner,
    attributes: record.attributes,
    prerequisite_transaction_ids: [...record.prerequisiteTransactionIds],
  });
}

export function decodeTransaction(value: YsonValue): TransactionRecord {
  const fields = map(value);
  const parentId = fields.get("parent_id");
  const deadline = fields.get("deadline");
  return {
    id: text(fields.get("id")),
    ...(parentId === undefined ? {} : { parentId: text(parentId) }),
    startTimeUs: integer(fields.get("start_time")),
    timeoutMs: integer(fields.get("timeout")),
    ...(deadline === undefined ? {} : { deadlineUs: integer(deadline) }),
    owner: text(fields.get("owner")),
    attributes: map(fields.get("attributes")),
    prerequisiteTransactionIds: list(fields.get("prerequisite_transaction_ids")).map(text),
  };
}

export function encodeLock(lock: LockRecord): YsonMap {
  return mapOf({
    id: lock.id,
    node_id: lock.nodeId,
    transaction_id: lock.transactionId,
    mode: lock.mode,
    child_key: lock.childKey,
    attribute_key: lock.attributeKey,
    state: lock.state,
    implicit: lock.implicit,
    creation_time: BigInt(lock.creationTimeUs),
    sequence: new Uint64(lock.sequence),
  });
}

function lockMode(value: string): LockMode {
  assert(value === "snapshot" || value === "shared" || value === "exclusive", "stored lock mode");
  return value;
}

export function decodeLock(value: YsonValue): LockRecord {
  const fields = map(value);
  const childKey = fields.get("child_key");
  const attributeKey = fields.get("attribute_key");
  return {
    id: text(fields.get("id")),
    nodeId: text(fields.get("node_id")),
    transactionId: text(fields.get("transaction_id")),
    mode: lockMode(text(fields.get("mode"))),
    ...(childKey === undefined ? {} : { childKey: text(childKey) }),
    ...(attributeKey === undefined ? {} : { attributeKey: text(attributeKey) }),
    state: fields.get("state") === "pending" ? "pending" : "acquired",
    implicit: fields.get("implicit") === true,
    creationTimeUs: integer(fields.get("creation_time")),
    sequence: revision(fields.get("sequence")),
  };
}
