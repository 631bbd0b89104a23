/** Commands on users, groups, rights, accounts and tokens. */
import { answerFormat, flag, hybrid, option, positional, readFrom } from "./argument.ts";
import type { YtFamily } from "./command.ts";

const member = [hybrid("member", "user or group", "text"), hybrid("group", "the group", "text")];
const user = positional("user", "the user", "text", { parameters: [] });

export const access: YtFamily = {
  title: "Access",
  commands: [
    {
      name: "check-permission",
      summary: "Print whether a user has a right on a node.",
      details: "With -q: exit code 0 says yes, 1 no, 126 that it could not be found out.",
      arguments: [
        hybrid("user", "the user", "text"),
        hybrid("permission", "read, write, administer, create, use, mount, remove, …", "text"),
        hybrid("path", "the node"),
        ...readFrom,
        option("columns", "yson", "columns of a table, a list in YSON"),
        answerFormat,
        flag("quiet", "print nothing, tell by the exit code", { options: ["-q", "--quiet"], parameters: [] }),
      ],
      examples: ["check-permission bob write //tmp/queue"],
      run: async () => (await import("./runners/check-permission.ts")).checkPermission,
    },
    {
      name: "add-member",
      summary: "Put a user or a group into a group.",
      arguments: member,
      examples: ["add-member bob admins"],
      run: { command: "add_member", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "remove-member",
      summary: "Take a user or a group out of a group.",
      arguments: member,
      examples: ["remove-member bob admins"],
      run: { command: "remove_member", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "create-account",
      summary: "Create an account, and print its id.",
      arguments: [
        hybrid("name", "its name", "text", { parameters: [] }),
        option("parent_name", "text", "account that it is part of", { parameters: [] }),
        option("resource_limits", "yson", "its limits, a map in YSON", { parameters: [] }),
        flag("ignore_existing", "do nothing when there is such an account", {
          options: ["-i", "--ignore-existing"],
        }),
        flag("allow_children_limit_overcommit", "its children may have more limits than itself", {
          parameters: [],
        }),
        option("attributes", "yson", "other attributes, a map in YSON", { parameters: [] }),
      ],
      examples: ["create-account shop --resource-limits '{node_count=1000}'"],
      run: async () => (await import("./runners/create-account.ts")).createAccount,
    },
    {
      name: "transfer-account-resources",
      summary: "Give some of the limits of an account to another.",
      arguments: [
        hybrid("source_account", "from", "text", { options: ["--source-account", "--src"] }),
        hybrid("destination_account", "to", "text", { options: ["--destination-account", "--dst"] }),
        option("resource_delta", "yson", "how much, a map in YSON"),
      ],
      examples: ["transfer-account-resources shop billing --resource-delta '{node_count=10}'"],
      run: {
        command: "transfer_account_resources",
        method: "POST",
        isVolatile: true,
        output: { kind: "none" },
      },
    },
    {
      name: "whoami",
      summary: "Print the user that the cluster takes one for.",
      arguments: [],
      examples: ["whoami"],
      run: { command: "get_current_user", method: "GET", output: { kind: "field", names: ["user"] } },
    },
    {
      name: "set-user-password",
      summary: "Set the password of a user, which is asked for.",
      arguments: [user],
      examples: ["set-user-password bob"],
      run: async () => (await import("./runners/tokens.ts")).setUserPassword,
    },
    {
      name: "issue-token",
      summary: "Make a token for a user, and print it.",
      arguments: [user],
      examples: ["issue-token bob"],
      run: async () => (await import("./runners/tokens.ts")).issueToken,
    },
    {
      name: "revoke-token",
      summary: "Make a token of a user worthless.",
      arguments: [
        user,
        option("token_sha256", "text", "SHA-256 of the token in hex; default: the token is asked for", {
          parameters: [],
        }),
      ],
      examples: [
        "revoke-token bob --token-sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      ],
      run: async () => (await import("./runners/tokens.ts")).revokeToken,
    },
    {
      name: "list-user-tokens",
      summary: "Print the SHA-256 of each token of a user.",
      arguments: [user],
      examples: ["list-user-tokens bob"],
      run: async () => (await import("./runners/tokens.ts")).listUserTokens,
    },
  ],
};
