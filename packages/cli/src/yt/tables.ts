/** Commands on static tables and files. */
import { flag, hybrid, option, rowFormat } from "./argument.ts";
import type { YtCommand, YtFamily } from "./command.ts";

const compressed = flag("is_stream_compressed", "standard input is compressed with gzip already", {
  options: ["--compressed"],
  parameters: [],
});
const noCompression = flag("no_compression", "as things are in qyt, which sends what it reads", {
  parameters: [],
});

const readTable: Omit<YtCommand, "name"> = {
  summary: "Print the rows of a table.",
  arguments: [
    hybrid("table", "the table, possibly with columns and ranges: '//tmp/t{a,b}[#0:#10]'", "path", {
      parameters: ["path"],
    }),
    rowFormat("format of the rows", ["output_format"]),
    option("table_reader", "yson", "options of the reader"),
    option("control_attributes", "yson", "which control attributes stand between rows"),
    flag("unordered", "in any order"),
    flag("as_json_list", "with JSON: one list instead of a row on each line", { parameters: [] }),
    flag("omit_inaccessible_columns", "leave out columns that the user may not read"),
    flag("omit_inaccessible_rows", "leave out rows that the user may not read"),
  ],
  examples: ["read-table //tmp/table --format json", "read-table '//tmp/table{key}[#0:#10]' --format dsv"],
  run: async () => (await import("./runners/read-table.ts")).readTable,
};

const writeTable: Omit<YtCommand, "name"> = {
  summary: "Write rows from standard input to a table, which is created when it is not there.",
  details:
    "Replaces its rows; '<append=%true>//tmp/t' adds to them. All rows become visible at once, at the end.",
  arguments: [
    hybrid("table", "the table", "path", { parameters: ["path"] }),
    rowFormat("format of the rows", ["input_format"]),
    option("table_writer", "yson", "options of the writer"),
    compressed,
    noCompression,
  ],
  examples: [`echo '{"key": 1}' | qyt write-table //tmp/table --format json`],
  run: async () => (await import("./runners/write.ts")).writeTable,
};

const readFile: Omit<YtCommand, "name"> = {
  summary: "Print a file.",
  arguments: [
    hybrid("path", "the file"),
    option("file_reader", "yson", "options of the reader"),
    option("offset", "integer", "first byte"),
    option("length", "integer", "how many bytes"),
  ],
  examples: ["read-file //tmp/file > file"],
  run: { command: "read_file", method: "GET", output: { kind: "stream" } },
};

const writeFile: Omit<YtCommand, "name"> = {
  summary: "Write standard input to a file, which is created when it is not there.",
  arguments: [
    hybrid("destination", "the file", "path", { parameters: ["path"] }),
    option("file_writer", "yson", "options of the writer"),
    compressed,
    flag("executable", "set the attribute `executable`", { parameters: [] }),
    flag("compute_md5", "keep the MD5 of the content in the attribute `md5`"),
    noCompression,
  ],
  examples: ["write-file //tmp/file < file"],
  run: async () => (await import("./runners/write.ts")).writeFile,
};

export const files: YtFamily = {
  title: "Files",
  commands: [
    { name: "read-file", aliases: ["download"], ...readFile },
    { name: "write-file", aliases: ["upload"], ...writeFile },
  ],
};

export const tables: YtFamily = {
  title: "Static tables",
  commands: [
    { name: "read-table", aliases: ["read"], ...readTable },
    { name: "write-table", aliases: ["write"], ...writeTable },
    {
      name: "read-blob-table",
      summary: "Print the blob that a table keeps in parts.",
      arguments: [
        hybrid(
          "table",
          "the table, sorted by the index of the part; with a key in front: '//tmp/t[name]'",
          "path",
          {
            parameters: [],
          },
        ),
        option("part_index_column_name", "text", "column with the index of the part; default: part_index"),
        option("data_column_name", "text", "column with the data; default: data"),
        option("part_size", "integer", "size of a part; default: the attribute part_size of the table"),
        option("table_reader", "yson", "options of the reader"),
      ],
      examples: ["read-blob-table //tmp/blobs --part-size 4194304 > blob"],
      run: async () => (await import("./runners/read-blob-table.ts")).readBlobTable,
    },
    {
      name: "create-temp-table",
      summary: "Create a table with a random name that is removed after a while, and print its path.",
      arguments: [
        option("path", "path", "directory; default: one of the user below //tmp/yt_wrapper", {
          parameters: [],
        }),
        option("name_prefix", "text", "how the name begins", { parameters: [] }),
        option(
          "expiration_timeout",
          "integer",
          "when it is removed, in milliseconds from now; default: a week",
          {
            parameters: [],
          },
        ),
        option("attributes", "yson", "attributes, a map in YSON", { parameters: [] }),
      ],
      examples: ["create-temp-table --path //tmp --name-prefix sorted_"],
      run: async () => (await import("./runners/create-temp-table.ts")).createTempTable,
    },
    {
      name: "get-table-columnar-statistics",
      summary: "Print how much data each column of tables has.",
      arguments: [
        option("paths", "path", "a table with its columns: '//tmp/t{a,b}'", {
          options: ["--path"],
          repeat: "append",
          required: true,
        }),
      ],
      examples: ["get-table-columnar-statistics --path '//tmp/table{key}'"],
      run: { command: "get_table_columnar_statistics", method: "GET", output: { kind: "printed" } },
    },
    {
      name: "alter-table",
      summary: "Change the schema of a table, or make it dynamic or static.",
      arguments: [
        hybrid("path", "the table"),
        option("schema", "yson", "the new schema"),
        flag("dynamic", "make it dynamic or static", { off: ["--static"] }),
        option("upstream_replica_id", "text", "replica of a replicated table that it is to be"),
      ],
      examples: [
        "alter-table //tmp/table --dynamic",
        "alter-table //tmp/t --schema '[{name=data; type=string}]'",
      ],
      run: { command: "alter_table", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
  ],
};
