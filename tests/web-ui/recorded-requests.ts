/**
 * What the web UI (ytsaurus-ui 3.22) asks a cluster for while a user opens the cluster, walks to a table and
 * looks at its tabs, in this order. The parameters are those the pages send; the objects are those of the test:
 * queue `//tmp/q`, consumer `//tmp/c`, sorted table `//tmp/t`, static table `//tmp/s`, folder `//tmp/папка`.
 * Which part of the UI sends them: packages/ui/src/server/components/{cluster-params,cluster-queries}.ts and
 * packages/ui/src/ui/store/actions/{global,navigation,system}, store/api of github.com/ytsaurus/ytsaurus-ui.
 */

/** A command of the API. */
export interface RecordedCommand {
  /** The page or tab, and what it wants. */
  readonly page: string;
  readonly api: "v3" | "v4";
  readonly command: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** For `execute_batch`: the items that may answer «there is no such node» (500), as the UI expects it. */
  readonly mayBeMissing?: readonly number[];
}

/** A route that is no command. */
export interface RecordedRoute {
  readonly page: string;
  readonly path: string;
}

const suppressSync = { suppress_transaction_coordinator_sync: true, suppress_upstream_sync: true };
const maxSize = { max_size: 1_000_000 };
const fromCache = { read_from: "cache", disable_per_user_cache: true };

/** JSON in which every value says its type. */
const typed = { $value: "json", $attributes: { stringify: true, annotate_with_types: true } };

function webJson(more: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    $value: "web_json",
    $attributes: {
      field_weight_limit: 16_384,
      string_weight_limit: 1_638,
      max_selected_column_count: 50,
      max_all_column_names_count: 3_000,
      ...more,
    },
  };
}

const readTable = {
  dump_error_into_response: true,
  omit_inaccessible_columns: true,
  omit_inaccessible_rows: true,
};

/** What the navigation loads of every node. */
const navigationAttributes: readonly string[] =
  `_format _read_schema _restore_path _yql_key_meta _yql_op_id _yql_row_spec _yql_subkey_meta _yql_type
  _yql_value_meta access_time account acl annotation annotation_path atomicity broken chunk_count
  chunk_row_count cluster_name compressed_data_size compression_codec compression_ratio creation_time
  data_weight default_disk_space disk_space dynamic effective_expiration enable_dynamic_store_read
  erasure_codec expiration_time expiration_timeout id in_memory_mode key key_columns
  leader_controller_address lock_count lock_mode locks mode modification_time monitoring_cluster
  monitoring_project optimize_for owner path pipeline_format_version primary_medium
  remount_needed_tablet_count replica_path replicated_table_options replication_factor resource_usage schema
  schema_mode security_tags sorted sorted_by start_time state tablet_cell_bundle tablet_count
  tablet_error_count tablet_state target_path timeout title treat_as_queue_consumer treat_as_queue_producer
  type uncompressed_data_size`.split(/\s+/);

/** What a folder's page loads of every node in it. */
const listAttributes: readonly string[] = [
  "type",
  "dynamic",
  "row_count",
  "unmerged_row_count",
  "chunk_row_count",
  "modification_time",
  "creation_time",
  "resource_usage",
  "sorted",
  "data_weight",
  "account",
  "target_path",
  "broken",
  "lock_count",
  "tablet_state",
  "_restore_path",
  "expiration_time",
  "expiration_timeout",
  "effective_expiration",
  "treat_as_queue_consumer",
  "treat_as_queue_producer",
  "path",
];

interface BatchItem {
  readonly command: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

const get = (path: string, more: Readonly<Record<string, unknown>> = {}): BatchItem => ({
  command: "get",
  parameters: { path, ...more },
});

const list = (path: string, more: Readonly<Record<string, unknown>> = {}): BatchItem => ({
  command: "list",
  parameters: { path, ...more },
});

function batch(
  page: string,
  requests: readonly BatchItem[],
  more: {
    readonly api?: "v3" | "v4";
    readonly mayBeMissing?: readonly number[];
    readonly typed?: boolean;
  } = {},
): RecordedCommand {
  return {
    page,
    api: more.api ?? "v3",
    command: "execute_batch",
    parameters: { requests, ...(more.typed === true ? { output_format: typed } : {}) },
    ...(more.mayBeMissing === undefined ? {} : { mayBeMissing: more.mayBeMissing }),
  };
}

function single(
  page: string,
  command: string,
  parameters: Readonly<Record<string, unknown>>,
  api: "v3" | "v4" = "v3",
): RecordedCommand {
  return { page, api, command, parameters };
}

/** Before anything is drawn, without commands. */
export const recordedRoutes: readonly RecordedRoute[] = [
  { page: "cluster: who is there", path: "/auth/whoami" },
  { page: "cluster: version", path: "/version" },
  { page: "cluster: heavy proxies", path: "/hosts" },
  { page: "system: HTTP proxies", path: "/hosts/all" },
  { page: "components: versions", path: "/internal/discover_versions/v2" },
];

/** The cluster's page. */
export const clusterRequests: readonly RecordedCommand[] = [
  batch("cluster: masters", [list("//sys/primary_masters", suppressSync)]),
  batch(
    "cluster: parameters",
    [
      list("//sys/media", suppressSync),
      get("//sys/scheduler/orchid/service/version", suppressSync),
      get("//sys/@ui_config", suppressSync),
      get("//sys/@ui_config_dev_overrides", suppressSync),
    ],
    { mayBeMissing: [1, 2, 3] },
  ),
  batch("cluster: is the user an administrator", [
    {
      command: "check_permission_by_acl",
      parameters: {
        user: "root",
        permission: "write",
        acl: [{ subjects: ["admins"], permissions: ["write"], action: "allow" }],
      },
    },
  ]),
  single("cluster: features", "get_supported_features", {}),
  batch("cluster: usable accounts", [get("//sys/users/root/@usable_accounts")]),
  batch("cluster: accounts", [
    get("//sys/accounts/tmp", {
      attributes: [
        "diskSpaceLimit",
        "responsibles",
        "totalDiskSpace",
        "resource_limits",
        "resource_usage",
        "committed_resource_usage",
        "recursive_resource_usage",
        "recursive_committed_resource_usage",
        "recursive_violated_resource_limits",
        "allow_children_limit_overcommit",
        "total_children_resource_limits",
        "name",
      ],
    }),
  ]),
  batch("cluster: last visited paths", [
    get("//tmp/@", {
      attributes: ["path", "treat_as_queue_consumer", "treat_as_queue_producer", "type", "dynamic", "sorted"],
    }),
  ]),
];

/** The page of any node: its attributes, and what the user may do with it. */
function navigationRequests(path: string, account: string): readonly RecordedCommand[] {
  const attributes = { path: `${path}/@`, attributes: navigationAttributes };
  return [
    batch(`navigation of ${path}: table or not`, [get(`${path}/@type`), get(`${path}/@dynamic`)], {
      mayBeMissing: [1],
    }),
    batch(`navigation of ${path}: attributes`, [{ command: "get", parameters: attributes }], { typed: true }),
    batch(`navigation of ${path}: mount config`, [get(`${path}/@mount_config`)], { mayBeMissing: [0] }),
    batch(`navigation of ${path}: permissions`, [
      { command: "check_permission", parameters: { user: "root", permission: "write", path } },
      {
        command: "check_permission",
        parameters: { user: "root", permission: "use", path: `//sys/accounts/${account}` },
      },
    ]),
    batch(`attributes of ${path}`, [get(`${path}/@`)], { typed: true }),
    batch(`user attributes of ${path}`, [
      get(`${path}/@user_attribute_keys`),
      get(`${path}/@`, { attributes: ["annotation", "note"] }),
    ]),
    batch(`access control of ${path}`, [
      get(`${path}/@effective_acl`),
      get(`${path}/@acl`),
      get(`${path}/@revision`),
      get(`${path}/@inherit_acl`),
    ]),
    single(`locks of ${path}`, "get", { path: `${path}/@locks` }),
  ];
}

const fieldsOf = (names: readonly string[]): string => names.map((name) => `[${name}]`).join(", ");

/** The navigation: folders first, then tables and their tabs. */
export const navigation: readonly RecordedCommand[] = [
  ...navigationRequests("//tmp", "tmp"),
  single("navigation of //tmp: nodes", "list", { path: "//tmp", attributes: listAttributes }),
  batch(
    "navigation of //tmp: resources",
    ["a-link", "c", "q", "s", "t"].map((name) =>
      get(`//tmp/${name}&/@recursive_resource_usage`, { timeout: 60_000 }),
    ),
  ),
  ...navigationRequests("//tmp/папка", "tmp"),
  single("navigation of //tmp/папка: nodes", "list", { path: "//tmp/папка", attributes: listAttributes }),
  single("navigation of / : nodes", "list", { path: "/", attributes: listAttributes }),
  single("navigation of //sys: nodes", "list", { path: "//sys", attributes: listAttributes }),
  ...navigationRequests("//tmp/s", "tmp"),
  single("static table: its columns", "read_table", {
    ...readTable,
    path: "//tmp/s[#0:#0]",
    table_reader: { workload_descriptor: { category: "user_interactive" } },
    output_format: webJson({ column_names: [] }),
  }),
  single("static table: a page of rows", "read_table", {
    ...readTable,
    path: "//tmp/s[#0:#101]",
    table_reader: { workload_descriptor: { category: "user_interactive" } },
    output_format: webJson({ value_format: "yql", column_names: ["number", "text"] }),
  }),
  ...navigationRequests("//tmp/t", "tmp"),
  single("dynamic table: permissions of columns", "check_permission", {
    columns: ["key", "value"],
    permission: "read",
    user: "root",
    path: "//tmp/t",
  }),
  single("dynamic table: its columns", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["key", "value"])} FROM [//tmp/t] ORDER BY [key] ASC LIMIT 0`,
    output_format: webJson({ column_names: [] }),
  }),
  single("dynamic table: a page of rows", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["key", "value"])} FROM [//tmp/t] ORDER BY [key] ASC LIMIT 101`,
    output_format: webJson({ column_names: ["key", "value"] }),
  }),
  single("dynamic table: the next page", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["key", "value"])} FROM [//tmp/t] WHERE ([key]) >= (2) ORDER BY [key] ASC LIMIT 101`,
    output_format: webJson({ value_format: "yql" }),
  }),
  single("dynamic table: the page before", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["key", "value"])} FROM [//tmp/t] WHERE ([key]) <= (2) ORDER BY [key] DESC LIMIT 101`,
    output_format: webJson(),
  }),
  single("dynamic table: number of tablet errors", "get", { path: "//tmp/t/@tablet_error_count" }),
  single("dynamic table: tablets", "get", { path: "//tmp/t/@tablets", output_format: typed }),
  single(
    "dynamic table: tablet errors",
    "get_tablet_errors",
    { path: "//tmp/t", output_format: typed },
    "v4",
  ),
  ...navigationRequests("//tmp/q", "tmp"),
  single("queue: rows", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["$tablet_index", "$row_index", "data"])} FROM [//tmp/q] ORDER BY [$tablet_index] ASC, [$row_index] ASC LIMIT 101`,
    output_format: webJson({ column_names: ["$tablet_index", "$row_index", "data"] }),
  }),
  single("queue: rows of the next page", "select_rows", {
    ...readTable,
    query: `${fieldsOf(["$tablet_index", "$row_index", "data"])} FROM [//tmp/q] WHERE ([$tablet_index], [$row_index]) >= (0, 1) ORDER BY [$tablet_index] ASC, [$row_index] ASC LIMIT 101`,
    output_format: webJson({ column_names: ["$tablet_index", "$row_index", "data"] }),
  }),
  single("queue: tablets", "get", { path: "//tmp/q/@tablets", output_format: typed }),
  ...navigationRequests("//tmp/c", "tmp"),
];

/** The Queue and Consumer tabs; they need a queue agent. */
export const queueTabs = {
  queueStatus: single("queue tab: status, rates and registrations", "get", { path: "//tmp/q/@queue_status" }),
  queuePartitions: single("queue tab: partitions", "get", { path: "//tmp/q/@queue_partitions" }),
  queueExports: batch("queue tab: exports", [get("//tmp/q/@static_export_config")], { mayBeMissing: [0] }),
  consumerStatus: single("consumer tab: status and queues", "get", {
    path: "//tmp/c/@queue_consumer_status",
  }),
  /** The name of the queue is a key of the map, so its slashes are escaped. */
  consumerPartitions: single("consumer tab: partitions of a queue", "get", {
    path: "//tmp/c/@queue_consumer_partitions/primary:\\/\\/tmp\\/q",
  }),
  registrations: batch(
    "consumer tab: registrations",
    [
      { command: "list_queue_consumer_registrations", parameters: { queue_path: "//tmp/q" } },
      { command: "list_queue_consumer_registrations", parameters: { consumer_path: "//tmp/c" } },
    ],
    { api: "v4" },
  ),
} as const;

/** Registering and unregistering by the dialogs of the Queue tab; cluster-qualified paths. */
export const queueDialogs = {
  unregister: batch(
    "queue tab: unregister",
    [
      {
        command: "unregister_queue_consumer",
        parameters: {
          queue_path: "//tmp/q",
          consumer_path: { $value: "//tmp/c", $attributes: { cluster: "primary" } },
        },
      },
    ],
    { api: "v4" },
  ),
  register: batch(
    "queue tab: register",
    [
      {
        command: "register_queue_consumer",
        parameters: {
          vital: true,
          queue_path: { $value: "//tmp/q", $attributes: { cluster: "primary" } },
          consumer_path: { $value: "//tmp/c", $attributes: { cluster: "primary" } },
        },
      },
    ],
    { api: "v4" },
  ),
} as const;

/** The pages of the system and the administration; what is missing there is drawn as missing. */
export const systemRequests: readonly RecordedCommand[] = [
  batch(
    "system: masters",
    [
      get("//sys/primary_masters", { attributes: ["annotations", "maintenance"], ...suppressSync }),
      get("//sys/secondary_masters", { attributes: ["annotations", "maintenance"], ...suppressSync }),
      get("//sys/timestamp_providers", { attributes: ["annotations"], ...suppressSync }),
      get("//sys/discovery_servers", { attributes: ["annotations"], ...suppressSync }),
      get("//sys/queue_agents/instances", { attributes: ["annotations", "maintenance"], ...suppressSync }),
      get("//sys/@master_alerts", suppressSync),
    ],
    { mayBeMissing: [2, 3] },
  ),
  batch("system: nodes", [
    list("//sys/racks", { ...suppressSync, ...maxSize }),
    list("//sys/cluster_nodes", {
      attributes: ["state", "banned", "decommissioned", "alert_count", "full", "rack"],
      ...suppressSync,
      ...fromCache,
      ...maxSize,
    }),
  ]),
  batch("system: resources", [
    get("//sys/cluster_nodes/@", suppressSync),
    list("//sys/rpc_proxies", { attributes: ["role", "banned"], ...suppressSync }),
  ]),
  batch("bundles and accounts", [
    list("//sys/tablet_cell_bundles", {
      attributes: ["health", "nodes", "options", "resource_limits", "resource_usage", "tablet_cell_count"],
      ...fromCache,
      ...maxSize,
    }),
    list("//sys/tablet_cells", {
      attributes: ["tablet_cell_bundle", "total_statistics", "peers", "local_health"],
    }),
    list("//sys/accounts", { attributes: ["resource_limits", "resource_usage", "parent_name", "acl"] }),
    list("//sys/users", { attributes: ["banned", "member_of", "request_limits"] }),
    list("//sys/groups", { attributes: ["members", "member_of"] }),
    list("//sys/transactions", { attributes: ["start_time", "title", "owner", "timeout"] }),
  ]),
  single("an error: is access managed elsewhere", "exists", { path: "//sys/idm/lock" }),
];
