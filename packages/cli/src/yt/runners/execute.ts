/** `execute`: any command of the API, by the list that the cluster gives of them. */
import { bare, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import { parseJson } from "@qyt/yson";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { endOutput } from "../printing.ts";
import { bodyOf } from "../streams.ts";

export const execute: Runner = async (context) => {
  const { session, settings, values, out, stdin } = context;
  const name = values.needed("command_name");
  const descriptor = (await commandsOf(context)).find((each) => each.get("name") === name);
  if (descriptor === undefined) {
    throw new YtError(`Command "${name}" is not supported by cluster`);
  }
  const given = values.get("execute_params");
  const parameters: Record<string, YsonValue> = Object.fromEntries(isMap(given) ? given : []);
  const hasBody = descriptor.get("input_type") !== "null";
  const isVolatile = descriptor.get("is_volatile") === true;
  const chunks = session.stream(
    name,
    { output_format: settings.prettyFormat, ...parameters },
    {
      method: hasBody ? "PUT" : isVolatile ? "POST" : "GET",
      isVolatile: isVolatile && descriptor.get("is_heavy") !== true,
      isUnsafeToRepeat: isVolatile && descriptor.get("is_heavy") === true,
      ...(hasBody ? { body: await bodyOf(stdin) } : {}),
    },
  );
  for await (const chunk of chunks) {
    await out.write(chunk);
  }
  await endOutput(context, false);
  return undefined;
};

/** The descriptors of `GET /api/v4`. */
async function commandsOf({ session }: Context): Promise<readonly ReadonlyMap<string, YsonValue>[]> {
  const list = bare(parseJson(await session.bytes("", {})));
  return isList(list) ? list.filter(isMap) : [];
}
