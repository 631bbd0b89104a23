/**
 * Commands of users, groups, permissions and tokens.
 * Specified in: yt/yt/client/driver/{etc_commands,authentication_commands}.cpp; YTsaurus documentation, "Commands".
 */
import { isMap, type YsonValue, YtError } from "@qyt/base";
import { field, text } from "../answers.ts";
import type { Attributes, CommandOptions, PathInput, TransactionalOptions } from "../types.ts";
import { named } from "./family.ts";
import { QueueCommands } from "./queues.ts";

/** The answer to whether somebody may do something. */
export interface PermissionAnswer {
  readonly action: "allow" | "deny";
  /** Everything that was told: who decided, and the columns' own answers. */
  readonly details: YsonValue;
}

export interface PasswordOptions extends CommandOptions {
  /** SHA-256 of the user's password in hexadecimal digits, where the cluster asks for it. */
  readonly passwordSha256?: string;
}

export class AccessCommands extends QueueCommands {
  /** Whether the user has the permission for a node (for all of the columns, if some are named). */
  async checkPermission(
    user: string,
    permission: string,
    path: PathInput,
    options: TransactionalOptions & {
      readonly columns?: readonly string[];
      readonly vital?: boolean;
    } = {},
  ): Promise<PermissionAnswer> {
    const parameters = { user, permission, path, ...named(options) };
    return permissionAnswer(await this.read("check_permission", parameters, options));
  }

  /** What an access control list would answer. Without a user: for the caller. */
  async checkPermissionByAcl(
    permission: string,
    acl: readonly unknown[],
    options: CommandOptions & { readonly user?: string } = {},
  ): Promise<PermissionAnswer> {
    const parameters = { permission, ...named({ ...options, acl }) };
    return permissionAnswer(await this.read("check_permission_by_acl", parameters, options));
  }

  /** Creates a user. Returns its id. */
  createUser(
    name: string,
    options: CommandOptions & { readonly attributes?: Attributes } = {},
  ): Promise<string> {
    return this.#createSubject("user", name, options);
  }

  /** Creates a group. Returns its id. */
  createGroup(
    name: string,
    options: CommandOptions & { readonly attributes?: Attributes } = {},
  ): Promise<string> {
    return this.#createSubject("group", name, options);
  }

  /** Puts a user or a group into a group. @throws YtError 908 when it is in it */
  async addMember(group: string, member: string, options: CommandOptions = {}): Promise<void> {
    await this.write("add_member", { group, member }, options);
  }

  async removeMember(group: string, member: string, options: CommandOptions = {}): Promise<void> {
    await this.write("remove_member", { group, member }, options);
  }

  /** As whom the client is taken. */
  async getCurrentUser(options: CommandOptions = {}): Promise<string> {
    return text(field(await this.read("get_current_user", {}, options), "user"));
  }

  /** Makes a token; it is shown this once. */
  async issueToken(
    user: string,
    options: PasswordOptions & { readonly description?: string } = {},
  ): Promise<string> {
    return text(await this.write("issue_token", { user, ...named(options) }, options));
  }

  /** Ends a token, named by its SHA-256 in hexadecimal digits. */
  async revokeToken(user: string, tokenSha256: string, options: PasswordOptions = {}): Promise<void> {
    await this.write("revoke_token", { user, token_sha256: tokenSha256, ...named(options) }, options);
  }

  /** Digests of a user's tokens; with `withMetadata` a map of what is known of each. */
  async listUserTokens(
    user: string,
    options: PasswordOptions & { readonly withMetadata?: boolean } = {},
  ): Promise<YsonValue> {
    return (await this.read("list_user_tokens", { user, ...named(options) }, options)) ?? [];
  }

  /** Sets a password, told by its SHA-256 in hexadecimal digits. */
  async setUserPassword(
    user: string,
    newPasswordSha256: string,
    options: CommandOptions & {
      readonly currentPasswordSha256?: string;
      readonly passwordIsTemporary?: boolean;
    } = {},
  ): Promise<void> {
    const parameters = { user, new_password_sha256: newPasswordSha256, ...named(options) };
    await this.write("set_user_password", parameters, options);
  }

  #createSubject(
    type: string,
    name: string,
    options: CommandOptions & { readonly attributes?: Attributes },
  ): Promise<string> {
    const attributes = { ...plain(options.attributes), name };
    return this.create(type, undefined, { ...options, attributes });
  }
}

function plain(attributes: Attributes | undefined): Readonly<Record<string, unknown>> {
  return attributes instanceof Map ? Object.fromEntries(attributes) : { ...attributes };
}

function permissionAnswer(answer: YsonValue | undefined): PermissionAnswer {
  const action = isMap(answer) ? answer.get("action") : undefined;
  if (answer === undefined || (action !== "allow" && action !== "deny")) {
    throw new YtError('The proxy\'s answer has neither "allow" nor "deny"');
  }
  return { action, details: answer };
}
