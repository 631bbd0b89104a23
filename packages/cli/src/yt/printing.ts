/** Answers as the `yt` command prints them. Facts by: yt/python/yt/wrapper/cli_helpers.py. */
import { bare, isList, isMap, Uint64, type YsonValue } from "@qyt/base";
import { stringToBytes, writeYson } from "@qyt/yson";
import type { Request } from "./command.ts";
import type { Context } from "./context.ts";
import { fieldOf } from "./session.ts";
import { bodyOf } from "./streams.ts";

/** Sends the request of a command and prints what it answers. */
export async function runRequest(request: Request, context: Context): Promise<undefined> {
  const { session, out } = context;
  const { command, method, isVolatile = false, isUnsafeToRepeat = false, output } = request;
  const parameters = { ...request.fixed, ...context.parameters };
  const options = {
    method,
    isVolatile,
    isUnsafeToRepeat,
    ...(request.hasBody === true ? { body: await bodyOf(context.stdin) } : {}),
  };
  switch (output.kind) {
    case "none":
      await session.bytes(command, parameters, options);
      return;
    case "field": {
      const answer = await session.value(command, parameters, options);
      const map = bare(answer ?? null);
      const name = output.names.find((each) => isMap(map) && map.has(each)) ?? output.names[0] ?? "";
      await printLine(context, plainText(fieldOf(answer, name)));
      return;
    }
    case "stream":
      for await (const chunk of session.stream(command, parameters, options)) {
        await out.write(chunk);
      }
      return;
    case "formatted":
    case "printed":
      await printAnswer(context, command, parameters, options, output);
  }
}

async function printAnswer(
  context: Context,
  command: string,
  parameters: Readonly<Record<string, YsonValue>>,
  options: Parameters<Context["session"]["bytes"]>[2],
  output: Extract<Request["output"], { kind: "formatted" | "printed" }>,
): Promise<void> {
  const { session, out, settings } = context;
  const endsLine = output.kind === "formatted" && output.endsLine;
  const asJson = settings.structuredFormat === "json";
  if (parameters["output_format"] === undefined && output.kind === "printed" && !asJson) {
    const answer = (await session.value(command, parameters, options)) ?? null;
    await out.write(printed(output.field === undefined ? answer : fieldOf(answer, output.field)));
  } else {
    const output_format = parameters["output_format"] ?? settings.prettyFormat;
    await out.write(await session.bytes(command, { ...parameters, output_format }, options));
  }
  await endOutput(context, endsLine);
}

/** A line break, which a person sees in any case. */
export async function endOutput({ out }: Pick<Context, "out">, endsLine: boolean): Promise<void> {
  if (endsLine || out.isTerminal) {
    await out.write("\n");
  }
}

export async function printLine({ out }: Pick<Context, "out">, text: string): Promise<void> {
  await out.write(Buffer.concat([stringToBytes(text), Buffer.from("\n")]));
}

/** Pretty YSON with two spaces of indent, as the client prints what it has parsed. */
export function printed(value: YsonValue): Buffer {
  const text = writeYson(value, "pretty").toString("latin1");
  return Buffer.from(
    text.replace(/^ +/gm, (spaces) => spaces.slice(spaces.length / 2)),
    "latin1",
  );
}

/** A value as `print` of Python shows it at the top: a string is itself. */
export function plainText(value: YsonValue): string {
  const plain = bare(value);
  return typeof plain === "string" ? plain : pythonText(plain);
}

/** A value as Python shows it inside another. */
export function pythonText(value: YsonValue): string {
  const plain = bare(value);
  if (typeof plain === "string") {
    return plain.includes("'") && !plain.includes('"') ? `"${plain}"` : `'${plain.replaceAll("'", "\\'")}'`;
  }
  if (plain === null) {
    return "None";
  }
  if (typeof plain === "boolean") {
    return plain ? "true" : "false";
  }
  if (isList(plain)) {
    return `[${plain.map(pythonText).join(", ")}]`;
  }
  if (isMap(plain)) {
    return `{${[...plain].map(([key, item]) => `${pythonText(key)}: ${pythonText(item)}`).join(", ")}}`;
  }
  return plain instanceof Uint64 ? plain.toString() : String(plain);
}
