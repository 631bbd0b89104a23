/** Runs one command of the `yt` command line: reads its words, connects, sends, prints. */
import { isList, type YsonValue, YtError } from "@qyt/base";
import { clusterAddress, type Environment } from "../cluster-address.ts";
import { version } from "../version.ts";
import type { Argument } from "./argument.ts";
import { readArguments, Values, valuesOfOptions } from "./arguments.ts";
import type { YtCommand } from "./command.ts";
import type { Context } from "./context.ts";
import { nodeTransport } from "./node-transport.ts";
import { runRequest } from "./printing.ts";
import { Session } from "./session.ts";
import { readSettings, type Settings } from "./settings.ts";
import { outOf } from "./streams.ts";
import { commonArguments } from "./table.ts";
import type { OptionUse } from "./words.ts";

export interface CommandLine {
  readonly command: YtCommand;
  /** Behind the name of the command, without the options that may stand anywhere. */
  readonly words: readonly string[];
  readonly globals: readonly OptionUse[];
}

/**
 * @param showHelp prints the help of the command
 * @returns the exit code
 * @throws UsageError, YtError
 */
export async function runYtCommand(
  { command, words, globals }: CommandLine,
  environment: Environment,
  showHelp: (command: YtCommand) => Promise<void>,
): Promise<number> {
  const given = new Values(valuesOfOptions(globals, { parseValue: () => null }));
  const settings = await readSettings(
    {
      proxy: given.text("proxy"),
      prefix: given.text("prefix"),
      config: given.list("config").filter((item) => typeof item === "string"),
    },
    environment,
  );
  const declared = [...command.arguments, ...commonArguments];
  const values = readArguments(words, declared, settings);
  if (values === undefined) {
    await showHelp(command);
    return 0;
  }
  const address = await clusterAddress(
    {
      proxy: settings.text("proxy/url") ?? "",
      tlsCa: given.text("tls_ca"),
      suffix: settings.text("proxy/default_suffix"),
      prefersHttps: settings.is("proxy/prefer_https"),
      token: settings.text("token"),
      tokenPath: settings.text("token_path"),
      sendsToken: settings.is("enable_token"),
    },
    environment,
  );
  const transport = nodeTransport(address.ca);
  const session = new Session({
    address,
    transport,
    prefix: settings.text("prefix"),
    common: commonParameters(given, values),
    repeats: settings.is("proxy/retries/enable") !== false,
    userAgent: `qyt/${version}`,
  });
  const context: Context = {
    values,
    get parameters() {
      return parametersOf(command.arguments, values, session, settings);
    },
    settings,
    session,
    stdin: process.stdin,
    // Whoever read our output has enough of it.
    out: outOf(process.stdout, () => process.exit(0)),
    warn: (text) => process.stderr.write(`${text}\n`),
  };
  try {
    const { run } = command;
    return (typeof run === "function" ? await (await run())(context) : await runRequest(run, context)) ?? 0;
  } finally {
    await transport.close();
    // Input that nobody has read must not hold the process.
    process.stdin.destroy();
  }
}

/** What `--params`, `--tx` and the like add to every request. */
function commonParameters(given: Values, values: Values): Readonly<Record<string, YsonValue>> {
  const common: Record<string, YsonValue> = {};
  const transaction = given.text("tx");
  if (transaction !== undefined) {
    common["transaction_id"] = transaction;
    common["ping_ancestor_transactions"] = given.is("ping_ancestor_txs");
  }
  const cell = given.text("master_cell_id");
  if (cell !== undefined) {
    common["master_cell_id"] = cell;
  }
  const params = values.get("params");
  if (params instanceof Map) {
    for (const [key, item] of params) {
      common[key] = item;
    }
  }
  return common;
}

function parametersOf(
  declared: readonly Argument[],
  values: Values,
  session: Session,
  settings: Settings,
): Readonly<Record<string, YsonValue>> {
  const parameters: Record<string, YsonValue> = {};
  for (const argument of declared) {
    const value = values.get(argument.name) ?? fallback(argument, settings);
    for (const name of argument.parameters ?? [argument.name]) {
      if (value !== undefined) {
        parameters[name] = argument.type === "path" ? pathsOf(value, session) : value;
      }
    }
  }
  return parameters;
}

function pathsOf(value: YsonValue, session: Session): YsonValue {
  if (isList(value)) {
    return value.map((item) => pathsOf(item, session));
  }
  return typeof value === "string" ? session.path(value) : value;
}

/**
 * What is sent when an argument was not given. A flag says no, because the server's own default may be yes (of
 * `recursive` in `remove`).
 *
 * @throws YtError 1 when rows have no format
 */
function fallback(argument: Argument, settings: Settings): YsonValue | undefined {
  if (argument.type === "flag") {
    return argument.off === undefined ? false : undefined;
  }
  if (argument.isFormatOfRows !== true) {
    return undefined;
  }
  const format = settings.tabularFormat;
  if (format === undefined) {
    throw new YtError(
      "You should specify format: rows are written as --format says, e.g. json or '<format=text>yson'",
    );
  }
  return format;
}
