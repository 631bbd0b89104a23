/** Passwords and tokens: secrets are asked for on the terminal, and only their SHA-256 is sent. */
import { createHash } from "node:crypto";
import { YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";
import { askSecret } from "./secret-prompt.ts";

export const setUserPassword: Runner = async (context) => {
  const user = context.values.needed("user");
  const own = await ownPassword(context, user);
  const password = await askSecret("New password: ");
  if ((await askSecret("Retype new password: ")) !== password) {
    throw new YtError("Passwords do not match");
  }
  await context.session.change("set_user_password", {
    user,
    new_password_sha256: sha256(password),
    ...(own === undefined ? {} : { current_password_sha256: own }),
  });
  return undefined;
};

export const issueToken: Runner = async (context) => {
  const user = context.values.needed("user");
  const answer = await context.session.change("issue_token", { user, ...(await proof(context, user)) });
  await printLine(context, plainText(answer ?? null));
  return undefined;
};

export const revokeToken: Runner = async (context) => {
  const user = context.values.needed("user");
  const password = await proof(context, user);
  const token_sha256 = context.values.text("token_sha256") ?? sha256(await askSecret("Token: "));
  await context.session.change("revoke_token", { user, token_sha256, ...password });
  return undefined;
};

export const listUserTokens: Runner = async (context) => {
  const user = context.values.needed("user");
  const bytes = await context.session.bytes("list_user_tokens", { user, ...(await proof(context, user)) });
  await context.out.write(bytes);
  await context.out.write("\n");
  return undefined;
};

async function proof(context: Context, user: string): Promise<{ password_sha256?: string }> {
  const own = await ownPassword(context, user);
  return own === undefined ? {} : { password_sha256: own };
}

/**
 * The SHA-256 of the password of who sends the command; none for administrators of the user, who need none.
 * @throws YtError 1 for anybody else but the user
 */
async function ownPassword({ session }: Context, user: string): Promise<string | undefined> {
  const current = fieldOf(await session.value("get_current_user", {}), "user");
  const check = await session.value("check_permission", {
    user: current,
    permission: "administer",
    path: `//sys/users/${user}`,
  });
  if (fieldOf(check, "action") === "allow") {
    return undefined;
  }
  if (current !== user) {
    throw new YtError(
      `Action can be performed either by user "${user}" themselves, or by a user having "administer" permission on user "${user}"`,
    );
  }
  return sha256(await askSecret(`Current password for ${user}: `));
}

function sha256(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
