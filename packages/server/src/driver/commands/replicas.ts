/** Replicas of replicated tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import type { YsonValue } from "@qyt/base";
import { needs, remarked, right } from "../access.ts";
import { type CommandContext, defineCommand, type RegisteredCommand, structured } from "../define.ts";
import { optional, parameter } from "../parameters.ts";
import { readRows } from "../rows.ts";
import { requireSorted } from "../tables.ts";
import { answerless } from "./kinds.ts";

const changing = remarked(
  needs(right("write", "node", "replica_id")),
  "the node is the replicated table of the replica",
);

const alterTableReplica = defineCommand({
  ...answerless,
  name: "alter_table_replica",
  access: changing,
  summary: "Enables or disables a replica of a replicated table, or makes it synchronous or asynchronous.",
  parameters: {
    replica_id: parameter.guid,
    enabled: optional(parameter.boolean),
    mode: optional(parameter.oneOf("ETableReplicaMode", ["sync", "async"])),
    preserve_timestamps: optional(parameter.boolean),
    atomicity: optional(parameter.oneOf("EAtomicity", ["full", "none"])),
    enable_replicated_table_tracker: optional(parameter.boolean),
  },
  async execute(context, parameters) {
    const { replica_id, enabled, mode, ...rest } = parameters;
    const settings = new Map<string, YsonValue>();
    for (const [name, value] of Object.entries(rest)) {
      if (value !== undefined) {
        settings.set(name, value);
      }
    }
    await context.services.tables.replication.alter({ user: context.user }, replica_id, {
      ...(enabled === undefined ? {} : { enabled }),
      ...(mode === undefined ? {} : { mode }),
      settings,
    });
    return context.nothing();
  },
});

function switchCommand(name: string, summary: string, enabled: boolean): RegisteredCommand {
  return defineCommand({
    ...answerless,
    name,
    access: changing,
    summary,
    parameters: { replica_id: parameter.guid },
    async execute(context, { replica_id }) {
      await context.services.tables.replication.alter({ user: context.user }, replica_id, { enabled });
      return context.nothing();
    },
  });
}

const enableTableReplica = switchCommand("enable_table_replica", "Lets a replica get rows.", true);
const disableTableReplica = switchCommand("disable_table_replica", "Holds rows back from a replica.", false);

/** Replicas that have all rows of the table have those of all keys. */
const getInSyncReplicas = defineCommand({
  name: "get_in_sync_replicas",
  input: "tabular",
  output: "structured",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "path")),
  summary: "Ids of the replicas that have all rows up to a timestamp.",
  parameters: {
    path: parameter.path,
    timestamp: optional(parameter.uint64),
    all_keys: optional(parameter.boolean),
    cached_sync_replicas_timeout: optional(parameter.duration),
  },
  async execute(context: CommandContext, { path, timestamp, all_keys }) {
    const { tables } = context.services;
    const table = tables.dynamicTable({ user: context.user }, path, { permission: "read" });
    if (all_keys !== true) {
      requireSorted(table);
      await readRows(context, table.keySchema, { rowKind: "keys" });
    }
    return structured([...tables.replication.inSyncReplicas(table, timestamp)]);
  },
});

export const replicaCommands = [
  alterTableReplica,
  enableTableReplica,
  disableTableReplica,
  getInSyncReplicas,
];
