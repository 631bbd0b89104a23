/**
 * Accounts: who pays for nodes, tablets and disk.
 * Specified in: yt/yt/server/master/security_server/account.h, cluster_resources.h.
 */
import { assert, bare, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { parseBoolean, parseInteger, parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType, ResourceUsage, View } from "../node-type.ts";
import { createNamedObject } from "./objects.ts";

export interface AccountState {
  readonly name: string;
  readonly parentName?: string;
  readonly limits: YsonMap;
  readonly allowChildrenLimitOvercommit: boolean;
}

export const builtinAccounts: readonly string[] = ["root", "sys", "tmp", "intermediate"];

/** Limits of an account until somebody sets them: large, as a stand-alone cluster has no quota. */
export const defaultAccountLimits: YsonMap = mapOf({
  disk_space: 1n << 50n,
  disk_space_per_medium: mapOf({ default: 1n << 50n }),
  node_count: 1_000_000n,
  chunk_count: 1_000_000n,
  tablet_count: 100_000n,
  tablet_static_memory: 1n << 40n,
  master_memory: mapOf({ total: 1n << 40n, chunk_host: 1n << 40n, per_cell: new Map() }),
});

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

function isAccountState(state: unknown): state is AccountState {
  return typeof state === "object" && state !== null && "limits" in state;
}

export function accountState(node: Node): AccountState {
  assert(isAccountState(node.state), `node ${node.id} is an account`);
  return node.state;
}

function usageOfAccount(view: View, names: ReadonlySet<string>): YsonMap {
  let usage: ResourceUsage = {};
  let nodeCount = 0;
  for (const name of names) {
    nodeCount += view.tree.accountNodeCounts.get(name) ?? 0;
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

/** The account and all below it. */
function accountSubtree(view: View, name: string): Set<string> {
  const names = new Set([name]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const node of view.nodesOfType("account")) {
      const { name: child, parentName } = accountState(node);
      if (parentName !== undefined && names.has(parentName) && !names.has(child)) {
        names.add(child);
        grown = true;
      }
    }
  }
  return names;
}

const own: BuiltinAttribute<AccountState> = {
  get: (node, view) => usageOfAccount(view, new Set([node.state.name])),
};
const recursive: BuiltinAttribute<AccountState> = {
  get: (node, view) => usageOfAccount(view, accountSubtree(view, node.state.name)),
};

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
  [
    "resource_limits",
    {
      get: (node) => node.state.limits,
      set(_draft, node, value) {
        const plain = bare(value);
        if (!isMap(plain)) {
          throw new YtError("Resource limits must be a map");
        }
        const limits = new Map(node.state.limits);
        for (const [name, limit] of plain) {
          const isMapValue = isMap(bare(limit));
          if (!isMapValue && parseInteger(limit) < 0n) {
            throw new YtError(`Limit "${name}" cannot be negative`);
          }
          limits.set(name, isMapValue ? bare(limit) : parseInteger(limit));
        }
        return { state: { ...node.state, limits } };
      },
    },
  ],
  [
    "allow_children_limit_overcommit",
    {
      get: (node) => node.state.allowChildrenLimitOvercommit,
      set: (_draft, node, value) => ({
        state: { ...node.state, allowChildrenLimitOvercommit: parseBoolean(value) },
      }),
    },
  ],
  ["resource_usage", own],
  ["committed_resource_usage", own],
  ["recursive_resource_usage", recursive],
  ["recursive_committed_resource_usage", recursive],
  [
    "violated_resource_limits",
    {
      get: (node, view) => violated(usageOfAccount(view, new Set([node.state.name])), node.state.limits),
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
    const parentName = parseString(input.attributes.get("parent_name") ?? "root");
    input.attributes.delete("name");
    input.attributes.delete("parent_name");
    const accounts = draft.resolveNode("//sys/accounts");
    if (name !== "root" && draft.child(accounts.id, parentName) === undefined) {
      throw new YtError(`No such account "${parentName}"`, { code: "NoSuchAccount" });
    }
    return {
      name,
      ...(name === "root" ? {} : { parentName }),
      limits: defaultAccountLimits,
      allowChildrenLimitOvercommit: false,
    };
  },
  createObject: (draft, attributesOfRequest, options) =>
    createNamedObject(draft, {
      type: "account",
      mapPath: "//sys/accounts",
      attributes: attributesOfRequest,
      ...options,
    }),
  onRemove(draft, node) {
    if (builtinAccounts.includes(node.state.name)) {
      throw new YtError(`Cannot remove a built-in account "${node.state.name}"`);
    }
    if ((draft.tree.accountNodeCounts.get(node.state.name) ?? 0) > 0) {
      throw new YtError(`Account "${node.state.name}" cannot be removed: it is in use`);
    }
  },
  describe: (node) => `account "${node.state.name}"`,
};

/**
 * Whether the account has room for one more node.
 * @throws YtError 905 when there is no such account, 902 over its limit
 */
export function checkNodeCount(view: View, account: string): void {
  const accounts = view.findNode("//sys/accounts");
  if (accounts === undefined) {
    return;
  }
  const node = view.child(accounts.id, account);
  if (node === undefined) {
    throw new YtError(`No such account "${account}"`, { code: "NoSuchAccount" });
  }
  const limit = accountState(node).limits.get("node_count");
  const used = BigInt(view.tree.accountNodeCounts.get(account) ?? 0);
  if (typeof limit === "bigint" && used >= limit) {
    throw new YtError(`Account "${account}" is over Cypress node count limit`, {
      code: "AccountLimitExceeded",
      attributes: { usage: used, limit, increase: 1n },
    });
  }
}
