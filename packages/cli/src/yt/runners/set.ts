/** `set`: the value goes to the server as it was written. */
import type { Runner } from "../command.ts";
import { readWhole } from "../streams.ts";

export const set: Runner = async ({ values, parameters, settings, session, stdin }) => {
  const value = values.text("value");
  await session.bytes(
    "set",
    { ...parameters, input_format: values.get("format") ?? settings.structuredFormat },
    {
      method: "PUT",
      isVolatile: true,
      body: value === undefined ? await readWhole(stdin) : Buffer.from(value),
    },
  );
  return undefined;
};
