/** Small commands that stand alone. Specified in: yt/yt/client/driver/etc_commands.cpp. */
import { mapOf, type YsonValue } from "@qyt/base";
import { logicalTypeNames } from "@qyt/schema";
import { richPathToYson } from "@qyt/yson";
import { needs, open, right } from "../access.ts";
import { defineCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";
import { answerless, reading } from "./kinds.ts";

const parseYPath = defineCommand({
  ...reading,
  name: "parse_ypath",
  access: open("it looks at nothing"),
  summary: "Parses a rich path into text and attributes.",
  parameters: { path: parameter.path },
  async execute(context, { path }) {
    return context.single("path", richPathToYson(path));
  },
});

const getVersion = defineCommand({
  ...reading,
  name: "get_version",
  access: open("clients ask before anything else"),
  summary: "Version of the server.",
  parameters: {},
  async execute(context) {
    return context.single("version", context.services.version);
  },
});

const getSupportedFeatures = defineCommand({
  ...reading,
  name: "get_supported_features",
  access: open("clients ask before anything else"),
  summary: "What this cluster can do, for clients that ask before they try.",
  parameters: {},
  async execute() {
    return structured(
      mapOf({
        features: mapOf({
          primitive_types: [...logicalTypeNames],
          compression_codecs: ["none", "lz4", "snappy", "zstd_1", "zstd_3", "zstd_7", "brotli_1", "zlib_6"],
          erasure_codecs: ["none"],
          operation_statistics_descriptions: mapOf({}),
          query_memory_limit_in_tablet_nodes: false,
          structured_web_json: true,
          user_tokens_metadata: true,
          flow_pipelines: mapOf({ pipeline_list_enabled: false }),
          require_password_in_authentication_commands: true,
        }),
      }),
    );
  },
});

const discoverProxies = defineCommand({
  ...reading,
  name: "discover_proxies",
  versions: [4],
  access: open("clients ask before anything else"),
  summary: "Addresses of the proxies.",
  parameters: {
    type: withDefault(parameter.oneOf("EProxyType", ["http", "rpc", "grpc"]), "rpc"),
    role: optional(parameter.string),
  },
  async execute(context, { type, role }) {
    const served = type === "http" && (role === undefined || role === "data");
    return context.single("proxies", served ? [context.services.proxyAddress()] : []);
  },
});

const getCurrentUser = defineCommand({
  ...reading,
  name: "get_current_user",
  access: open("it is about the caller"),
  summary: "Who the request acts for.",
  parameters: {},
  async execute(context) {
    return structured(mapOf({ user: context.user }));
  },
});

const checkPermission = defineCommand({
  ...reading,
  name: "check_permission",
  access: open("whoever may ask for a thing may ask whether"),
  summary: "Whether a user may do something, and which entry decides.",
  parameters: {
    user: parameter.string,
    permission: parameter.string,
    path: parameter.path,
    columns: optional(parameter.list(parameter.string)),
    vital: optional(parameter.boolean),
  },
  async execute(context, { user, permission, path, columns, vital }) {
    const answer = await context.services.cypress.checkPermission(cypressContext(context), {
      user,
      permission,
      path: path.path,
      ...(columns === undefined ? {} : { columns }),
      ...(vital === undefined ? {} : { vital }),
    });
    return structured(answer);
  },
});

const checkPermissionByAcl = defineCommand({
  ...reading,
  name: "check_permission_by_acl",
  access: open("the entries come with the request"),
  summary: "The same for a list of entries that is not on any object.",
  parameters: { user: optional(parameter.string), permission: parameter.string, acl: parameter.yson },
  async execute(context, { user, permission, acl }) {
    const answer: YsonValue = await context.services.cypress.checkPermissionByAcl(cypressContext(context), {
      ...(user === undefined ? {} : { user }),
      permission,
      acl,
    });
    return structured(answer);
  },
});

const addMember = defineCommand({
  ...answerless,
  name: "add_member",
  access: needs(right("write", "group", "group")),
  summary: "Puts a user or a group into a group.",
  parameters: { group: parameter.string, member: parameter.string },
  async execute(context, parameters) {
    await context.services.cypress.addMember(cypressContext(context), parameters);
    return context.nothing();
  },
});

const removeMember = defineCommand({
  ...answerless,
  name: "remove_member",
  access: needs(right("write", "group", "group")),
  summary: "Takes a user or a group out of a group.",
  parameters: { group: parameter.string, member: parameter.string },
  async execute(context, parameters) {
    await context.services.cypress.removeMember(cypressContext(context), parameters);
    return context.nothing();
  },
});

export const miscCommands = [
  parseYPath,
  getVersion,
  getSupportedFeatures,
  discoverProxies,
  getCurrentUser,
  checkPermission,
  checkPermissionByAcl,
  addMember,
  removeMember,
];
