/** `set-attribute` and `remove-attribute`: of one node, or of all nodes of a subtree. */
import { toYtError, type YsonValue, YtError } from "@qyt/base";
import { deepEqual, writeYson } from "@qyt/yson";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { plainText } from "../printing.ts";
import { search } from "./find.ts";

export const setAttribute: Runner = async (context) => {
  const { session, values } = context;
  const name = checkedName(context);
  const value = values.get("value") ?? null;
  const set = (path: string): Promise<unknown> =>
    session.bytes(
      "set",
      { path: `${path}/@${name}`, input_format: "yson" },
      { method: "PUT", isVolatile: true, body: writeYson(value, "binary") },
    );
  if (!values.is("recursive")) {
    await set(ownPath(context));
    return;
  }
  await onEachNode(context, name, async (path, before) => {
    if (before === undefined || !deepEqual(before, value)) {
      await set(path);
    }
  });
};

export const removeAttribute: Runner = async (context) => {
  const { session, values } = context;
  const name = checkedName(context);
  const remove = (path: string): Promise<unknown> => session.change("remove", { path: `${path}/@${name}` });
  if (!values.is("recursive")) {
    await remove(ownPath(context));
    return;
  }
  await onEachNode(context, name, async (path, before) => {
    if (before !== undefined) {
      await remove(path);
    }
  });
};

/** Of nodes that are gone meanwhile nothing is said; other failures are told, and the walk goes on. */
async function onEachNode(
  context: Context,
  name: string,
  change: (path: string, before: YsonValue | undefined) => Promise<void>,
): Promise<void> {
  for await (const { path, attributes } of search({ context, attributes: [name] })) {
    try {
      await change(`${path}&`, attributes.get(name));
    } catch (thrown) {
      const error = toYtError(thrown);
      if (!error.has("ResolveError")) {
        context.warn(`WARNING: Cannot change attribute ${name} of ${path}: ${error.message}`);
      }
    }
  }
}

function ownPath({ session, values }: Context): string {
  return plainText(session.path(values.needed("path")));
}

function checkedName({ values }: Context): string {
  const name = values.needed("name");
  if (name === "") {
    throw new YtError("The name of an attribute cannot be empty");
  }
  return name;
}
