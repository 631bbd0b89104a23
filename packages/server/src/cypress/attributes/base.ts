/**
 * Attributes that every object has, and those that every node of the tree has.
 * Specified in: yt/yt/server/master/object_server/object_proxy.cpp,
 * yt/yt/server/master/cypress_server/node_proxy_detail.cpp.
 */
import { type BareYsonValue, Uint64, type YsonValue, YtError } from "@qyt/base";
import { aclToYson, parseAcl, permissionNames } from "../../access/index.ts";
import { acquiredLocks } from "../locks.ts";
import { type Node, revisionOf } from "../node.ts";
import type { BuiltinAttribute, Draft, View } from "../node-type.ts";
import { addUsage, resourceMap } from "../types/accounts.ts";
import { lockToYson } from "../types/transaction-types.ts";
import { isListed } from "./presence.ts";
import { formatTimeUs, parseBoolean, parseDurationMs, parseString, parseTimeUs } from "./values.ts";

type Attributes = [string, BuiltinAttribute][];

function builtinKeys(view: View, node: Node, wanted: (attribute: BuiltinAttribute) => boolean): string[] {
  return [...view.types.attributesOf(node.type)].flatMap(([name, attribute]) =>
    wanted(attribute) && isListed(attribute, node, view) ? [name] : [],
  );
}

const listings: Attributes = [
  ["user_attribute_keys", { opaque: true, get: (node) => [...node.attributes.keys()] }],
  ["user_attributes", { opaque: true, get: (node) => node.attributes }],
  ["builtin_attribute_keys", { opaque: true, get: (node, view) => builtinKeys(view, node, () => true) }],
  [
    "opaque_attribute_keys",
    { opaque: true, get: (node, view) => builtinKeys(view, node, (attribute) => attribute.opaque === true) },
  ],
];

const wellKnownIdPattern = /^ffffffff-/;

/** Of every object. */
export const objectAttributes: Attributes = [
  ["id", { get: (node) => node.id }],
  ["type", { get: (node) => node.type }],
  ["builtin", { get: (node) => wellKnownIdPattern.test(node.id) }],
  ["ref_counter", { get: () => 1n }],
  ["supported_permissions", { get: () => [...permissionNames] }],
  ["life_stage", { get: () => "creation_committed" }],
  ["effective_acl", { opaque: true, get: (node, view) => aclToYson(view.effectiveAcl(node)) }],
  [
    "acl",
    {
      get: (node) => aclToYson(node.acl),
      set: (draft, _node, value) => ({
        acl: parseAcl(value, (name) => draft.subjects.subject(name).name),
      }),
      setPermission: "administer",
    },
  ],
  [
    "inherit_acl",
    {
      get: (node) => node.inheritAcl,
      set: (_draft, _node, value) => ({ inheritAcl: parseBoolean(value) }),
      setPermission: "administer",
    },
  ],
  [
    "owner",
    {
      get: (node) => node.owner,
      set(draft, _node, value) {
        const owner = draft.subjects.subject(parseString(value)).name;
        if (owner !== draft.user && !draft.subjects.isSuperuser(draft.user)) {
          throw new YtError("Only superusers can give an object to somebody else", {
            code: "AuthorizationError",
          });
        }
        return { owner };
      },
      setPermission: "administer",
    },
  ],
  ...listings,
];

function lockMode(node: Node, view: View): string {
  const mine = view.transactionId;
  if (mine === undefined) {
    return "none";
  }
  const modes = acquiredLocks(view.tree, node.id)
    .filter((lock) => lock.transactionId === mine)
    .map(({ mode }) => mode);
  return (["exclusive", "shared", "snapshot"] as const).find((mode) => modes.includes(mode)) ?? "none";
}

function recursiveUsage(node: Node, view: View): YsonValue {
  let usage = {};
  let count = 0;
  const visit = (each: Node): void => {
    count += 1;
    usage = addUsage(usage, view.typeOf(each).usage?.(each, view) ?? {});
    for (const [, id] of view.children(each.id)) {
      const child = view.node(id);
      if (child !== undefined) {
        visit(child);
      }
    }
  };
  visit(node);
  return resourceMap(usage, count);
}

function annotated(node: Node, view: View): Node | undefined {
  for (let current: Node | undefined = node; current !== undefined; ) {
    if (current.annotation !== undefined) {
      return current;
    }
    current = current.parentId === undefined ? undefined : view.node(current.parentId);
  }
  return undefined;
}

function checkExpirationRights(draft: Draft, node: Node): void {
  draft.checkSubtree(draft.user, "remove", node);
}

function checkNotRoot(draft: Draft, node: Node, name: string): void {
  if (node.id === draft.rootId) {
    throw new YtError(`Cannot set "${name}" for the root`);
  }
}

const time = (get: (node: Node) => number): BuiltinAttribute => ({ get: (node) => formatTimeUs(get(node)) });

/** Nearest expiration over the node and its ancestors. */
function effectiveExpiration(node: Node, view: View): BareYsonValue {
  let timeEntry: [number, string] | undefined;
  let timeoutEntry: [number, string] | undefined;
  for (let current: Node | undefined = node; current !== undefined; ) {
    const { expirationTimeUs, expirationTimeoutMs } = current;
    if (expirationTimeUs !== undefined && (timeEntry === undefined || expirationTimeUs < timeEntry[0])) {
      timeEntry = [expirationTimeUs, view.pathOf(current)];
    }
    if (
      expirationTimeoutMs !== undefined &&
      (timeoutEntry === undefined || expirationTimeoutMs < timeoutEntry[0])
    ) {
      timeoutEntry = [expirationTimeoutMs, view.pathOf(current)];
    }
    current = current.parentId === undefined ? undefined : view.node(current.parentId);
  }
  const shown = (entry: [number, string] | undefined, format: (value: number) => YsonValue): YsonValue =>
    entry === undefined
      ? null
      : new Map<string, YsonValue>([
          ["value", format(entry[0])],
          ["path", entry[1]],
        ]);
  return new Map([
    ["time", shown(timeEntry, formatTimeUs)],
    ["timeout", shown(timeoutEntry, BigInt)],
  ]);
}

const expirations: Attributes = [
  [
    "expiration_time",
    {
      get: ({ expirationTimeUs }) =>
        expirationTimeUs === undefined ? undefined : formatTimeUs(expirationTimeUs),
      set(draft, node, value) {
        checkNotRoot(draft, node, "expiration_time");
        return { expirationTimeUs: parseTimeUs(value) };
      },
      remove: () => ({ expirationTimeUs: null }),
      authorizeSet: checkExpirationRights,
    },
  ],
  [
    "expiration_timeout",
    {
      get: ({ expirationTimeoutMs }) =>
        expirationTimeoutMs === undefined ? undefined : BigInt(expirationTimeoutMs),
      set(draft, node, value) {
        checkNotRoot(draft, node, "expiration_timeout");
        return {
          expirationTimeoutMs: parseDurationMs(value),
          touchTimeUs: Math.round(draft.now * 1000),
        };
      },
      remove: () => ({ expirationTimeoutMs: null, touchTimeUs: null }),
      authorizeSet: checkExpirationRights,
    },
  ],
  [
    "touch_time",
    {
      get: (node, view) =>
        node.expirationTimeoutMs === undefined ? undefined : formatTimeUs(view.touchTimeUs(node)),
    },
  ],
  ["effective_expiration", { opaque: true, get: effectiveExpiration }],
];

const annotations: Attributes = [
  [
    "annotation",
    {
      opaque: true,
      get: (node, view) => annotated(node, view)?.annotation ?? null,
      set: (_draft, _node, value) => ({ annotation: value }),
      remove: () => ({ removeAnnotation: true }),
    },
  ],
  [
    "annotation_path",
    {
      opaque: true,
      get(node, view) {
        const holder = annotated(node, view);
        return holder === undefined ? null : view.pathOf(holder);
      },
    },
  ],
];

/** Of every node of the tree, beside those of every object. */
export const nodeAttributes: Attributes = [
  ["key", { get: (node) => node.key }],
  ["path", { opaque: true, get: (node, view) => view.pathOf(node) }],
  ["parent_id", { get: (node) => node.parentId }],
  ["creation_time", time((node) => node.creationTimeUs)],
  ["modification_time", time((node) => node.modificationTimeUs)],
  ["access_time", { get: (node, view) => formatTimeUs(view.accessOf(node).timeUs) }],
  ["access_counter", { get: (node, view) => BigInt(view.accessOf(node).counter) }],
  ["revision", { get: (node) => new Uint64(revisionOf(node)) }],
  ["attribute_revision", { get: (node) => new Uint64(node.attributeRevision) }],
  ["content_revision", { get: (node) => new Uint64(node.contentRevision) }],
  [
    "account",
    {
      get: (node) => node.account,
      set: (_draft, _node, value) => ({ account: parseString(value) }),
      authorizeValue(draft, node, value) {
        const account = parseString(value);
        draft.checkAccountUse(account);
        if (account !== node.account) {
          const tabletCount = draft.typeOf(node).tabletCount?.(node.state) ?? 0;
          draft.checkAccountRoom(account, { nodeCount: 1, tabletCount });
        }
      },
    },
  ],
  [
    "locks",
    {
      opaque: true,
      get: (node, view) => [...view.tree.locks.row(node.id)].map(([, lock]) => lockToYson(lock)),
    },
  ],
  ["lock_count", { get: (node, view) => BigInt(view.tree.locks.rowSize(node.id)) }],
  ["lock_mode", { get: lockMode }],
  ...expirations,
  ["resource_usage", { get: (node, view) => resourceMap(view.typeOf(node).usage?.(node, view) ?? {}, 1) }],
  ["recursive_resource_usage", { opaque: true, get: recursiveUsage }],
  [
    "opaque",
    {
      get: (node) => node.opaque,
      set: (_draft, _node, value) => ({ opaque: parseBoolean(value) }),
      remove: () => ({ opaque: null }),
    },
  ],
  ...annotations,
  ["external", { get: () => false }],
  ["native_cell_tag", { get: (_node, view) => BigInt(view.cellTag) }],
];
