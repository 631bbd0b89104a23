/** `qyt acl`: rights on paths of a cluster, for those who would not write entries by hand. */
import { bare, isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { writeYson } from "@qyt/yson";
import { Command } from "commander";
import { type ConnectionFlags, connect, connectionHelp, withConnectionOptions } from "../connection.ts";

interface GrantFlags extends ConnectionFlags {
  readonly user: readonly string[];
  readonly registerQueueConsumer?: boolean;
  readonly vital?: boolean;
}

const grantHelp = `
Examples:
  qyt acl grant //home/shop/orders --user robot-billing --register-queue-consumer --vital
      vital consumers of one queue, and others
  qyt acl grant //home/shop --user robot-billing --register-queue-consumer
      consumers that are not vital, of all queues in the directory

The first is the same as
  yt set //home/shop/orders/@acl/end '{action=allow; subjects=[robot-billing]; permissions=[register_queue_consumer]; vital=%true}'
${connectionHelp}`;

export function aclCommand(): Command {
  const grant = new Command("grant")
    .description("Let users or groups register consumers of a queue, or of all queues in a directory.")
    .argument("<path>", "the queue or the directory")
    .requiredOption("--user <name>", "a user or a group; may be repeated", collect)
    .option("--register-queue-consumer", "grant the right to register consumers")
    .option("--vital", "vital consumers too, which hold back the trimming of the queue")
    .addHelpText("after", grantHelp)
    .action(async (path: string, flags: GrantFlags) => {
      const client = await connect(flags, process.env);
      try {
        process.stdout.write(`${await grantRegistrations(client, path, flags)}\n`);
      } finally {
        await client.close();
      }
    });
  return new Command("acl")
    .description("Grant rights on queues and directories.")
    .helpCommand(false)
    .addCommand(withConnectionOptions(grant).showHelpAfterError("(qyt acl grant --help shows the options)"));
}

function collect(name: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, name];
}

/**
 * Adds one entry to the list of the path, unless it has such an entry.
 * @returns what was done, in a sentence
 * @throws YtError 500 for a missing path, 901 without `administer` on it, 907 for an unknown user
 */
async function grantRegistrations(
  client: YtClient,
  path: string,
  flags: Pick<GrantFlags, "user" | "registerQueueConsumer" | "vital">,
): Promise<string> {
  if (flags.registerQueueConsumer !== true) {
    throw new YtError("Nothing to grant: say --register-queue-consumer");
  }
  const vital = flags.vital === true;
  const what = `${vital ? "vital and other" : "non-vital"} consumers of ${path}`;
  const names = flags.user.join(", ");
  const acl = bare(await client.get(`${path}/@acl`));
  const has = (user: string): boolean => isList(acl) && acl.some((entry) => grants(entry, user, vital));
  const missing = flags.user.filter((user) => !has(user));
  if (missing.length === 0) {
    return `${names} could register ${what} already`;
  }
  const entry = mapOf({
    action: "allow",
    subjects: missing,
    permissions: ["register_queue_consumer"],
    vital,
  });
  await client.set(`${path}/@acl/end`, writeYson(entry, "binary"));
  return `${names} may register ${what}`;
}

/** Whether the entry on the path itself is the one that is to be granted, or more. */
function grants(entry: YsonValue, user: string, vital: boolean): boolean {
  const fields: YsonValue = bare(entry);
  return (
    isMap(fields) &&
    fields.get("action") === "allow" &&
    includes(fields, "subjects", user) &&
    includes(fields, "permissions", "register_queue_consumer") &&
    fields.get("inheritance_mode") === "object_and_descendants" &&
    (!vital || fields.get("vital") === true)
  );
}

function includes(fields: YsonMap, name: string, item: string): boolean {
  const list = bare(fields.get(name) ?? null);
  return isList(list) && list.includes(item);
}
