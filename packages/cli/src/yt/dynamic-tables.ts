/** Commands on dynamic tables and their rows. */
import {
  type Argument,
  answerFormat,
  flag,
  hybrid,
  option,
  positional,
  rowFormat,
  toggle,
} from "./argument.ts";
import type { YtFamily } from "./command.ts";

const tablets: readonly Argument[] = [
  hybrid("path", "the table"),
  option("first_tablet_index", "integer", "first tablet; default: 0"),
  option("last_tablet_index", "integer", "last tablet; default: the last one"),
];
const sync = flag("sync", "wait until it is done", { parameters: [] });
const table = hybrid("table", "the table", "path", { parameters: ["path"] });

const writing: readonly Argument[] = [
  option("atomicity", "text", "of the write", { choices: ["full", "none"] }),
  option("durability", "text", "whether the answer waits for the disk", { choices: ["sync", "async"] }),
  toggle("require_sync_replica", "of a replicated table: refuse without a synchronous replica, or not"),
];

const queryOptions: readonly Argument[] = [
  hybrid("query", "the query, without the word `select`", "text"),
  option("timestamp", "integer", "read the table as it was then"),
  option("input_row_limit", "integer", "how many rows may be read"),
  option("output_row_limit", "integer", "how many rows may be answered"),
  flag("allow_full_scan", "allow a query that reads whole tables, or forbid it", {
    off: ["--forbid-full-scan"],
  }),
  flag("allow_join_without_index", "allow a join that no index helps, or forbid it", {
    off: ["--forbid-join-without-index"],
  }),
  option("execution_pool", "text", "pool that the query runs in"),
  rowFormat("format of the rows", ["output_format"]),
  option("syntax_version", "integer", "version of the query language"),
  option("udf_registry_path", "text", "where functions of users are"),
];

export const dynamicTables: YtFamily = {
  title: "Dynamic tables",
  commands: [
    {
      name: "mount-table",
      summary: "Make the tablets of a table ready to read and write.",
      arguments: [
        ...tablets,
        flag("freeze", "to read only"),
        sync,
        option("cell_id", "text", "the cell that is to serve them", { group: "cell" }),
        option("target_cell_ids", "text", "a cell for each tablet", { repeat: "some", group: "cell" }),
      ],
      examples: ["mount-table //tmp/queue --sync"],
      run: async () => (await import("./runners/tablets.ts")).mount,
    },
    {
      name: "unmount-table",
      summary: "Take the tablets of a table out of service.",
      arguments: [...tablets, flag("force", "at once, without waiting for transactions"), sync],
      examples: ["unmount-table //tmp/queue --sync"],
      run: async () => (await import("./runners/tablets.ts")).unmount,
    },
    {
      name: "remount-table",
      summary: "Let mounted tablets take over settings that have changed.",
      arguments: tablets,
      examples: ["remount-table //tmp/queue"],
      run: { command: "remount_table", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "freeze-table",
      summary: "Let tablets be read only.",
      arguments: [...tablets, sync],
      examples: ["freeze-table //tmp/queue --sync"],
      run: async () => (await import("./runners/tablets.ts")).freeze,
    },
    {
      name: "unfreeze-table",
      summary: "Let frozen tablets be written again.",
      arguments: [...tablets, sync],
      examples: ["unfreeze-table //tmp/queue --sync"],
      run: async () => (await import("./runners/tablets.ts")).unfreeze,
    },
    {
      name: "reshard-table",
      summary: "Give an unmounted table other tablets.",
      arguments: [
        ...tablets,
        positional("pivot_keys", "keys at which tablets begin, each a list in YSON", "yson", {
          repeat: "many",
          required: false,
        }),
        option("tablet_count", "integer", "how many tablets"),
        sync,
        flag("uniform", "of the same width of keys"),
        option("slicing_accuracy", "number", "how even the slices are to be"),
        option("trimmed_row_counts", "integer", "of each new tablet of a queue", { repeat: "some" }),
        option("cumulative_data_weights", "integer", "of each new tablet of a queue", { repeat: "some" }),
        toggle("enable_slicing", "let the server choose the keys by the data, or not"),
      ],
      examples: [
        "reshard-table //tmp/queue --tablet-count 4 --sync",
        "reshard-table //tmp/sorted '[]' '[100]'",
      ],
      run: async () => (await import("./runners/tablets.ts")).reshard,
    },
    {
      name: "reshard-table-automatic",
      summary: "Let the balancer reshard a table.",
      arguments: [hybrid("path", "the table"), { ...sync, parameters: ["keep_actions"] }],
      examples: ["reshard-table-automatic //tmp/sorted"],
      run: { command: "reshard_table_automatic", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "balance-tablet-cells",
      summary: "Let the balancer move the tablets of a bundle between cells.",
      arguments: [
        hybrid("bundle", "the bundle", "text"),
        option("tables", "text", "only these tables", { repeat: "many" }),
        { ...sync, parameters: ["keep_actions"] },
      ],
      examples: ["balance-tablet-cells default"],
      run: { command: "balance_tablet_cells", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "trim-rows",
      summary: "Remove the first rows of a partition of a queue.",
      arguments: [
        hybrid("path", "the queue"),
        positional("tablet_index", "the partition", "integer"),
        positional("trimmed_row_count", "index of the first row that stays", "integer"),
      ],
      examples: ["trim-rows //tmp/queue 0 42"],
      run: { command: "trim_rows", method: "POST", output: { kind: "none" } },
    },
    {
      name: "get-tablet-infos",
      summary: "Print row counts, times and errors of tablets.",
      arguments: [
        hybrid("path", "the table"),
        option("tablet_indexes", "integer", "which tablets", { repeat: "some" }),
        answerFormat,
      ],
      examples: ["get-tablet-infos //tmp/queue --tablet-indexes 0 1"],
      run: { command: "get_tablet_infos", method: "GET", output: { kind: "printed" } },
    },
    {
      name: "get-tablet-errors",
      summary: "Print the errors of the tablets of a table.",
      arguments: [
        hybrid("path", "the table"),
        option("limit", "integer", "of how many tablets"),
        answerFormat,
      ],
      examples: ["get-tablet-errors //tmp/queue"],
      run: { command: "get_tablet_errors", method: "GET", output: { kind: "printed" } },
    },
    {
      name: "alter-table-replica",
      summary: "Enable or disable a replica of a replicated table, or change its mode.",
      arguments: [
        positional("replica_id", "id of the replica", "text"),
        flag("enabled", "enable it, or disable it", { options: ["--enable"], off: ["--disable"] }),
        flag("enable_replicated_table_tracker", "let the tracker choose its mode, or not", {
          off: ["--disable-replicated-table-tracker"],
        }),
        option("mode", "text", "sync or async", { choices: ["sync", "async"] }),
      ],
      examples: ["alter-table-replica 1-2-2c5-4 --enable --mode sync"],
      run: { command: "alter_table_replica", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "select-rows",
      summary: "Print the rows that a query finds.",
      arguments: [
        ...queryOptions,
        flag("verbose_logging", "let the server log more of it"),
        flag("enable_code_cache", "let the server reuse compiled queries, or not", {
          off: ["--disable-code-cache"],
        }),
        option("replica_consistency", "text", "of a replicated table: which replicas may be read", {
          choices: ["none", "sync"],
        }),
        flag("enable_statistics", "print statistics of the query on standard error", {
          options: ["--print-statistics"],
        }),
        flag("merge_versioned_rows", "merge the versions of a row, or not", {
          off: ["--do-not-merge-versioned-rows"],
        }),
      ],
      examples: ["select-rows 'key, value from [//tmp/sorted] where key > 1' --format json"],
      run: { command: "select_rows", method: "GET", output: { kind: "stream" } },
    },
    {
      name: "explain-query",
      summary: "Print how a query would run.",
      arguments: queryOptions,
      examples: ["explain-query '* from [//tmp/sorted] where key = 1' --format '<format=pretty>yson'"],
      run: { command: "explain_query", method: "GET", output: { kind: "stream" } },
    },
    {
      name: "lookup-rows",
      summary: "Print the rows with the keys that stand on standard input.",
      arguments: [
        table,
        rowFormat("format of keys and rows", ["input_format", "output_format"]),
        option("timestamp", "integer", "read the table as it was then"),
        flag("versioned", "all versions of each row"),
        option("replica_consistency", "text", "of a replicated table: which replicas may be read", {
          choices: ["none", "sync"],
        }),
        option("column_names", "text", "a column to print", { options: ["--column-name"], repeat: "append" }),
      ],
      examples: ["echo '{key=1}' | qyt lookup-rows //tmp/sorted --format '<format=text>yson'"],
      run: { command: "lookup_rows", method: "PUT", hasBody: true, output: { kind: "stream" } },
    },
    {
      name: "insert-rows",
      summary: "Write rows from standard input to a dynamic table.",
      arguments: [
        table,
        rowFormat("format of the rows", ["input_format"]),
        ...writing,
        toggle("update", "leave the other columns of the row as they are, or not"),
        toggle("aggregate", "aggregate columns instead of overwriting them, or not"),
        option("lock_type", "text", "lock of the rows", { options: ["--lock_type", "--lock-type"] }),
      ],
      examples: ["echo '{data=foo}' | qyt insert-rows //tmp/queue --format yson"],
      run: {
        command: "insert_rows",
        method: "PUT",
        hasBody: true,
        isUnsafeToRepeat: true,
        output: { kind: "none" },
      },
    },
    {
      name: "delete-rows",
      summary: "Remove the rows with the keys that stand on standard input.",
      arguments: [table, rowFormat("format of the keys", ["input_format"]), ...writing],
      examples: ["echo '{key=1}' | qyt delete-rows //tmp/sorted --format yson"],
      run: { command: "delete_rows", method: "PUT", hasBody: true, output: { kind: "none" } },
    },
  ],
};
