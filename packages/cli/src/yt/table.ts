/** All commands that qyt has of the `yt` command line, and the options of each of them. */
import { access } from "./access.ts";
import { type Argument, flag, option } from "./argument.ts";
import type { YtCommand, YtFamily } from "./command.ts";
import { cypress } from "./cypress.ts";
import { dynamicTables } from "./dynamic-tables.ts";
import { others } from "./others.ts";
import { queues } from "./queues.ts";
import { files, tables } from "./tables.ts";
import { transactions } from "./transactions.ts";

export const ytFamilies: readonly YtFamily[] = [
  queues,
  dynamicTables,
  tables,
  files,
  cypress,
  transactions,
  access,
  others,
];

/** May stand anywhere, in front of the command too. */
export const globalArguments: readonly Argument[] = [
  option("proxy", "text", "the cluster: host:port, a URL, or a name; default: YT_PROXY"),
  option("prefix", "text", "where relative paths begin; default: YT_PREFIX"),
  option("config", "text", "settings of the client, a map in YSON or a file with one", { repeat: "append" }),
  option("tx", "text", "id of the transaction to work in"),
  option("master_cell_id", "text", "for tests of masters"),
  flag("ping_ancestor_txs", "ping the ancestors of the transaction too"),
  flag("trace", "let the request be traced"),
  option("tls_ca", "text", "the authority that signs the cluster's certificate, a PEM file (not in `yt`)"),
];

/** Of every command. */
export const commonArguments: readonly Argument[] = [
  option("params", "yson", "more parameters of the request, a map in YSON", { parameters: [] }),
];

/** Names that people try, and what they mean; the real command line refuses them as well. */
export const mistakenNames: Readonly<Record<string, string>> = {
  select: "select-rows",
  lookup: "lookup-rows",
  insert: "insert-rows",
  delete: "delete-rows",
};

export function findYtCommand(name: string): YtCommand | undefined {
  for (const { commands } of ytFamilies) {
    const found = commands.find((command) => command.name === name || command.aliases?.includes(name));
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}
