/**
 * Commands of dynamic tables as a whole: their tablets and what is told about them.
 * Specified in: yt/yt/client/driver/table_commands.cpp; YTsaurus documentation, "Commands".
 */
import type { YsonValue } from "@qyt/base";
import { field } from "../answers.ts";
import type { CommandOptions, PathInput } from "../types.ts";
import { named } from "./family.ts";
import { RowCommands } from "./rows.ts";

export class TabletCommands extends RowCommands {
  /** Asks that the tablets are mounted; the answer comes before they are. */
  async mountTable(
    path: PathInput,
    options: CommandOptions & { readonly freeze?: boolean } = {},
  ): Promise<void> {
    await this.write("mount_table", { path, ...named(options) }, options);
  }

  async unmountTable(
    path: PathInput,
    options: CommandOptions & { readonly force?: boolean } = {},
  ): Promise<void> {
    await this.write("unmount_table", { path, ...named(options) }, options);
  }

  /** Removes the rows of a queue's partition below an index. */
  async trimRows(
    path: PathInput,
    tabletIndex: number,
    trimmedRowCount: bigint,
    options: CommandOptions = {},
  ): Promise<void> {
    const parameters = { path, tablet_index: BigInt(tabletIndex), trimmed_row_count: trimmedRowCount };
    await this.write("trim_rows", parameters, options);
  }

  /** One map a tablet: `total_row_count`, `trimmed_row_count`, `barrier_timestamp`, `last_write_timestamp`. */
  async getTabletInfos(
    path: PathInput,
    tabletIndexes: readonly number[],
    options: CommandOptions = {},
  ): Promise<YsonValue> {
    const parameters = { path, tablet_indexes: tabletIndexes.map((index) => BigInt(index)) };
    return field(await this.write("get_tablet_infos", parameters, options), "tablets");
  }
}
