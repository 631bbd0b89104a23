/** Commands on nodes and attributes of Cypress. */
import {
  answerFormat,
  flag,
  hybrid,
  option,
  positional,
  readFrom,
  suppressSync,
  toggle,
} from "./argument.ts";
import type { YtFamily } from "./command.ts";

const recursive = flag("recursive", "create the parents that are missing", {
  options: ["-r", "--recursive"],
});
const force = flag("force", "replace what is at the path", { options: ["-f", "--force"] });
const ignoreExisting = flag("ignore_existing", "do nothing when there is such a node", {
  options: ["-i", "--ignore-existing"],
});
const lockExisting = flag("lock_existing", "with --ignore-existing: lock the node that is there", {
  options: ["-l", "--lock-existing"],
});
const maxSize = option("max_size", "integer", "how many items are answered at most");
const attributes = option("attributes", "text", "an attribute to answer with each node", {
  options: ["--attribute"],
  repeat: "append",
});
const longFormat = flag("long_format", "print type, account, size and time of each node", {
  options: ["-l", "--long-format"],
  parameters: [],
});
const recursiveUsage = flag("recursive_resource_usage", "with -l: the size of the whole subtree", {
  parameters: [],
});
const preserve = [
  toggle("preserve_account", "keep the account, or not"),
  toggle("preserve_owner", "keep the owner, or not"),
  toggle("preserve_acl", "keep the access control list, or not"),
  flag("preserve_creation_time", "keep the time of creation"),
  flag("preserve_modification_time", "keep the time of modification"),
  flag("preserve_expiration_time", "keep the expiration time"),
  flag("preserve_expiration_timeout", "keep the expiration timeout"),
];
const quotaCheck = flag("pessimistic_quota_check", "do not check beforehand that the account has room", {
  options: [],
  off: ["--no-pessimistic-quota-check"],
});

export const cypress: YtFamily = {
  title: "Cypress",
  commands: [
    {
      name: "exists",
      summary: "Tell whether there is a node or an attribute.",
      arguments: [hybrid("path", "node or attribute"), suppressSync, ...readFrom],
      examples: ["exists //tmp/queue/@schema"],
      run: { command: "exists", method: "GET", output: { kind: "field", names: ["value"] } },
    },
    {
      name: "list",
      summary: "List the children of a node.",
      details: "Without a format: sorted, one on a line. --attribute has an effect only with --format.",
      arguments: [
        hybrid("path", "the node"),
        { ...longFormat, group: "form" },
        { ...answerFormat, group: "form" },
        attributes,
        maxSize,
        recursiveUsage,
        suppressSync,
        ...readFrom,
        flag("absolute", "print whole paths", { group: "form", parameters: [] }),
      ],
      examples: ["list //tmp", "list //tmp -l", "list //tmp --format json --attribute type"],
      run: async () => (await import("./runners/list.ts")).list,
    },
    {
      name: "find",
      summary: "Print the paths of a subtree that meet all conditions.",
      arguments: [
        hybrid("path", "where to look"),
        option("name", "text", "pattern of the last part of the path, with *, ? and [ ]", {
          options: ["--name", "-name"],
        }),
        option("type", "text", "type of node"),
        option("account", "text", "account"),
        option("owner", "text", "owner"),
        flag("follow_links", "go on behind links"),
        option("attribute_filter", "text", "attributes that must have these values, e.g. 'k1=v1;k2=v2'"),
        option("depth", "integer", "how deep to go"),
        longFormat,
        recursiveUsage,
        option("time_type", "text", "with -l: which time to print", {
          choices: ["access_time", "modification_time", "creation_time"],
        }),
        ...readFrom,
      ],
      examples: [
        "find //home/shop --type table --attribute-filter dynamic=%true",
        "find //tmp --name 'q*' -l",
      ],
      run: async () => (await import("./runners/find.ts")).find,
    },
    {
      name: "create",
      summary: "Create a node or another object, and print its id.",
      details:
        "The types queue_consumer and queue_producer make tables with the schema that is due, mounted.",
      arguments: [
        hybrid(
          "type",
          "table, queue_consumer, queue_producer, map_node, document, file, user, group, …",
          "text",
        ),
        hybrid("path", "where; none for users, groups and the like", "path", { required: false }),
        recursive,
        ignoreExisting,
        lockExisting,
        force,
        option("attributes", "yson", "attributes, a map in YSON"),
      ],
      examples: [
        "create table //tmp/queue --attributes '{dynamic=%true; schema=[{name=data; type=string}]}'",
        "create queue_consumer //tmp/consumer",
      ],
      run: {
        command: "create",
        method: "POST",
        isVolatile: true,
        output: { kind: "field", names: ["node_id", "object_id"] },
      },
    },
    {
      name: "get",
      summary: "Print a node with all that is below it, or an attribute.",
      arguments: [
        hybrid("path", "node or attribute"),
        maxSize,
        answerFormat,
        attributes,
        suppressSync,
        ...readFrom,
      ],
      examples: ["get //tmp/queue/@queue_status", "get //tmp/queue/@schema --format json"],
      run: {
        command: "get",
        method: "GET",
        fixed: { return_only_value: true },
        output: { kind: "formatted", endsLine: true },
      },
    },
    {
      name: "set",
      summary: "Write a value to a node or an attribute.",
      details: "Without a value on the command line it is read from standard input.",
      arguments: [
        hybrid("path", "node or attribute"),
        option("format", "format", "format of the value; default: yson", { parameters: [] }),
        recursive,
        flag("force", "overwrite a node of another kind", { options: ["-f", "--force"] }),
        suppressSync,
        hybrid("value", "the value", "text", { required: false, parameters: [] }),
      ],
      examples: [
        "set //tmp/queue/@auto_trim_config '{enable=%true}'",
        "set //tmp/document --format json < value.json",
      ],
      run: async () => (await import("./runners/set.ts")).set,
    },
    {
      name: "set-attribute",
      summary: "Write an attribute of a node, with -r of all nodes below it too.",
      arguments: [
        hybrid("path", "the node", "path", { parameters: [] }),
        positional("name", "the attribute", "text", { parameters: [] }),
        positional("value", "the value in YSON", "yson", { parameters: [] }),
        flag("recursive", "in the whole subtree", { options: ["-r", "--recursive"], parameters: [] }),
      ],
      examples: ["set-attribute //tmp/queue commit_ordering strong"],
      run: async () => (await import("./runners/attributes.ts")).setAttribute,
    },
    {
      name: "copy",
      summary: "Copy a node with all that is below it.",
      arguments: [
        hybrid("source_path", "what"),
        hybrid("destination_path", "where to; there must be nothing"),
        ...preserve,
        recursive,
        ignoreExisting,
        lockExisting,
        force,
        quotaCheck,
      ],
      examples: ["copy //tmp/table //tmp/copy"],
      run: { command: "copy", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "move",
      summary: "Move a node with all that is below it.",
      arguments: [
        hybrid("source_path", "what"),
        hybrid("destination_path", "where to; there must be nothing"),
        ...preserve,
        recursive,
        force,
        quotaCheck,
      ],
      examples: ["move //tmp/table //tmp/elsewhere"],
      run: { command: "move", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "link",
      summary: "Create a link.",
      arguments: [
        hybrid("target_path", "where it leads; must be there"),
        hybrid("link_path", "the link; there must be nothing"),
        recursive,
        ignoreExisting,
        lockExisting,
        force,
        option("attributes", "yson", "attributes of the link, a map in YSON"),
      ],
      examples: ["link //tmp/queue //tmp/link"],
      run: { command: "link", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "remove",
      summary: "Remove a node or an attribute.",
      arguments: [
        hybrid("path", "node or attribute"),
        flag("recursive", "with all that is below it", { options: ["-r", "--recursive"] }),
        flag("force", "do nothing when there is none", { options: ["-f", "--force"] }),
      ],
      examples: ["remove //tmp/queue", "remove //tmp/directory --recursive --force"],
      run: { command: "remove", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "remove-attribute",
      summary: "Remove an attribute of a node, with -r of all nodes below it too.",
      arguments: [
        hybrid("path", "the node", "path", { parameters: [] }),
        positional("name", "the attribute", "text", { parameters: [] }),
        flag("recursive", "in the whole subtree", { options: ["-r", "--recursive"], parameters: [] }),
      ],
      examples: ["remove-attribute //tmp/queue auto_trim_config"],
      run: async () => (await import("./runners/attributes.ts")).removeAttribute,
    },
    {
      name: "concatenate",
      summary: "Put the contents of files or static tables one after the other into another.",
      arguments: [
        option("source_paths", "path", "a source", { options: ["--src"], repeat: "append", required: true }),
        option("destination_path", "path", "where to; created when it is not there", {
          options: ["--dst"],
          required: true,
        }),
      ],
      examples: ["concatenate --src //tmp/a --src //tmp/b --dst //tmp/both"],
      run: async () => (await import("./runners/concatenate.ts")).concatenate,
    },
    {
      name: "externalize",
      summary: "Move a subtree to another master cell.",
      arguments: [
        hybrid("path", "the node"),
        option("cell_tag", "integer", "tag of the cell", { required: true }),
      ],
      examples: ["externalize //home/shop --cell-tag 2"],
      run: { command: "externalize", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "internalize",
      summary: "Take a subtree back from another master cell.",
      arguments: [
        hybrid("path", "the node"),
        option("cell_tag", "integer", "tag of the cell", { required: true, parameters: [] }),
      ],
      examples: ["internalize //home/shop --cell-tag 2"],
      run: { command: "internalize", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
  ],
};
