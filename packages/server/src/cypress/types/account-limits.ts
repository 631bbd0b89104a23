/**
 * Limits of accounts: what they are, how those of an account and its children go together, and whether there
 * is room for more.
 * Specified in: yt/yt/server/master/security_server/security_manager.cpp (ValidateResourceUsageIncrease,
 * ValidateResourceLimits), documentation "Accounts".
 */
import { assert, bare, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { parseInteger } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { UsageIncrease, View } from "../node-type.ts";

export interface AccountState {
  readonly name: string;
  readonly parentName?: string;
  readonly limits: YsonMap;
  readonly allowChildrenLimitOvercommit: boolean;
}

export const rootAccount = "root";

/** Limits of a child of the root account until somebody sets them: large, as a small cluster has no quota. */
export const defaultAccountLimits: YsonMap = mapOf({
  disk_space: 1n << 50n,
  disk_space_per_medium: mapOf({ default: 1n << 50n }),
  node_count: 1_000_000n,
  chunk_count: 1_000_000n,
  tablet_count: 100_000n,
  tablet_static_memory: 1n << 40n,
  master_memory: mapOf({ total: 1n << 40n, chunk_host: 1n << 40n, per_cell: new Map() }),
});

/** Limits of any other child: what its parent has to give is given when the limits are set. */
export const noLimits: YsonMap = mapOf({
  disk_space: 0n,
  disk_space_per_medium: mapOf({ default: 0n }),
  node_count: 0n,
  chunk_count: 0n,
  tablet_count: 0n,
  tablet_static_memory: 0n,
  master_memory: mapOf({ total: 0n, chunk_host: 0n, per_cell: new Map() }),
});

/** Limits that are compared between an account and its children. */
const compared = ["disk_space", "node_count", "chunk_count", "tablet_count", "tablet_static_memory"] as const;
type LimitName = (typeof compared)[number];

function isAccountState(state: unknown): state is AccountState {
  return typeof state === "object" && state !== null && "limits" in state;
}

function accountState(node: Node): AccountState {
  assert(isAccountState(node.state), `node ${node.id} is an account`);
  return node.state;
}

function limitOf({ limits }: AccountState, name: LimitName): bigint {
  const value = limits.get(name);
  return typeof value === "bigint" ? value : 0n;
}

/** The accounts as a tree, by name. */
interface AccountTree {
  readonly ids: ReadonlyMap<string, string>;
  readonly children: ReadonlyMap<string, readonly string[]>;
}

/** A view lives no longer than a request, in which accounts do not come or go beside the one asked about. */
const trees = new WeakMap<View, AccountTree>();

function treeOf(view: View): AccountTree {
  let tree = trees.get(view);
  if (tree === undefined) {
    const ids = new Map<string, string>();
    const children = new Map<string, string[]>();
    for (const node of view.nodesOfType("account")) {
      const { name, parentName } = accountState(node);
      ids.set(name, node.id);
      if (parentName !== undefined) {
        children.set(parentName, [...(children.get(parentName) ?? []), name]);
      }
    }
    tree = { ids, children };
    trees.set(view, tree);
  }
  return tree;
}

/** @throws YtError 905 */
export function accountByName(view: View, name: string): Node<AccountState> {
  const id = treeOf(view).ids.get(name);
  const node = id === undefined ? undefined : view.node(id);
  if (node === undefined) {
    throw new YtError(`No such account "${name}"`, { code: "NoSuchAccount" });
  }
  return { ...node, state: accountState(node) };
}

/** Names of the accounts whose parent this one is. */
export function childrenOfAccount(view: View, name: string): readonly string[] {
  return treeOf(view).children.get(name) ?? [];
}

/** The account and all below it. */
export function accountSubtree(view: View, name: string): Set<string> {
  const names = new Set([name]);
  for (const each of names) {
    for (const child of childrenOfAccount(view, each)) {
      names.add(child);
    }
  }
  return names;
}

function sumOver(names: Iterable<string>, one: (name: string) => number): bigint {
  let sum = 0;
  for (const name of names) {
    sum += one(name);
  }
  return BigInt(sum);
}

/**
 * Whether the account, and every account above it, has room for more nodes and tablets. What transactions have
 * created and not committed yet counts. Disk space is looked at elsewhere, when rows come.
 * @throws YtError 905 when there is no such account, 902 over a limit
 */
export function checkIncrease(view: View, account: string, increase: UsageIncrease): void {
  const { accountNodeCounts, accountTabletCounts, pendingNodeCounts, pendingTabletCounts } = view.tree;
  const resources = [
    ["node_count", "Cypress node count", increase.nodeCount ?? 0, accountNodeCounts, pendingNodeCounts],
    ["tablet_count", "tablet count", increase.tabletCount ?? 0, accountTabletCounts, pendingTabletCounts],
  ] as const;
  for (let name: string | undefined = account; name !== undefined; ) {
    const { state } = accountByName(view, name);
    const names = accountSubtree(view, name);
    for (const [resource, title, added, committed, pending] of resources) {
      const limit = limitOf(state, resource);
      const usage =
        added === 0 ? 0n : sumOver(names, (each) => (committed.get(each) ?? 0) + (pending.get(each) ?? 0));
      if (added > 0 && usage + BigInt(added) > limit) {
        throw limitExceeded(view, account, { over: name, title, usage, increase: BigInt(added), limit });
      }
    }
    name = state.parentName;
  }
}

export interface Excess {
  /** The account that is over its limit: the one asked about, or one above it. */
  readonly over: string;
  /** `Cypress node count`, `disk space`. */
  readonly title: string;
  readonly usage: bigint;
  readonly increase?: bigint;
  readonly limit: bigint;
}

/** The text of the real system, and what to do. */
export function limitExceeded(view: View, account: string, excess: Excess): YtError {
  const { over, title, usage, increase, limit } = excess;
  const isParent = accountByName(view, account).state.parentName === over;
  const which = over === account ? "Account" : isParent ? "Parent account" : "Ancestor account";
  const medium = title === "disk space" ? ' in medium "default"' : "";
  const asked = over === account ? "" : ` (while validating account "${account}")`;
  return new YtError(
    `${which} "${over}" is over ${title} limit${medium}${asked}; remove something, or raise //sys/accounts/${over}/@resource_limits`,
    { code: "AccountLimitExceeded", attributes: { usage, increase, limit, account: over } },
  );
}

/**
 * Accounts without room for another byte, each with the reason: their own limit or one above them.
 * @param usage own usage by account, in bytes
 */
export function fullAccounts(view: View, usage: ReadonlyMap<string, number>): Map<string, Excess> {
  const full = new Map<string, Excess>();
  for (const over of treeOf(view).ids.keys()) {
    const { state } = accountByName(view, over);
    const names = accountSubtree(view, over);
    const limit = limitOf(state, "disk_space");
    const used = sumOver(names, (each) => usage.get(each) ?? 0);
    if (used < limit) {
      continue;
    }
    for (const name of names) {
      if (name === over || !full.has(name)) {
        full.set(name, { over, title: "disk space", usage: used, limit });
      }
    }
  }
  return full;
}

/** The limits of the account changed by those given; a limit on disk space is one on its only medium. */
export function changedLimits(before: YsonMap, value: YsonValue): YsonMap {
  const given = bare(value);
  if (!isMap(given)) {
    throw new YtError("Resource limits must be a map");
  }
  const limits = new Map(before);
  for (const [name, limit] of given) {
    if (!defaultAccountLimits.has(name)) {
      throw new YtError(
        `There is no limit "${name}"; there are ${[...defaultAccountLimits.keys()].join(", ")}`,
      );
    }
    limits.set(name, parseLimit(name, limit));
  }
  const wholeChanged = limits.get("disk_space") !== before.get("disk_space");
  const diskSpace = wholeChanged ? limits.get("disk_space") : mediumLimit(limits);
  limits.set("disk_space", diskSpace ?? 0n);
  limits.set("disk_space_per_medium", mapOf({ default: diskSpace ?? 0n }));
  return limits;
}

function mediumLimit(limits: YsonMap): YsonValue | undefined {
  const media = bare(limits.get("disk_space_per_medium") ?? null);
  return isMap(media) ? media.get("default") : limits.get("disk_space");
}

/** Numbers, and maps of them as deep as they are in the default. */
function parseLimit(name: string, value: YsonValue): YsonValue {
  const plain = bare(value);
  if (isMap(plain)) {
    return new Map([...plain].map(([key, limit]) => [key, parseLimit(`${name}/${key}`, limit)]));
  }
  const limit = plain instanceof Uint64 ? plain.value : parseInteger(value);
  if (limit < 0n) {
    throw new YtError(`Limit "${name}" cannot be negative`);
  }
  if (isMap(defaultAccountLimits.get(name))) {
    throw new YtError(`Limit "${name}" must be a map`);
  }
  return limit;
}

/**
 * Whether the account's limits go with those of its parent and of its children. The root account has none.
 * @throws YtError 1
 */
export function checkLimitsFit(view: View, state: AccountState): void {
  const refuse = (reason: string, resource: LimitName): never => {
    throw new YtError(`Failed to change resource limits for account "${state.name}": ${reason}`, {
      attributes: { account: state.name, resource },
    });
  };
  const { parentName } = state;
  const siblings = parentName === undefined ? [] : childrenOfAccount(view, parentName);
  const parent =
    parentName === undefined || parentName === rootAccount
      ? undefined
      : accountByName(view, parentName).state;
  const children = childrenOfAccount(view, state.name).map((name) => accountByName(view, name).state);
  for (const resource of compared) {
    const own = limitOf(state, resource);
    if (parent !== undefined) {
      const others = siblings.filter((name) => name !== state.name);
      const sum = others.reduce(
        (total, name) => total + limitOf(accountByName(view, name).state, resource),
        own,
      );
      const limit = limitOf(parent, resource);
      if (own > limit) {
        refuse("the limit cannot be above that of its parent", resource);
      }
      if (sum > limit && !parent.allowChildrenLimitOvercommit) {
        refuse("the change would overcommit its parent", resource);
      }
    }
    if (state.name === rootAccount) {
      continue;
    }
    const largest = children.map((child) => limitOf(child, resource));
    if (largest.some((limit) => limit > own)) {
      refuse("the limit cannot be below that of its child account", resource);
    }
    const sum = largest.reduce((total, limit) => total + limit, 0n);
    if (sum > own && !state.allowChildrenLimitOvercommit) {
      refuse("the change would overcommit the account", resource);
    }
  }
}
