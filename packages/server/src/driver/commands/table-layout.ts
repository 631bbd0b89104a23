/** How dynamic tables are cut into tablets, for clients. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { mapOf, Uint64, type YsonValue } from "@qyt/base";
import { pivotKeyToYson } from "../../tablets/index.ts";
import { needs, right } from "../access.ts";
import { defineCommand, structured } from "../define.ts";
import { parameter, withDefault } from "../parameters.ts";
import { requireSorted } from "../tables.ts";
import { reading } from "./kinds.ts";

const describing = {
  ...reading,
  versions: [4],
  access: needs(right("read", "node", "path")),
} as const;

const getTablePivotKeys = defineCommand({
  ...describing,
  name: "get_table_pivot_keys",
  summary: "The first keys of the tablets of a sorted table: maps by column, or lists of values.",
  parameters: { path: parameter.path, represent_key_as_list: withDefault(parameter.boolean, false) },
  async execute(context, parameters) {
    const table = context.services.tables.dynamicHandle({ user: context.user }, parameters.path, {
      permission: "read",
    });
    requireSorted(table);
    const { state } = table;
    const keys = state.tablets.map(({ pivotKey }): YsonValue => {
      const values = pivotKeyToYson(state, pivotKey);
      return parameters.represent_key_as_list
        ? values
        : new Map(values.map((value, index) => [state.schema.columns[index]?.name ?? "", value]));
    });
    return structured(keys);
  },
});

const getTableMountInfo = defineCommand({
  ...describing,
  name: "get_table_mount_info",
  summary: "What a client needs to find the tablet of a row: the table's schema, its tablets, their cells.",
  parameters: { path: parameter.path },
  async execute(context, { path }) {
    const table = context.services.tables.dynamicHandle({ user: context.user }, path, {
      permission: "read",
    });
    const { state, sorted } = table;
    const { tabletCellId } = context.services.tables.environment;
    return structured(
      mapOf({
        table_id: table.id,
        path: table.path,
        physical_path: table.path,
        dynamic: true,
        sorted,
        schema: table.schema.toYson(),
        upstream_replica_id: table.upstreamReplicaId ?? "0-0-0-0",
        need_key_evaluation: table.schema.columns.some(({ expression }) => expression !== undefined),
        tablets: state.tablets.map((tablet, index) =>
          mapOf({
            tablet_index: BigInt(index),
            tablet_id: tablet.id,
            state: tablet.state,
            in_memory_mode: state.settings.get("in_memory_mode") ?? "none",
            mount_revision: new Uint64(tablet.mountRevision ?? 0n),
            pivot_key: sorted ? pivotKeyToYson(state, tablet.pivotKey) : undefined,
            cell_id: tablet.state === "unmounted" ? undefined : tabletCellId,
          }),
        ),
      }),
    );
  },
});

export const tableLayoutCommands = [getTablePivotKeys, getTableMountInfo];
