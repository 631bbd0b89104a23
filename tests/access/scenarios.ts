/**
 * For every command one or more ways to call it in an area, with what its requirements mean there. A scenario
 * does not say which rights it needs: that is what the command table says.
 */
import { mapOf, type YsonValue } from "@qyt/base";
import type { Area } from "./area.ts";

type Parameters = Readonly<Record<string, YsonValue | undefined>>;

export interface Scenario {
  readonly command: string;
  /** What it is about, where a command has several. */
  readonly title?: string;
  /** The conditions of the command's requirements that hold here (`when`). */
  readonly conditions?: readonly string[];
  readonly parameters: (area: Area) => Parameters;
  readonly body?: string;
  /** The type whose schema object is meant by `schema`. */
  readonly type?: string;
  /** Where it is not the area's own. */
  readonly account?: (area: Area) => string;
  readonly bundle?: (area: Area) => string;
  /** The node that a parameter means which is no path of one (`query`). */
  readonly table?: (area: Area) => string;
  /** Before the command, as root. */
  readonly prepare?: (area: Area) => Promise<void>;
}

const onPath =
  (name: string, more: Parameters = {}) =>
  (area: Area): Parameters => ({ path: area.path(name), ...more });

const isThere = "the node is there, or an attribute of it is set";
const isNew = "the node is new";
const otherAttributes = "any attribute but `acl`, `inherit_acl`, `owner`";

const reading: Scenario[] = [
  { command: "get", parameters: onPath("src") },
  { command: "get", title: "an attribute", parameters: onPath("src/@account") },
  { command: "list", parameters: onPath("src") },
  { command: "exists", parameters: onPath("src") },
];

const setting: Scenario[] = [
  { command: "set", conditions: [isThere], parameters: onPath("document"), body: "{a=1}" },
  {
    command: "set",
    title: "a part",
    conditions: [isThere],
    parameters: onPath("document/a"),
    table: (area) => area.path("document"),
    body: "1",
  },
  { command: "set", conditions: [isNew], type: "string_node", parameters: onPath("dst/new"), body: "text" },
  {
    command: "set",
    title: "over a map",
    conditions: [isThere, "the children of a map are replaced"],
    parameters: onPath("src/map", { force: true }),
    body: "{}",
  },
  {
    command: "set",
    title: "another type",
    conditions: [isThere, isNew, "the node is replaced by one of another type"],
    type: "int64_node",
    parameters: onPath("src/map/child", { force: true }),
    body: "1",
  },
  {
    command: "set",
    title: "an attribute",
    conditions: [isThere],
    parameters: onPath("src/@note"),
    body: "1",
  },
  ...attributeScenarios("set"),
];

/** Attributes that need more than `write`, or something else. */
function attributeScenarios(command: "set" | "multiset_attributes"): Scenario[] {
  const isSet = command === "set";
  const make = (
    path: string,
    name: string,
    condition: string,
    text: (area: Area) => string,
    more: Partial<Scenario> = {},
  ): Scenario => ({
    command,
    title: `@${name}`,
    conditions: [condition],
    parameters: (area) => ({ path: area.path(isSet ? `${path}/@${name}` : `${path}/@`), text: text(area) }),
    body: isSet ? "#text" : `{${name}=#text}`,
    ...more,
  });
  const write = [isSet ? isThere : otherAttributes];
  const administered = "`acl`, `inherit_acl`, `owner`";
  const expiring = "`expiration_time`, `expiration_timeout`";
  return [
    make("src", "acl", administered, () => "[]"),
    make("src", "inherit_acl", administered, () => "%true"),
    make("src", "owner", administered, (area) => `"${area.user}"`),
    make("src", "account", "`account`", (area) => `"${area.otherAccount}"`, {
      conditions: [...write, "`account`"],
      account: (area) => area.otherAccount,
    }),
    make("unmounted", "tablet_cell_bundle", "`tablet_cell_bundle`", (area) => `"${area.otherBundle}"`, {
      conditions: [...write, "`tablet_cell_bundle`"],
      bundle: (area) => area.otherBundle,
    }),
    make("src", "expiration_time", expiring, () => "4000000000000", { conditions: [...write, expiring] }),
    make("src", "expiration_timeout", expiring, () => "1000000", { conditions: [...write, expiring] }),
  ];
}

const creating: Scenario[] = [
  { command: "create", type: "map_node", parameters: onPath("dst/new", { type: "map_node" }) },
  {
    command: "create",
    title: "with directories above",
    type: "map_node",
    // Directories that are made belong to who makes them, and inherit.
    parameters: onPath("dst/new", { type: "map_node", recursive: true }),
  },
  {
    command: "create",
    title: "with entries",
    type: "map_node",
    conditions: ["`acl` or `inherit_acl` is among the attributes"],
    parameters: onPath("dst/new", { type: "map_node", attributes: mapOf({ inherit_acl: false }) }),
  },
  {
    command: "create",
    title: "in a bundle",
    type: "table",
    conditions: ["a bundle is named"],
    bundle: (area) => area.otherBundle,
    parameters: (area) => ({
      path: area.path("dst/new"),
      type: "table",
      attributes: mapOf({
        dynamic: true,
        schema: [mapOf({ name: "data", type: "string" })],
        tablet_cell_bundle: area.otherBundle,
      }),
    }),
  },
  {
    command: "create",
    title: "over another node",
    type: "map_node",
    conditions: ["a node is replaced"],
    parameters: onPath("src/map", { type: "map_node", force: true }),
  },
  {
    command: "create",
    title: "a consumer",
    type: "table",
    conditions: ["a `queue_consumer` or `queue_producer`, mounted at once", "a bundle is named"],
    parameters: (area) => ({
      path: area.path("dst/new"),
      type: "queue_consumer",
      attributes: mapOf({ tablet_cell_bundle: area.bundle }),
    }),
  },
  {
    command: "link",
    type: "link",
    parameters: (area) => ({ target_path: area.path("src"), link_path: area.path("dst/link") }),
  },
  {
    command: "link",
    title: "over another node",
    type: "link",
    conditions: ["a node is replaced"],
    parameters: (area) => ({
      target_path: area.path("dst"),
      link_path: area.path("src/map"),
      force: true,
    }),
  },
];

const copying = (command: "copy" | "move"): Scenario[] => [
  {
    command,
    type: "map_node",
    parameters: (area) => ({
      source_path: area.path("src/leaf"),
      destination_path: area.path("dst/copy"),
      preserve_account: false,
    }),
  },
  {
    command,
    title: "with entries",
    type: "map_node",
    conditions: ["`preserve_acl`"],
    parameters: (area) => ({
      source_path: area.path("src/leaf"),
      destination_path: area.path("dst/copy"),
      preserve_acl: true,
    }),
  },
  {
    command,
    title: "over another node",
    type: "map_node",
    conditions: ["a node is replaced"],
    prepare: (area) => area.node("map_node", "dst/old", { inherit_acl: true }),
    parameters: (area) => ({
      source_path: area.path("src/leaf"),
      destination_path: area.path("dst/old"),
      force: true,
    }),
  },
];

const removing: Scenario[] = [
  { command: "remove", conditions: ["a node"], parameters: onPath("src/map") },
  {
    command: "remove",
    title: "an attribute",
    conditions: ["an attribute"],
    prepare: (area) => area.cluster.set(`${area.path("src")}/@note`, "x"),
    parameters: onPath("src/@note"),
  },
  {
    command: "remove",
    title: "an entry",
    conditions: ["a part of `acl`"],
    prepare: (area) => area.cluster.allow(area.path("src"), "root", ["read"]),
    parameters: onPath("src/@acl/0"),
  },
];

/** Only in a transaction, which root starts and everybody who knows its id may work in. */
const inTransaction: Scenario[] = [
  {
    command: "lock",
    title: "snapshot",
    conditions: ["a snapshot lock"],
    parameters: onPath("src", { mode: "snapshot", transaction_id: "#transaction" }),
  },
  {
    command: "lock",
    title: "exclusive",
    conditions: ["any other lock"],
    parameters: onPath("src", { mode: "exclusive", transaction_id: "#transaction" }),
  },
  { command: "unlock", parameters: onPath("src", { transaction_id: "#transaction" }) },
];

const onTablets: Scenario[] = [
  { command: "mount_table", parameters: onPath("unmounted") },
  { command: "unmount_table", parameters: onPath("queue") },
  {
    command: "unmount_table",
    title: "by force",
    conditions: ["`force`"],
    parameters: onPath("queue", { force: true }),
  },
  { command: "remount_table", parameters: onPath("queue") },
  { command: "freeze_table", parameters: onPath("queue") },
  {
    command: "unfreeze_table",
    parameters: onPath("queue"),
    prepare: async (area) => {
      await area.cluster.root.execute("freeze_table", { path: area.path("queue") });
    },
  },
  { command: "reshard_table", parameters: onPath("unmounted", { tablet_count: 2n }) },
  {
    command: "alter_table",
    parameters: onPath("unmounted", {
      schema: [
        mapOf({ name: "$timestamp", type: "uint64" }),
        mapOf({ name: "$cumulative_data_weight", type: "int64" }),
        ...["data", "secret", "third"].map((name) => mapOf({ name, type: "string" })),
      ],
    }),
  },
  { command: "trim_rows", parameters: onPath("queue", { tablet_index: 0n, trimmed_row_count: 1n }) },
  { command: "get_tablet_infos", parameters: onPath("queue", { tablet_indexes: [0n] }) },
  { command: "get_tablet_errors", parameters: onPath("queue") },
];

const onReplicas: Scenario[] = [
  ...["alter_table_replica", "enable_table_replica", "disable_table_replica"].map(
    (command): Scenario => ({
      command,
      table: (area) => area.path("replicated"),
      parameters: (area) => ({ replica_id: area.replica }),
    }),
  ),
  { command: "get_in_sync_replicas", parameters: onPath("replicated", { all_keys: true }) },
];

const onRows: Scenario[] = [
  { command: "insert_rows", parameters: onPath("queue"), body: "{data=x};" },
  { command: "delete_rows", parameters: onPath("sorted"), body: "{key=1};" },
  { command: "lock_rows", parameters: onPath("sorted", { transaction_id: "#tablet" }), body: "{key=1};" },
  { command: "lookup_rows", parameters: onPath("sorted"), body: "{key=1};" },
  {
    command: "select_rows",
    table: (area) => area.path("sorted"),
    parameters: (area) => ({ query: `secret from [${area.path("sorted")}]` }),
  },
  { command: "get_table_pivot_keys", parameters: onPath("sorted") },
  { command: "get_table_mount_info", parameters: onPath("sorted") },
  {
    command: "explain_query",
    table: (area) => area.path("sorted"),
    parameters: (area) => ({ query: `secret from [${area.path("sorted")}]` }),
  },
  { command: "write_table", parameters: onPath("other-static"), body: "{value=x};" },
  { command: "read_table", parameters: onPath("static") },
  {
    command: "get_table_columnar_statistics",
    table: (area) => area.path("static"),
    parameters: (area) => ({ paths: [`${area.path("static")}{secret}`] }),
  },
  {
    command: "concatenate",
    parameters: (area) => ({
      source_paths: [area.path("static")],
      destination_path: area.path("other-static"),
    }),
  },
  { command: "write_file", parameters: onPath("file"), body: "more" },
  { command: "read_file", parameters: onPath("file") },
];

const pair = (area: Area): Parameters => ({
  queue_path: area.path("queue"),
  consumer_path: area.path("consumer"),
});
const session = (area: Area): Parameters => ({
  producer_path: area.path("producer"),
  queue_path: area.path("queue"),
  session_id: "session",
});

const onQueues: Scenario[] = [
  { command: "register_queue_consumer", parameters: (area) => ({ ...pair(area), vital: true }) },
  {
    command: "unregister_queue_consumer",
    conditions: ["both are there"],
    parameters: pair,
  },
  { command: "list_queue_consumer_registrations", parameters: pair },
  {
    command: "pull_queue",
    parameters: (area) => ({ queue_path: area.path("queue"), partition_index: 0n, offset: 0n }),
  },
  {
    command: "pull_queue_consumer",
    parameters: (area) => ({ ...pair(area), partition_index: 0n, offset: 0n }),
  },
  {
    command: "advance_queue_consumer",
    title: "on the client's side",
    parameters: (area) => ({ ...pair(area), partition_index: 0n, new_offset: 1n, client_side: true }),
  },
  {
    command: "advance_queue_consumer",
    title: "on the client's side, compared",
    conditions: ["on the server's side, or with `old_offset`"],
    parameters: (area) => ({
      ...pair(area),
      partition_index: 0n,
      old_offset: 0n,
      new_offset: 1n,
      client_side: true,
    }),
  },
  {
    command: "advance_queue_consumer",
    title: "on the server's side",
    conditions: ["on the server's side, or with `old_offset`"],
    parameters: (area) => ({ ...pair(area), partition_index: 0n, new_offset: 1n }),
  },
  { command: "create_queue_producer_session", parameters: session },
  { command: "remove_queue_producer_session", parameters: session },
  {
    command: "push_queue_producer",
    parameters: (area) => ({ ...session(area), epoch: 0n, sequence_number: 0n }),
    body: "{data=x};",
  },
  {
    command: "get_ordered_tablet_safe_trim_row_count",
    table: (area) => area.path("queue"),
    parameters: (area) => ({
      requests: [mapOf({ path: area.path("queue"), tablet_index: 0n, timestamp: 1n })],
    }),
  },
  { command: "fetch_queue_chunks", parameters: onPath("queue") },
  {
    command: "attach_queue_chunks",
    prepare: (area) =>
      area.node("table", "exported", {
        schema: [
          { name: "$timestamp", type: "uint64" },
          { name: "$cumulative_data_weight", type: "int64" },
          { name: "data", type: "string" },
          { name: "secret", type: "string" },
        ],
      }),
    parameters: (area) => ({ path: area.path("exported"), source_path: area.path("queue"), chunk_ids: [] }),
  },
];

const onSubjects: Scenario[] = [
  { command: "add_member", parameters: (area) => ({ group: area.group, member: area.user }) },
  {
    command: "remove_member",
    prepare: async (area) => {
      await area.cluster.root.execute("add_member", { group: area.group, member: "guest" });
    },
    parameters: (area) => ({ group: area.group, member: "guest" }),
  },
];

/** Commands that ask for nothing; `execute_batch` is tried with one that does. */
const openToAll: Scenario[] = [
  { command: "parse_ypath", parameters: onPath("src") },
  { command: "get_version", parameters: () => ({}) },
  { command: "get_supported_features", parameters: () => ({}) },
  { command: "discover_proxies", parameters: () => ({ type: "http" }) },
  { command: "get_current_user", parameters: () => ({}) },
  { command: "generate_timestamp", parameters: () => ({}) },
  {
    command: "check_permission",
    parameters: (area) => ({ user: area.user, permission: "read", path: area.path("src") }),
  },
  {
    command: "check_permission_by_acl",
    parameters: (area) => ({ user: area.user, permission: "read", acl: [] }),
  },
  { command: "start_transaction", parameters: () => ({}) },
  { command: "start_tx", parameters: () => ({}) },
  { command: "ping_transaction", parameters: () => ({ transaction_id: "#transaction" }) },
  { command: "ping_tx", parameters: () => ({ transaction_id: "#transaction" }) },
  { command: "commit_transaction", parameters: () => ({ transaction_id: "#transaction" }) },
  { command: "commit_tx", parameters: () => ({ transaction_id: "#transaction" }) },
  { command: "execute_batch", parameters: () => ({ requests: [] }) },
];

export const scenarios: readonly Scenario[] = [
  ...reading,
  ...setting,
  {
    command: "multiset_attributes",
    conditions: [otherAttributes],
    parameters: onPath("src/@"),
    body: "{note=1}",
  },
  ...attributeScenarios("multiset_attributes"),
  ...creating,
  ...copying("copy"),
  ...copying("move"),
  ...removing,
  ...inTransaction,
  ...onTablets,
  ...onReplicas,
  ...onRows,
  ...onQueues,
  ...onSubjects,
  ...openToAll,
];

/** Tested elsewhere, with what their rights are about. */
export const elsewhere: Readonly<Record<string, string>> = {
  abort_transaction: "needs a user who is not in `users`: below in commands.test.ts",
  abort_tx: "the same",
  issue_token: "the tests of authentication",
  revoke_token: "the tests of authentication",
  list_user_tokens: "the tests of authentication",
  set_user_password: "the tests of authentication",
};
