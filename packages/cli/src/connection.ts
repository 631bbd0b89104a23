/** To which cluster a command goes, and as whom: options and variables as the `yt` command has them. */
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";
import { type Command, Option } from "commander";
import { clusterAddress, type Environment } from "./cluster-address.ts";
import { aliasVariable } from "./up/aliases.ts";

export type { Environment } from "./cluster-address.ts";

export interface ConnectionFlags {
  readonly proxy?: string;
  readonly tlsCa?: string;
}

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

export function clientOptions(flags: ConnectionFlags, environment: Environment): Promise<ClientOptions> {
  return clusterAddress(flags, environment);
}
