/** To which cluster a command goes, and as whom: options and variables as the `yt` command has them. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { toYtError, YtError } from "@qyt/base";
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";
import { type Command, Option } from "commander";
import { aliasVariable, parseAliases } from "./up/aliases.ts";

export interface ConnectionFlags {
  readonly proxy?: string;
  readonly tlsCa?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const connectionHelp = `
The cluster is the one of --proxy, or of the variable YT_PROXY: host:port, a URL, or a name of
${aliasVariable}. The token is that of YT_TOKEN, or of the file that YT_TOKEN_PATH
names, or of ~/.yt/token; none is sent when there is none.`;

export function withConnectionOptions(command: Command): Command {
  return command
    .addOption(new Option("--proxy <address>", "address or name of the cluster (default: YT_PROXY)"))
    .addOption(new Option("--tls-ca <file>", "the authority that signs the cluster's certificate (PEM)"));
}

/** @throws YtError 1 when no cluster is named, or when a file cannot be read */
export async function connect(flags: ConnectionFlags, environment: Environment): Promise<YtClient> {
  return createClient(await clientOptions(flags, environment));
}

export async function clientOptions(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<ClientOptions> {
  const named = flags.proxy ?? environment["YT_PROXY"];
  if (named === undefined || named === "") {
    throw new YtError("No cluster is named: use --proxy, or set YT_PROXY");
  }
  const token = await tokenOf(environment);
  const ca = flags.tlsCa === undefined ? undefined : await textOf(flags.tlsCa);
  return {
    proxy: parseAliases(environment[aliasVariable]).get(named) ?? named,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
  };
}

async function tokenOf(environment: Environment): Promise<string | undefined> {
  const token = environment["YT_TOKEN"]?.trim();
  if (token !== undefined && token !== "") {
    return token;
  }
  const path = environment["YT_TOKEN_PATH"];
  if (path !== undefined && path !== "") {
    return (await textOf(path)).trim();
  }
  const usual = join(environment["HOME"] ?? homedir(), ".yt", "token");
  const text = await readFile(usual, "utf8").catch(() => "");
  return text.trim() === "" ? undefined : text.trim();
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    throw new YtError(`File "${path}" cannot be read: ${toYtError(thrown).message}`);
  }
}
