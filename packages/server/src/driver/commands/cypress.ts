/** The tree's commands. Specified in: yt/yt/client/driver/cypress_commands.cpp. */
import { isMap, mapOf, type YsonValue, YtError } from "@qyt/base";
import { consumerSchema, producerSchema } from "@qyt/schema";
import { type CommandContext, defineCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext, readStructured, wantsBareValue } from "../request-context.ts";
import { treeAccess } from "./cypress-access.ts";
import { answerless, reading, writing } from "./kinds.ts";

const readParameters = {
  path: parameter.path,
  attributes: optional(parameter.yson),
  max_size: optional(parameter.int64),
};

function readOptions(parameters: { attributes: YsonValue | undefined; max_size: bigint | undefined }): {
  attributes?: YsonValue;
  maxSize?: number;
} {
  return {
    ...(parameters.attributes === undefined ? {} : { attributes: parameters.attributes }),
    ...(parameters.max_size === undefined ? {} : { maxSize: Number(parameters.max_size) }),
  };
}

function valueResponse(context: CommandContext, value: YsonValue): ReturnType<typeof structured> {
  return wantsBareValue(context) ? structured(value) : context.single("value", value);
}

const get = defineCommand({
  ...reading,
  name: "get",
  access: treeAccess.read,
  summary: "The content of a node, or an attribute.",
  parameters: readParameters,
  async execute(context, parameters) {
    const value = await context.services.cypress.get(cypressContext(context), {
      path: parameters.path.path,
      ...readOptions(parameters),
    });
    return valueResponse(context, value);
  },
});

const list = defineCommand({
  ...reading,
  name: "list",
  access: treeAccess.read,
  summary: "Names of the children, or of the attributes.",
  parameters: readParameters,
  async execute(context, parameters) {
    const value = await context.services.cypress.list(cypressContext(context), {
      path: parameters.path.path,
      ...readOptions(parameters),
    });
    return valueResponse(context, value);
  },
});

const exists = defineCommand({
  ...reading,
  name: "exists",
  access: treeAccess.exists,
  summary: "Whether a node or an attribute is there.",
  // `return_path`: another cluster asks where a link leads, for a user who needs no right on its target.
  parameters: { path: parameter.path, return_path: withDefault(parameter.boolean, false) },
  async execute(context, { path, return_path }) {
    const value = await context.services.cypress.exists(cypressContext(context), { path: path.path });
    if (!return_path || !context.isV4) {
      return context.single("value", value);
    }
    const view = context.services.cypress.view();
    const node = view.findNode(path.path);
    return structured(mapOf({ value, path: node === undefined ? undefined : view.pathOf(node) }));
  },
});

const set = defineCommand({
  name: "set",
  input: "structured",
  output: "structured",
  outputV3: "null",
  isVolatile: true,
  isHeavy: false,
  access: treeAccess.set,
  summary: "Sets a node's content or an attribute.",
  parameters: {
    path: parameter.path,
    recursive: withDefault(parameter.boolean, false),
    force: withDefault(parameter.boolean, false),
  },
  async execute(context, { path, recursive, force }) {
    const value = await readStructured(context);
    await context.services.cypress.set(cypressContext(context), { path: path.path, value, recursive, force });
    return context.nothing();
  },
});

const multisetAttributes = defineCommand({
  name: "multiset_attributes",
  versions: [4],
  input: "structured",
  output: "structured",
  isVolatile: true,
  isHeavy: false,
  access: treeAccess.multisetAttributes,
  summary: "Sets several attributes of a node at once.",
  parameters: { path: parameter.path, force: withDefault(parameter.boolean, false) },
  async execute(context, { path, force }) {
    const value = await readStructured(context);
    if (!isMap(value)) {
      throw new YtError("Attributes can only be set from a map");
    }
    await context.services.cypress.multisetAttributes(cypressContext(context), {
      path: path.path,
      attributes: value,
      force,
    });
    return context.nothing();
  },
});

/** The aliases that make a table with a fixed schema, mounted at once. */
const aliases = {
  queue_consumer: { schema: consumerSchema, flag: "treat_as_queue_consumer", title: "Create consumer" },
  queue_producer: { schema: producerSchema, flag: "treat_as_queue_producer", title: "Create queue producer" },
} as const;

function isAlias(type: string): type is keyof typeof aliases {
  return Object.hasOwn(aliases, type);
}

const create = defineCommand({
  ...writing,
  name: "create",
  access: treeAccess.create,
  summary: "Creates a node or an object; `queue_consumer` and `queue_producer` make mounted tables.",
  parameters: {
    type: parameter.string,
    path: optional(parameter.path),
    attributes: optional(parameter.map),
    recursive: withDefault(parameter.boolean, false),
    force: withDefault(parameter.boolean, false),
    ignore_existing: withDefault(parameter.boolean, false),
    lock_existing: withDefault(parameter.boolean, false),
    ignore_type_mismatch: withDefault(parameter.boolean, false),
  },
  async execute(context, parameters) {
    const alias = isAlias(parameters.type) ? aliases[parameters.type] : undefined;
    const attributes = new Map(parameters.attributes ?? []);
    if (alias !== undefined) {
      if (parameters.path === undefined) {
        throw new YtError("Missing required parameter /path");
      }
      attributes.set("dynamic", true);
      attributes.set(alias.flag, true);
      attributes.set("schema", alias.schema.toYson());
    }
    const created = await context.services.cypress.create(cypressContext(context), {
      type: alias === undefined ? parameters.type : "table",
      ...(parameters.path === undefined ? {} : { path: parameters.path.path }),
      attributes,
      recursive: parameters.recursive,
      force: parameters.force,
      ignoreExisting: parameters.ignore_existing,
      lockExisting: parameters.lock_existing,
      ignoreTypeMismatch: parameters.ignore_type_mismatch,
      ...(alias === undefined
        ? {}
        : { authorize: (view, node) => context.services.tables.checkMayMount(view, context.user, node) }),
    });
    if (alias !== undefined && parameters.path !== undefined) {
      await context.services.tables.mount({ user: context.user }, parameters.path, {});
    }
    return context.single(created.isNode ? "node_id" : "object_id", created.id);
  },
});

const remove = defineCommand({
  ...answerless,
  name: "remove",
  access: treeAccess.remove,
  summary: "Removes a node with its subtree, or an attribute.",
  parameters: {
    path: parameter.path,
    recursive: withDefault(parameter.boolean, true),
    force: withDefault(parameter.boolean, false),
  },
  async execute(context, { path, recursive, force }) {
    await context.services.cypress.remove(cypressContext(context), { path: path.path, recursive, force });
    return context.nothing();
  },
});

const copyParameters = {
  source_path: parameter.path,
  destination_path: parameter.path,
  recursive: withDefault(parameter.boolean, false),
  force: withDefault(parameter.boolean, false),
  ignore_existing: withDefault(parameter.boolean, false),
  lock_existing: withDefault(parameter.boolean, false),
  preserve_account: withDefault(parameter.boolean, false),
  preserve_creation_time: withDefault(parameter.boolean, false),
  preserve_modification_time: withDefault(parameter.boolean, false),
  preserve_expiration_time: withDefault(parameter.boolean, false),
  preserve_expiration_timeout: withDefault(parameter.boolean, false),
  preserve_owner: withDefault(parameter.boolean, false),
  preserve_acl: withDefault(parameter.boolean, false),
};

const copy = defineCommand({
  ...writing,
  name: "copy",
  access: treeAccess.copy,
  summary: "Copies a node with its subtree.",
  parameters: copyParameters,
  async execute(context, parameters) {
    const source = parameters.source_path.path;
    const copy = (): Promise<string> =>
      context.services.cypress.copy(cypressContext(context), {
        sourcePath: source,
        destinationPath: parameters.destination_path.path,
        recursive: parameters.recursive,
        force: parameters.force,
        ignoreExisting: parameters.ignore_existing,
        lockExisting: parameters.lock_existing,
        preserveAccount: parameters.preserve_account,
        preserveCreationTime: parameters.preserve_creation_time,
        preserveModificationTime: parameters.preserve_modification_time,
        preserveExpirationTime: parameters.preserve_expiration_time,
        preserveExpirationTimeout: parameters.preserve_expiration_timeout,
        preserveOwner: parameters.preserve_owner,
        preserveAcl: parameters.preserve_acl,
      });
    return context.single(
      "node_id",
      await context.services.tables.copy(cypressContext(context), source, copy),
    );
  },
});

const move = defineCommand({
  ...writing,
  name: "move",
  access: treeAccess.move,
  summary: "Moves a node with its subtree.",
  parameters: copyParameters,
  async execute(context, parameters) {
    const source = parameters.source_path.path;
    const move = (): Promise<string> =>
      context.services.cypress.move(cypressContext(context), {
        sourcePath: source,
        destinationPath: parameters.destination_path.path,
        recursive: parameters.recursive,
        force: parameters.force,
        preserveAccount: parameters.preserve_account,
        preserveCreationTime: parameters.preserve_creation_time,
        preserveModificationTime: parameters.preserve_modification_time,
        preserveExpirationTime: parameters.preserve_expiration_time,
        preserveExpirationTimeout: parameters.preserve_expiration_timeout,
        preserveOwner: parameters.preserve_owner,
        preserveAcl: parameters.preserve_acl,
      });
    // Outside of transactions a moved table keeps its rows; inside, they stay with the source until the commit.
    const id = await (context.common.transaction_id === undefined
      ? move()
      : context.services.tables.copy(cypressContext(context), source, move));
    return context.single("node_id", id);
  },
});

const link = defineCommand({
  ...writing,
  name: "link",
  access: treeAccess.link,
  summary: "Creates a link to a path.",
  parameters: {
    target_path: parameter.path,
    link_path: parameter.path,
    attributes: optional(parameter.map),
    recursive: withDefault(parameter.boolean, false),
    force: withDefault(parameter.boolean, false),
    ignore_existing: withDefault(parameter.boolean, false),
    lock_existing: withDefault(parameter.boolean, false),
  },
  async execute(context, parameters) {
    const id = await context.services.cypress.link(cypressContext(context), {
      targetPath: parameters.target_path.path,
      linkPath: parameters.link_path.path,
      ...(parameters.attributes === undefined ? {} : { attributes: parameters.attributes }),
      recursive: parameters.recursive,
      force: parameters.force,
      ignoreExisting: parameters.ignore_existing,
      lockExisting: parameters.lock_existing,
    });
    return context.single("node_id", id);
  },
});

const lock = defineCommand({
  ...writing,
  name: "lock",
  access: treeAccess.lock,
  summary: "Locks a node for a transaction.",
  parameters: {
    path: parameter.path,
    mode: withDefault(parameter.oneOf("ELockMode", ["snapshot", "shared", "exclusive"]), "exclusive"),
    waitable: withDefault(parameter.boolean, false),
    child_key: optional(parameter.string),
    attribute_key: optional(parameter.string),
  },
  async execute(context, parameters) {
    const result = await context.services.cypress.lock(cypressContext(context), {
      path: parameters.path.path,
      mode: parameters.mode,
      waitable: parameters.waitable,
      ...(parameters.child_key === undefined ? {} : { childKey: parameters.child_key }),
      ...(parameters.attribute_key === undefined ? {} : { attributeKey: parameters.attribute_key }),
    });
    return context.isV4
      ? structured(mapOf({ lock_id: result.lockId, node_id: result.nodeId, revision: result.revision }))
      : structured(result.lockId);
  },
});

const unlock = defineCommand({
  ...answerless,
  name: "unlock",
  access: treeAccess.unlock,
  summary: "Releases the explicit locks of a transaction on a node.",
  parameters: { path: parameter.path },
  async execute(context, { path }) {
    await context.services.cypress.unlock(cypressContext(context), { path: path.path });
    return context.nothing();
  },
});

export const cypressCommands = [
  get,
  list,
  exists,
  set,
  multisetAttributes,
  create,
  remove,
  copy,
  move,
  link,
  lock,
  unlock,
];
