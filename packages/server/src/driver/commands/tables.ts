/** Life cycle and shape of dynamic tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { mapOf, Uint64 } from "@qyt/base";
import type { TabletRange } from "../../tablets/index.ts";
import { needs, right, when } from "../access.ts";
import { type CommandContext, defineCommand, type RegisteredCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";
import { answerless, writing } from "./kinds.ts";

const mounting = needs(right("mount", "node", "path"), right("use", "bundle", "path"));
const writingTable = needs(right("write", "node", "path"));
const readingTable = needs(right("read", "node", "path"));

const rangeParameters = {
  path: parameter.path,
  first_tablet_index: optional(parameter.int32),
  last_tablet_index: optional(parameter.int32),
};

function rangeOf(parameters: {
  first_tablet_index: number | undefined;
  last_tablet_index: number | undefined;
}): TabletRange {
  return {
    ...(parameters.first_tablet_index === undefined
      ? {}
      : { firstTabletIndex: parameters.first_tablet_index }),
    ...(parameters.last_tablet_index === undefined ? {} : { lastTabletIndex: parameters.last_tablet_index }),
  };
}

function tableContext(context: CommandContext): { user: string } {
  return { user: context.user };
}

const mountTable = defineCommand({
  ...answerless,
  name: "mount_table",
  access: mounting,
  summary: "Makes tablets take reads and writes.",
  parameters: { ...rangeParameters, freeze: withDefault(parameter.boolean, false) },
  async execute(context, parameters) {
    await context.services.tables.mount(tableContext(context), parameters.path, {
      ...rangeOf(parameters),
      freeze: parameters.freeze,
    });
    return context.nothing();
  },
});

const unmountTable = defineCommand({
  ...answerless,
  name: "unmount_table",
  access: needs(...mounting.requirements, when("`force`", right("administer", "bundle", "path"))),
  summary: "Flushes tablets and takes them offline; with `force` unflushed rows are lost.",
  parameters: { ...rangeParameters, force: withDefault(parameter.boolean, false) },
  async execute(context, parameters) {
    await context.services.tables.unmount(tableContext(context), parameters.path, {
      ...rangeOf(parameters),
      force: parameters.force,
    });
    return context.nothing();
  },
});

/** A command that says nothing but which tablets it is for. */
function rangeCommand(
  name: string,
  summary: string,
  act: "remount" | "freeze" | "unfreeze",
): RegisteredCommand {
  return defineCommand({
    ...answerless,
    name,
    access: mounting,
    summary,
    parameters: rangeParameters,
    async execute(context, parameters) {
      await context.services.tables[act](tableContext(context), parameters.path, rangeOf(parameters));
      return context.nothing();
    },
  });
}

const remountTable = rangeCommand(
  "remount_table",
  "Makes mounted tablets take over changed settings.",
  "remount",
);
const freezeTable = rangeCommand("freeze_table", "Flushes tablets and lets them be read only.", "freeze");
const unfreezeTable = rangeCommand("unfreeze_table", "Lets frozen tablets take writes again.", "unfreeze");

const reshardTable = defineCommand({
  ...answerless,
  name: "reshard_table",
  access: mounting,
  summary: "Changes the number of tablets, or the ranges of keys that they hold.",
  parameters: {
    ...rangeParameters,
    tablet_count: optional(parameter.int32),
    pivot_keys: optional(parameter.yson),
    uniform: withDefault(parameter.boolean, false),
    trimmed_row_counts: optional(parameter.yson),
    cumulative_data_weights: optional(parameter.yson),
  },
  async execute(context, parameters) {
    await context.services.tables.reshard(tableContext(context), parameters.path, {
      ...rangeOf(parameters),
      ...(parameters.tablet_count === undefined ? {} : { tabletCount: parameters.tablet_count }),
      uniform: parameters.uniform,
      ...(parameters.pivot_keys === undefined ? {} : { pivotKeys: parameters.pivot_keys }),
      ...(parameters.trimmed_row_counts === undefined
        ? {}
        : { trimmedRowCounts: parameters.trimmed_row_counts }),
      ...(parameters.cumulative_data_weights === undefined
        ? {}
        : { cumulativeDataWeights: parameters.cumulative_data_weights }),
    });
    return context.nothing();
  },
});

const alterTable = defineCommand({
  ...answerless,
  name: "alter_table",
  access: writingTable,
  summary: "Changes the schema, or makes a static table dynamic and back.",
  parameters: {
    path: parameter.path,
    schema: optional(parameter.yson),
    dynamic: optional(parameter.boolean),
    upstream_replica_id: optional(parameter.guid),
  },
  async execute(context, { path, schema, dynamic, upstream_replica_id }) {
    await context.services.tables.alter(cypressContext(context), path, {
      ...(schema === undefined ? {} : { schema }),
      ...(dynamic === undefined ? {} : { dynamic }),
      ...(upstream_replica_id === undefined ? {} : { upstreamReplicaId: upstream_replica_id }),
    });
    return context.nothing();
  },
});

const trimRows = defineCommand({
  ...answerless,
  isHeavy: true,
  name: "trim_rows",
  access: writingTable,
  summary: "Removes the rows of one tablet of a queue below an index.",
  parameters: { path: parameter.path, tablet_index: parameter.int32, trimmed_row_count: parameter.int64 },
  async execute(context, { path, tablet_index, trimmed_row_count }) {
    await context.services.tables.trim(tableContext(context), path, tablet_index, trimmed_row_count);
    return context.nothing();
  },
});

const getTabletInfos = defineCommand({
  name: "get_tablet_infos",
  versions: [4],
  ...writing,
  // Volatile to clients, but nothing is changed: an answer is never worth keeping.
  isRemembered: false,
  access: readingTable,
  summary: "Row counts and timestamps of tablets.",
  parameters: {
    path: parameter.path,
    tablet_indexes: parameter.list(parameter.int32),
    request_errors: withDefault(parameter.boolean, false),
  },
  async execute(context, { path, tablet_indexes }) {
    const table = context.services.tables.dynamicTable(tableContext(context), path, { permission: "read" });
    const tablets = tablet_indexes.map((index) => {
      const info = table.tabletInfo(index);
      return mapOf({
        total_row_count: BigInt(info.totalRowCount),
        trimmed_row_count: BigInt(info.trimmedRowCount),
        delayed_lockless_row_count: 0n,
        barrier_timestamp: new Uint64(info.barrierTimestamp),
        last_write_timestamp: new Uint64(info.lastWriteTimestamp),
        replica_infos: context.services.tables.replication.replicaInfos(table.id, index),
      });
    });
    return structured(mapOf({ tablets }));
  },
});

const getTabletErrors = defineCommand({
  name: "get_tablet_errors",
  versions: [4],
  ...writing,
  isRemembered: false,
  access: readingTable,
  summary: "Background errors of tablets.",
  parameters: { path: parameter.path },
  async execute(context, { path }) {
    const { tables } = context.services;
    const table = tables.dynamicTable(tableContext(context), path, { permission: "read" });
    return structured(
      mapOf({ tablet_errors: mapOf({}), replication_errors: tables.replication.errorsOf(table.id) }),
    );
  },
});

export const tableCommands = [
  mountTable,
  unmountTable,
  remountTable,
  freezeTable,
  unfreezeTable,
  reshardTable,
  alterTable,
  trimRows,
  getTabletInfos,
  getTabletErrors,
];
