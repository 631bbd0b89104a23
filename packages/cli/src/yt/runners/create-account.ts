/** `create-account`: its options are attributes of the account. */
import { isMap, type YsonValue } from "@qyt/base";
import type { Runner } from "../command.ts";
import { plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";

const asAttributes = ["name", "parent_name", "resource_limits", "allow_children_limit_overcommit"];

export const createAccount: Runner = async (context) => {
  const { session, values, parameters } = context;
  const given = values.get("attributes");
  const attributes = new Map<string, YsonValue>(isMap(given) ? given : []);
  for (const name of asAttributes) {
    const value = values.get(name);
    if (value !== undefined) {
      attributes.set(name, value);
    }
  }
  const answer = await session.change("create", { ...parameters, type: "account", attributes });
  await printLine(context, plainText(fieldOf(answer, "object_id")));
  return undefined;
};
