/**
 * Commands of dynamic tables as a whole: their tablets, replicas, and what is told about them.
 * Specified in: yt/yt/client/driver/table_commands.cpp; YTsaurus documentation, "Commands".
 */
import { attributesOf, bare, sleep, withAttributes, type YsonValue, YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { callOptions, field, text } from "../answers.ts";
import type { RowInput } from "../rows.ts";
import type { CommandOptions, PathInput } from "../types.ts";
import { named } from "./family.ts";
import { RowCommands } from "./rows.ts";

/** Which tablets: from the first to the last of these indexes. Default: all. */
export interface TabletRange extends CommandOptions {
  readonly firstTabletIndex?: number;
  readonly lastTabletIndex?: number;
}

/** For commands whose answer comes before their work is done. */
export interface WaitingOptions extends TabletRange {
  /** Waits until the table is in the state that is asked for, so long at most, in milliseconds. Default: no wait. */
  readonly waitTimeoutMs?: number;
}

export interface ReshardOptions extends TabletRange {
  readonly tabletCount?: number;
  /** The first keys of the tablets of a sorted table; the first is empty. */
  readonly pivotKeys?: readonly (readonly unknown[])[];
  readonly uniform?: boolean;
  readonly enableSlicing?: boolean;
  readonly trimmedRowCounts?: readonly bigint[];
}

export interface AlterReplicaOptions extends CommandOptions {
  readonly enabled?: boolean;
  readonly mode?: "sync" | "async";
  readonly preserveTimestamps?: boolean;
  readonly atomicity?: "full" | "none";
  readonly enableReplicatedTableTracker?: boolean;
  readonly replicaPath?: string;
}

const statePollMs = 100;

export class TabletCommands extends RowCommands {
  /** Mounts the tablets: then rows can be read and written. */
  mountTable(path: PathInput, options: WaitingOptions & { readonly freeze?: boolean } = {}): Promise<void> {
    return this.#switch("mount_table", path, options, options.freeze === true ? "frozen" : "mounted");
  }

  /** Unmounts the tablets: then the table can be changed as a whole. */
  unmountTable(path: PathInput, options: WaitingOptions & { readonly force?: boolean } = {}): Promise<void> {
    return this.#switch("unmount_table", path, options, "unmounted");
  }

  /** Brings changed settings of the table to its tablets. */
  async remountTable(path: PathInput, options: TabletRange = {}): Promise<void> {
    await this.write("remount_table", { path, ...named(options) }, options);
  }

  /** Makes the tablets readable only. */
  freezeTable(path: PathInput, options: WaitingOptions = {}): Promise<void> {
    return this.#switch("freeze_table", path, options, "frozen");
  }

  unfreezeTable(path: PathInput, options: WaitingOptions = {}): Promise<void> {
    return this.#switch("unfreeze_table", path, options, "mounted");
  }

  /** Cuts an unmounted table into other tablets. */
  async reshardTable(path: PathInput, options: ReshardOptions): Promise<void> {
    await this.write("reshard_table", { path, ...named(options) }, options);
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

  /** Errors of the tablets and of their replication, by tablet. */
  async getTabletErrors(path: PathInput, options: CommandOptions = {}): Promise<YsonValue> {
    return (await this.write("get_tablet_errors", { path }, options)) ?? null;
  }

  /** Changes a replica of a replicated table. */
  async alterTableReplica(replicaId: string, options: AlterReplicaOptions): Promise<void> {
    await this.write("alter_table_replica", { replica_id: replicaId, ...named(options) }, options);
  }

  /** Ids of the replicas that have all of the rows with these keys (without keys: of all rows) at the timestamp. */
  async getInSyncReplicas(
    path: PathInput,
    options: CommandOptions & { readonly timestamp: bigint; readonly keys?: RowInput },
  ): Promise<YsonValue> {
    const { keys = [], timestamp } = options;
    const parameters = { path, timestamp, all_keys: options.keys === undefined, output_format: "yson" };
    const bytes = await this.sendRows("get_in_sync_replicas", keys, parameters, options);
    return parseYson(bytes);
  }

  async #switch(command: string, path: PathInput, options: WaitingOptions, state: string): Promise<void> {
    const { waitTimeoutMs, ...others } = options;
    await this.write(command, { path, ...named(others) }, options);
    if (waitTimeoutMs !== undefined) {
      await this.#untilState(path, state, waitTimeoutMs, options);
    }
  }

  async #untilState(
    path: PathInput,
    state: string,
    waitTimeoutMs: number,
    options: CommandOptions,
  ): Promise<void> {
    const { clock } = this.requester.options;
    const endMs = clock.monotonic() + waitTimeoutMs;
    for (;;) {
      const now = await this.get(attributePath(path, "tablet_state"), callOptions(options));
      if (now === state) {
        return;
      }
      if (clock.monotonic() >= endMs) {
        throw new YtError(
          `The table is still "${String(bare(now))}" and not "${state}" after ${waitTimeoutMs} ms; look at its @tablet_state and at get_tablet_errors`,
          { code: "Timeout" },
        );
      }
      await sleep(clock, statePollMs, options.signal);
    }
  }
}

/** A path of an attribute; attributes of the path itself stay. */
function attributePath(path: PathInput, name: string): PathInput {
  const attributes = attributesOf(path);
  return withAttributes(`${text(bare(path))}/@${name}`, attributes);
}
