/**
 * Tokens and passwords. Everybody manages his own and shows his password for it; a superuser manages
 * everybody's. Specified in: yt/yt/client/driver/authentication_commands.cpp,
 * yt/yt/ytlib/api/native/client_authentication_impl.cpp.
 */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import { isSha256Hex } from "../../access/authentication/index.ts";
import { open } from "../access.ts";
import { type CommandContext, defineCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { reading, writing } from "./kinds.ts";

const maxDescriptionLength = 1024;

const ownAccess = open("the user himself with his password, or a superuser");

/**
 * Lets superusers pass, and the user with the right password.
 * @param action for the error text, as in the real system
 * @throws YtError 1 for another user and for a wrong or missing password; 910 when the caller does not exist
 */
async function checkOwner(
  context: CommandContext,
  action: string,
  user: string,
  passwordSha256: string | undefined,
): Promise<void> {
  const { credentials } = context.services;
  if (credentials.isSuperuser(context.user)) {
    return;
  }
  if (context.user !== user) {
    throw new YtError(`${action} can be performed either by user theirselves or by a superuser`, {
      attributes: { user, authenticated_user: context.user },
    });
  }
  if (!(await credentials.checkPassword(user, passwordSha256 ?? ""))) {
    throw new YtError("User provided invalid password", { attributes: { user } });
  }
}

function requireDigest(name: string, value: string): void {
  if (!isSha256Hex(value)) {
    throw new YtError(`Parameter "${name}" must be a SHA-256 digest: 64 hexadecimal digits`);
  }
}

const issueToken = defineCommand({
  ...writing,
  name: "issue_token",
  access: ownAccess,
  summary: "Makes a token for a user; it is shown this once and kept as a digest.",
  // An answer that is kept for repeats would keep the token in memory; a repeat makes another one.
  isRemembered: false,
  parameters: {
    user: parameter.string,
    password_sha256: optional(parameter.string),
    description: withDefault(parameter.string, ""),
  },
  async execute(context, { user, password_sha256, description }) {
    await checkOwner(context, "Token issuance", user, password_sha256);
    if (description.length > maxDescriptionLength) {
      throw new YtError(
        `The description of a token is too long: ${description.length} characters, limit ${maxDescriptionLength}`,
      );
    }
    return structured(await context.services.credentials.issueToken(user, description));
  },
});

const revokeToken = defineCommand({
  ...writing,
  name: "revoke_token",
  access: ownAccess,
  summary: "Ends a token, named by its digest.",
  parameters: {
    user: parameter.string,
    token_sha256: parameter.string,
    password_sha256: optional(parameter.string),
  },
  async execute(context, { user, token_sha256, password_sha256 }) {
    requireDigest("token_sha256", token_sha256);
    await checkOwner(context, "Token revokation", user, password_sha256);
    const { credentials } = context.services;
    const digest = token_sha256.toLowerCase();
    credentials.checkTokenOwner(digest, user);
    await credentials.revokeToken(digest);
    return context.nothing();
  },
});

const listUserTokens = defineCommand({
  ...reading,
  name: "list_user_tokens",
  access: ownAccess,
  summary: "Digests of a user's tokens, with what else is known of them if asked.",
  parameters: {
    user: parameter.string,
    password_sha256: optional(parameter.string),
    with_metadata: withDefault(parameter.boolean, false),
  },
  async execute(context, { user, password_sha256, with_metadata }) {
    await checkOwner(context, "Tokens listing", user, password_sha256);
    const tokens = context.services.credentials.tokensOf(user);
    if (!with_metadata) {
      return structured([...tokens.keys()]);
    }
    const metadata = new Map<string, YsonValue>();
    for (const [digest, { description, tokenPrefix, creationTime }] of tokens) {
      metadata.set(digest, mapOf({ description, token_prefix: tokenPrefix, creation_time: creationTime }));
    }
    return structured(metadata);
  },
});

const setUserPassword = defineCommand({
  ...writing,
  name: "set_user_password",
  access: ownAccess,
  summary: "Sets a user's password; sessions that the old one has opened end.",
  parameters: {
    user: parameter.string,
    new_password_sha256: parameter.string,
    current_password_sha256: optional(parameter.string),
    password_is_temporary: withDefault(parameter.boolean, false),
  },
  async execute(context, { user, new_password_sha256, current_password_sha256, password_is_temporary }) {
    requireDigest("new_password_sha256", new_password_sha256);
    await checkOwner(context, "Password change", user, current_password_sha256);
    await context.services.credentials.setPassword(user, new_password_sha256, password_is_temporary);
    return context.nothing();
  },
});

export const tokenCommands = [issueToken, revokeToken, listUserTokens, setUserPassword];
