/**
 * Accounts: who pays for nodes, tablets and disk.
 * Specified in: yt/yt/server/master/security_server/account.h, cluster_resources.h.
 */
import { assert, bare, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { parseBoolean, parseString } from "../attributes/values.ts";
import type { BuiltinAttribute, NodeType, ResourceUsage, View } from "../node-type.ts";
import {
  type AccountState,
  accountByName,
  accountSubtree,
  changedLimits,
  checkLimitsFit,
  childrenOfAccount,
  defaultAccountLimits,
  noLimits,
  rootAccount,
} from "./account-limits.ts";
import { createNamedObject } from "./objects.ts";

export const builtinAccounts: readonly string[] = ["root", "sys", "tmp", "intermediate"];

/** The resource map of accounts and nodes. */
export function resourceMap(usage: ResourceUsage, nodeCount: number): YsonMap {
  const diskSpace = BigInt(usage.diskSpaceBytes ?? 0);
  return mapOf({
    disk_space: diskSpace,
    disk_space_per_medium: mapOf({ default: diskSpace }),
    node_count: BigInt(nodeCount),
    chunk_count: BigInt(usage.chunkCount ?? 0),
    tablet_count: BigInt(usage.tabletCount ?? 0),
    tablet_static_memory: BigInt(usage.tabletStaticMemoryBytes ?? 0),
    master_memory: 0n,
    detailed_master_memory: mapOf({ nodes: 0n, chunks: 0n, attributes: 0n, tablets: 0n, schemas: 0n }),
  });
}

export function addUsage(a: ResourceUsage, b: ResourceUsage): ResourceUsage {
  return {
    diskSpaceBytes: (a.diskSpaceBytes ?? 0) + (b.diskSpaceBytes ?? 0),
    chunkCount: (a.chunkCount ?? 0) + (b.chunkCount ?? 0),
    tabletCount: (a.tabletCount ?? 0) + (b.tabletCount ?? 0),
    tabletStaticMemoryBytes: (a.tabletStaticMemoryBytes ?? 0) + (b.tabletStaticMemoryBytes ?? 0),
  };
}

/** @param what `all` counts what transactions have created and not committed yet too */
function usageOfAccount(view: View, names: ReadonlySet<string>, what: "all" | "committed"): YsonMap {
  const { accountNodeCounts, pendingNodeCounts, pendingTabletCounts } = view.tree;
  let usage: ResourceUsage = {};
  let nodeCount = 0;
  for (const name of names) {
    nodeCount += accountNodeCounts.get(name) ?? 0;
    if (what === "all") {
      nodeCount += pendingNodeCounts.get(name) ?? 0;
      usage = addUsage(usage, { tabletCount: pendingTabletCounts.get(name) ?? 0 });
    }
  }
  for (const type of view.types.all()) {
    if (type.usage === undefined) {
      continue;
    }
    for (const node of view.nodesOfType(type.name)) {
      if (names.has(node.account)) {
        usage = addUsage(usage, type.usage(node, view));
      }
    }
  }
  return resourceMap(usage, nodeCount);
}

function ownUsage(what: "all" | "committed"): BuiltinAttribute<AccountState> {
  return { get: (node, view) => usageOfAccount(view, new Set([node.state.name]), what) };
}

function recursiveUsage(what: "all" | "committed"): BuiltinAttribute<AccountState> {
  return { get: (node, view) => usageOfAccount(view, accountSubtree(view, node.state.name), what) };
}

function violated(usage: YsonMap, limits: YsonMap): YsonMap {
  const entries = [...usage].map(([name, used]): [string, YsonValue] => {
    const limit = limits.get(name);
    if (typeof used !== "bigint") {
      return [name, false];
    }
    return [name, typeof limit === "bigint" && used > limit];
  });
  return new Map(entries);
}

const attributes = new Map<string, BuiltinAttribute<AccountState>>([
  ["name", { get: (node) => node.state.name }],
  ["parent_name", { get: (node) => node.state.parentName }],
  ["children", { opaque: true, get: (node, view) => [...childrenOfAccount(view, node.state.name)] }],
  [
    "resource_limits",
    {
      get: (node) => node.state.limits,
      set(draft, node, value) {
        const state = { ...node.state, limits: changedLimits(node.state.limits, value) };
        checkLimitsFit(draft, state);
        return { state };
      },
    },
  ],
  [
    "allow_children_limit_overcommit",
    {
      get: (node) => node.state.allowChildrenLimitOvercommit,
      set(draft, node, value) {
        const state = { ...node.state, allowChildrenLimitOvercommit: parseBoolean(value) };
        checkLimitsFit(draft, state);
        return { state };
      },
    },
  ],
  ["resource_usage", ownUsage("all")],
  ["committed_resource_usage", ownUsage("committed")],
  ["recursive_resource_usage", recursiveUsage("all")],
  ["recursive_committed_resource_usage", recursiveUsage("committed")],
  [
    "violated_resource_limits",
    {
      get: (node, view) =>
        violated(usageOfAccount(view, new Set([node.state.name]), "all"), node.state.limits),
    },
  ],
]);

export const accountType: NodeType<AccountState> = {
  name: "account",
  objectType: 500,
  content: "entity",
  isObject: true,
  attributes,
  encodeState: (state) =>
    mapOf({
      name: state.name,
      parent_name: state.parentName,
      limits: state.limits,
      overcommit: state.allowChildrenLimitOvercommit,
    }),
  decodeState(value) {
    const map = bare(value);
    assert(isMap(map), "state of an account is a map");
    const parentName = map.get("parent_name");
    const limits = bare(map.get("limits") ?? new Map());
    return {
      name: parseString(map.get("name") ?? ""),
      ...(parentName === undefined ? {} : { parentName: parseString(parentName) }),
      limits: isMap(limits) ? limits : new Map(),
      allowChildrenLimitOvercommit: map.get("overcommit") === true,
    };
  },
  create(draft, input) {
    const name = parseString(input.attributes.get("name") ?? "");
    const parentName = parseString(input.attributes.get("parent_name") ?? rootAccount);
    input.attributes.delete("name");
    input.attributes.delete("parent_name");
    if (name === rootAccount) {
      return { name, limits: defaultAccountLimits, allowChildrenLimitOvercommit: false };
    }
    return {
      name,
      parentName,
      limits: accountByName(draft, parentName).state.name === rootAccount ? defaultAccountLimits : noLimits,
      allowChildrenLimitOvercommit: false,
    };
  },
  /** Needs `write` on the parent, of whose limits the new account takes a part. */
  createObject(draft, attributesOfRequest, options) {
    const parentName = parseString(attributesOfRequest.get("parent_name") ?? rootAccount);
    draft.check(draft.user, "write", accountByName(draft, parentName));
    return createNamedObject(draft, {
      type: "account",
      mapPath: "//sys/accounts",
      attributes: attributesOfRequest,
      ...options,
    });
  },
  onRemove(draft, node) {
    if (builtinAccounts.includes(node.state.name)) {
      throw new YtError(`Cannot remove a built-in account "${node.state.name}"`);
    }
    if (childrenOfAccount(draft, node.state.name).length > 0) {
      throw new YtError(`Account "${node.state.name}" cannot be removed: it has children`);
    }
    const { accountNodeCounts, pendingNodeCounts } = draft.tree;
    const { name } = node.state;
    if ((accountNodeCounts.get(name) ?? 0) + (pendingNodeCounts.get(name) ?? 0) > 0) {
      throw new YtError(`Account "${node.state.name}" cannot be removed: it is in use`);
    }
  },
  aclParent: ({ state }, view) =>
    state.parentName === undefined ? undefined : accountByName(view, state.parentName).id,
  describe: (node) => `account "${node.state.name}"`,
};
