/**
 * The tree as it is before anybody has done anything: `//sys`, `//tmp`, `//home` and the built-in
 * subjects. What is missing is created at every start, so that a newer version brings its new nodes.
 * Ids are derived from the paths: two clusters made from nothing are the same, byte for byte.
 * Specified in: yt/yt/server/master/cell_master/world_initializer.cpp.
 */
import { crc32 } from "node:zlib";
import { mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import {
  builtinGroups,
  builtinSuperusers,
  builtinUsers,
  everyoneGroup,
  guestUser,
  ownerSubject,
  superusersGroup,
  usersGroup,
} from "../access/index.ts";
import type { TreeDraft } from "./draft.ts";
import type { Node } from "./node.ts";
import { builtinAccounts } from "./types/accounts.ts";
import { emptyMapState } from "./types/map-node.ts";
import { virtualMapTypeName } from "./types/registry.ts";

export interface WorldOptions {
  readonly cellTag: number;
  readonly proxyAddress: string | undefined;
  /** Names of computed maps under `//sys`. */
  readonly virtualMaps: Iterable<string>;
}

interface Entry {
  readonly path: string;
  readonly type: string;
  readonly attributes?: YsonMap;
  readonly state?: unknown;
  readonly account?: string;
}

/** An id of a built-in object: the first word is all ones. */
export function wellKnownId(path: string, objectType: number, cellTag: number): string {
  const words = [0xffff_ffff, crc32(path), cellTag * 0x1_0000 + objectType, crc32(`${path}#`)];
  return words.map((word) => (word === 0 ? 1 : word).toString(16)).join("-");
}

const rootPath = "/";

export function rootIdOf(cellTag: number): string {
  return wellKnownId(rootPath, 303, cellTag);
}

function allow(subject: string, ...permissions: string[]): YsonMap {
  return mapOf({ action: "allow", subjects: [subject], permissions });
}

const accountEntries: Entry[] = [
  { path: "//sys/accounts", type: "account_map" },
  ...builtinAccounts.map((name) => ({
    path: `//sys/accounts/${name}`,
    type: "account",
    attributes: mapOf({ name, ...(name === "root" ? {} : { parent_name: "root" }) }),
  })),
];

const groupParents = new Map([[usersGroup, [everyoneGroup]]]);

const subjectEntries: Entry[] = [
  { path: "//sys/groups", type: "group_map" },
  ...builtinGroups.map((name) => ({
    path: `//sys/groups/${name}`,
    type: "group",
    state: { name, aliases: [], memberOf: groupParents.get(name) ?? [] },
  })),
  { path: "//sys/users", type: "user_map" },
  ...builtinUsers.map((name) => ({
    path: `//sys/users/${name}`,
    type: "user",
    state: { name, aliases: [], memberOf: builtinMembership(name), banned: false, settings: new Map() },
  })),
];

function builtinMembership(name: string): string[] {
  if (name === guestUser) {
    return [everyoneGroup];
  }
  if (name === ownerSubject) {
    return [];
  }
  return builtinSuperusers.has(name) ? [usersGroup, superusersGroup] : [usersGroup];
}

/** Maps that clients list; they stay empty here unless something else fills them. */
const plainMaps = [
  "account_tree",
  "table_replicas",
  "tablet_actions",
  "tablets",
  "areas",
  "chaos_cells",
  "chaos_cell_bundles",
  "chunks",
  "lost_chunks",
  "lost_vital_chunks",
  "data_missing_chunks",
  "parity_missing_chunks",
  "underreplicated_chunks",
  "overreplicated_chunks",
  "foreign_chunks",
  "chunk_lists",
  "master_table_schemas",
  "http_proxies",
  "proxies",
  "rpc_proxies",
  "cluster_nodes",
  "data_nodes",
  "exec_nodes",
  "tablet_nodes",
  "chaos_nodes",
  "racks",
  "data_centers",
  "primary_masters",
  "secondary_masters",
  "timestamp_providers",
  "discovery_servers",
  "scheduler",
  "scheduler/instances",
  "controller_agents",
  "controller_agents/instances",
  "pool_trees",
  "pool_trees/default",
  "pools",
  "operations",
  "ql_pools",
  "network_projects",
  "access_control_object_namespaces",
  "queue_agents",
  "queue_agents/instances",
  "queue_agents/leader_lock",
];

/** Only superusers may create these. */
const guardedTypes: ReadonlySet<string> = new Set([
  "user",
  "group",
  "account",
  "tablet_cell_bundle",
  "tablet_cell",
  // The server sends requests to the address that such a node names.
  "orchid",
]);

function clusterEntries(): Entry[] {
  const bundle = "//sys/tablet_cell_bundles";
  return [
    { path: "//sys/transactions", type: "transaction_map" },
    { path: "//sys/topmost_transactions", type: "topmost_transaction_map" },
    { path: "//sys/locks", type: "lock_map" },
    { path: "//sys/media", type: "medium_map" },
    {
      path: "//sys/media/default",
      type: "domestic_medium",
      attributes: mapOf({ acl: [allow("users", "use")] }),
    },
    { path: bundle, type: "tablet_cell_bundle_map" },
    {
      path: `${bundle}/default`,
      type: "tablet_cell_bundle",
      attributes: mapOf({ acl: [allow("users", "use")] }),
    },
    { path: "//sys/tablet_cells", type: "tablet_cell_map" },
    {
      path: "//sys/tokens",
      type: "document",
      state: new Map(),
      attributes: mapOf({ inherit_acl: false }),
    },
    // Digests of tokens, and sessions of browsers: for superusers only.
    ...["cypress_tokens", "cypress_cookies"].map((name) => ({
      path: `//sys/${name}`,
      type: "map_node",
      attributes: mapOf({ inherit_acl: false }),
    })),
    { path: "//sys/clusters", type: "document", state: new Map() },
    { path: "//sys/queue_agents/config", type: "document", state: new Map() },
  ];
}

/** Creates what is missing. */
export function createWorld(draft: TreeDraft, options: WorldOptions): void {
  const builder = new Builder(draft, options);
  builder.root();
  builder.ensure({ path: "//sys", type: "sys_node" });
  for (const entry of [...accountEntries, ...subjectEntries]) {
    builder.ensure(entry);
  }
  builder.grantBasics();
  const virtual = new Set(options.virtualMaps);
  for (const name of new Set([...plainMaps, ...virtual])) {
    builder.ensure({
      path: `//sys/${name}`,
      type: virtual.has(name) ? virtualMapTypeName(name) : "map_node",
    });
  }
  for (const entry of clusterEntries()) {
    builder.ensure(entry);
  }
  builder.cell();
  builder.schemas();
  builder.ensure({
    path: "//tmp",
    type: "map_node",
    account: "tmp",
    attributes: mapOf({ opaque: true, acl: [allow("users", "read", "write", "remove")] }),
  });
  builder.ensure({
    path: "//home",
    type: "map_node",
    account: "tmp",
    attributes: mapOf({ acl: [allow("users", "read", "write", "remove")] }),
  });
  if (options.proxyAddress !== undefined) {
    for (const list of ["proxies", "http_proxies"]) {
      builder.ensure({
        path: `//sys/${list}/${options.proxyAddress}`,
        type: "map_node",
        attributes: mapOf({ role: "data" }),
      });
    }
  }
}

class Builder {
  readonly #draft: TreeDraft;
  readonly #options: WorldOptions;

  constructor(draft: TreeDraft, options: WorldOptions) {
    this.#draft = draft;
    this.#options = options;
  }

  root(): void {
    const draft = this.#draft;
    if (draft.layers.nodes.get(draft.rootId) !== undefined) {
      return;
    }
    draft.layers.putNode({
      id: draft.rootId,
      type: "map_node",
      creationTimeUs: draft.nowUs,
      modificationTimeUs: draft.nowUs,
      accessTimeUs: draft.nowUs,
      accessCounter: 0,
      attributeRevision: draft.revision,
      contentRevision: draft.revision,
      account: "sys",
      owner: "root",
      acl: [],
      inheritAcl: true,
      attributes: new Map(),
      opaque: false,
      state: emptyMapState,
    });
  }

  /** Creates the node unless it is there with the right type. True if it was created. */
  ensure(entry: Entry): boolean {
    const draft = this.#draft;
    const slash = entry.path.lastIndexOf("/");
    const parent = draft.resolveNode(slash === 1 ? "/" : entry.path.slice(0, slash));
    const key = entry.path.slice(slash + 1);
    const existing = draft.child(parent.id, key);
    if (existing !== undefined) {
      if (existing.type === entry.type || draft.types.get(entry.type).virtual === undefined) {
        return false;
      }
      draft.removeNode(existing.id);
    }
    const type = draft.types.get(entry.type);
    draft.createNode({
      type: entry.type,
      parent: draft.nodeOrThrow(parent.id),
      key,
      user: "root",
      id: wellKnownId(entry.path, type.objectType, this.#options.cellTag),
      account: entry.account ?? "sys",
      ...(entry.attributes === undefined ? {} : { attributes: entry.attributes }),
      ...("state" in entry ? { state: entry.state } : {}),
    });
    return true;
  }

  /** Entries on what was created before the subjects were; only at the very first start. */
  grantBasics(): void {
    const draft = this.#draft;
    const root = draft.nodeOrThrow(draft.rootId);
    if (root.acl.length > 0 || root.attributeRevision !== draft.revision) {
      return;
    }
    this.#setAcl(root, [allow(everyoneGroup, "read")]);
    for (const account of ["tmp", "intermediate"]) {
      this.#setAcl(draft.resolveNode(`//sys/accounts/${account}`), [allow(usersGroup, "use")]);
    }
  }

  #setAcl(node: Node, acl: readonly YsonValue[]): void {
    const attribute = this.#draft.types.attributesOf(node.type).get("acl");
    const patch = attribute?.set?.(this.#draft, node, acl);
    if (patch !== undefined) {
      this.#draft.update(node.id, patch);
    }
  }

  /** One tablet cell, in good health, led by this process. */
  cell(): void {
    const map = this.#draft.resolveNode("//sys/tablet_cells");
    if (this.#draft.childCount(map.id) > 0) {
      return;
    }
    const id = wellKnownId("//sys/tablet_cells/0", 700, this.#options.cellTag);
    const address = this.#options.proxyAddress ?? "localhost";
    this.#draft.createNode({
      type: "tablet_cell",
      parent: map,
      key: id,
      user: "root",
      id,
      account: "sys",
      state: mapOf({
        tablet_cell_bundle: "default",
        peers: [mapOf({ address, state: "leading" })],
      }),
    });
  }

  schemas(): void {
    this.ensure({ path: "//sys/schemas", type: "schema_map" });
    for (const type of this.#draft.types.all()) {
      if (type.virtual !== undefined || type.name === "schema") {
        continue;
      }
      this.ensure({
        path: `//sys/schemas/${type.name}`,
        type: "schema",
        ...(guardedTypes.has(type.name) ? {} : { attributes: mapOf({ acl: [allow(usersGroup, "create")] }) }),
      });
    }
  }
}
