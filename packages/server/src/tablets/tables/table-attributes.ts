/**
 * Built-in attributes of tables beyond those of every node.
 * Specified in: yt/yt/server/master/table_server/table_node_proxy_detail.cpp,
 * chunk_server/chunk_owner_node_proxy.cpp.
 */
import { mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { decodeKey, type RowValue } from "@qyt/schema";
import { bytesToString } from "@qyt/yson";
import {
  authorizeBundle,
  type BuiltinAttribute,
  formatTimeUs,
  type Node,
  revisionOf,
} from "../../cypress/index.ts";
import type { TabletStatistics } from "../ordered/index.ts";
import { laterOf } from "../ordered/tablet-state.ts";
import { noReplicaId } from "../replicated/replica-state.ts";
import type { TabletFigures } from "../sorted/index.ts";
import { staticChunks, staticStatistics } from "../static/table-rows.ts";
import { chunkListIdOf } from "./chunk-list-objects.ts";
import type { TableEnvironment } from "./environment.ts";
import { queueAttributes } from "./queue-attributes.ts";
import { type Setting, settingOf, tableSettings } from "./settings.ts";
import { sortedFigures } from "./sorted-tablets.ts";
import {
  hasOrderedTablets,
  isOrderedDynamic,
  isSortedDynamic,
  type TableState,
  type TabletRecord,
  withoutSetting,
  withSetting,
} from "./table-state.ts";

type Attribute = BuiltinAttribute<TableState>;
type Get = (state: TableState, node: Node<TableState>) => YsonValue | undefined;

export function tableAttributes(environment: TableEnvironment): ReadonlyMap<string, Attribute> {
  const attributes = new Map<string, Attribute>();
  const add = (name: string, get: Get, options: Partial<Attribute> = {}): void => {
    attributes.set(name, { get: (node) => get(node.state, node), ...options });
  };
  const whenDynamic =
    (get: Get): Get =>
    (state, node) =>
      state.dynamic ? get(state, node) : undefined;
  const opaqueWhen = (has: (state: TableState) => boolean): Partial<Attribute> => ({
    opaque: true,
    isPresent: ({ state }) => has(state),
  });
  const isDynamic = (state: TableState): boolean => state.dynamic;
  const whenOrdered =
    (get: Get): Get =>
    (state, node) =>
      isOrderedDynamic(state) ? get(state, node) : undefined;
  const opaque = { opaque: true };

  add("dynamic", (state) => state.dynamic);
  add("schema", (state) => state.schema.toYson());
  add("schema_mode", (state) => state.schemaMode);
  add("sorted", (state) => state.schema.isSorted);
  add("key_columns", (state) => keyColumns(state));
  add("sorted_by", (state) => (state.schema.isSorted ? keyColumns(state) : undefined));
  add("update_mode", () => "none");
  add("row_count", (state) => (state.dynamic ? undefined : BigInt(totals(environment, state).chunkRowCount)));
  add("chunk_row_count", (state) => BigInt(totals(environment, state).chunkRowCount));
  add("unmerged_row_count", (state) =>
    isSortedDynamic(state) ? BigInt(totals(environment, state).chunkRowCount) : undefined,
  );
  add("data_weight", (state) => BigInt(totals(environment, state).chunkDataWeight));
  add("uncompressed_data_size", (state) => BigInt(totals(environment, state).chunkByteSize));
  add("compressed_data_size", (state) => BigInt(totals(environment, state).chunkByteSize));
  add("compression_ratio", () => 1);
  add("chunk_count", (state) => BigInt(totals(environment, state).chunkCount));
  add("chunk_ids", (state) => chunkIds(environment, state), opaque);
  add("chunk_list_id", (state, { id }) =>
    isOrderedDynamic(state) ? chunkListIdOf(id) : (state.chunkListId ?? "0-0-0-0"),
  );
  for (const name of ["compression_statistics", "erasure_statistics", "optimize_for_statistics"]) {
    add(name, () => mapOf({}), opaque);
  }
  add(
    "retained_timestamp",
    ({ rowsId }) => new Uint64(rowsId === undefined ? 0n : environment.retainedTimestamp(rowsId)),
  );
  add("unflushed_timestamp", () => new Uint64(environment.cell.lastTimestamp));

  add("tablet_state", (state) => tabletState(state));
  add(
    "expected_tablet_state",
    whenDynamic((state) => tabletState(state)),
  );
  add(
    "actual_tablet_state",
    whenDynamic((state) => tabletState(state)),
  );
  add(
    "tablet_count",
    whenDynamic((state) => BigInt(state.tablets.length)),
  );
  add(
    "tablet_layout_revision",
    whenOrdered((state) => new Uint64(state.layoutRevision ?? 0n)),
  );
  add("tablet_count_by_state", whenDynamic(countByState));
  add("tablet_count_by_expected_state", whenDynamic(countByState));
  add(
    "tablets",
    whenDynamic((state, node) =>
      state.tablets.map((tablet, index) => describeTablet(environment, state, node, tablet, index)),
    ),
    opaqueWhen(isDynamic),
  );
  add(
    "pivot_keys",
    (state) => (isSortedDynamic(state) ? pivotKeys(state) : undefined),
    opaqueWhen(isSortedDynamic),
  );
  add(
    "tablet_statistics",
    whenDynamic((state) => statisticsMap(totals(environment, state), state.tablets.length)),
    opaqueWhen(isDynamic),
  );
  add(
    "tablet_error_count",
    whenDynamic(() => 0n),
  );
  add("last_commit_timestamp", (state) =>
    isSortedDynamic(state) ? new Uint64(lastCommitOf(environment, state)) : undefined,
  );
  add(
    "upstream_replica_id",
    whenDynamic((state) => state.upstreamReplicaId ?? noReplicaId),
  );
  add(
    "effective_mount_config",
    whenDynamic((state) => settingOf(state, "mount_config")),
    opaqueWhen(isDynamic),
  );
  add(
    "preload_state",
    whenDynamic(() => "none"),
  );
  for (const [name, attribute] of queueAttributes(environment)) {
    attributes.set(name, attribute);
  }
  for (const [name, setting] of tableSettings) {
    attributes.set(name, {
      get: (node) =>
        setting.dynamicOnly === true && !node.state.dynamic ? undefined : settingOf(node.state, name),
      set(_draft, node, value) {
        const parsed = setting.parse(value);
        requireChangeable(setting, node.state);
        return { state: withSetting(node.state, name, parsed) };
      },
      ...(name === "tablet_cell_bundle" ? { authorizeValue: authorizeBundle } : {}),
      remove(_draft, node) {
        requireChangeable(setting, node.state);
        return { state: withoutSetting(node.state, name) };
      },
    });
  }
  return attributes;
}

function requireChangeable(setting: Setting, state: TableState): void {
  if (setting.needsUnmounted !== undefined && state.tablets.some((tablet) => tablet.state !== "unmounted")) {
    throw new YtError(`Cannot change ${setting.needsUnmounted} since not all tablets are unmounted`);
  }
}

function keyColumns(state: TableState): string[] {
  return state.schema.columns.slice(0, state.schema.keyColumnCount).map(({ name }) => name);
}

/** The common state of all tablets, `mixed` when they differ, `none` for a static table. */
export function tabletState(state: TableState): string {
  if (!state.dynamic) {
    return "none";
  }
  const states = new Set(state.tablets.map((tablet) => tablet.state));
  const [only] = states;
  return states.size === 1 && only !== undefined ? only : "mixed";
}

const stateNames = [
  "mounting",
  "mounted",
  "unmounting",
  "unmounted",
  "freezing",
  "frozen",
  "unfreezing",
  "frozen_mounting",
];

function countByState(state: TableState): YsonMap {
  const counts = new Map<string, YsonValue>(stateNames.map((name) => [name, 0n]));
  for (const tablet of state.tablets) {
    counts.set(tablet.state, BigInt(state.tablets.filter((other) => other.state === tablet.state).length));
  }
  return counts;
}

interface Totals {
  readonly chunkCount: number;
  readonly chunkRowCount: number;
  readonly chunkDataWeight: number;
  readonly chunkByteSize: number;
}

const nothing: Totals = { chunkCount: 0, chunkRowCount: 0, chunkDataWeight: 0, chunkByteSize: 0 };

function totals(environment: TableEnvironment, state: TableState): Totals {
  if (!state.dynamic) {
    const list = staticStatistics(environment, state);
    return {
      chunkCount: list.chunkCount,
      chunkRowCount: list.rowCount,
      chunkDataWeight: list.dataWeight,
      chunkByteSize: list.byteSize,
    };
  }
  if (!hasOrderedTablets(state)) {
    return sortedTotals(sortedFigures(environment, state));
  }
  let sum = nothing;
  for (const { id } of state.tablets) {
    const one = environment.orderedTablets.get(id)?.statistics();
    if (one !== undefined) {
      sum = {
        chunkCount: sum.chunkCount + one.chunkCount,
        chunkRowCount: sum.chunkRowCount + one.chunkRowCount,
        chunkDataWeight: sum.chunkDataWeight + one.chunkDataWeight,
        chunkByteSize: sum.chunkByteSize + one.chunkByteSize,
      };
    }
  }
  return sum;
}

/** Rows of sorted tables are in no chunks, but in the store all the same. */
function sortedTotals({ versionCount, dataWeight, byteSize }: TabletFigures): Totals {
  return { chunkCount: 0, chunkRowCount: versionCount, chunkDataWeight: dataWeight, chunkByteSize: byteSize };
}

function lastCommitOf(environment: TableEnvironment, state: TableState): bigint {
  return hasOrderedTablets(state)
    ? state.tablets.reduce(
        (last, { id }) => laterOf(last, environment.orderedTablet(id).visible.lastWriteTimestamp),
        0n,
      )
    : sortedFigures(environment, state).lastCommitTimestamp;
}

function chunkIds(environment: TableEnvironment, state: TableState): string[] {
  if (!state.dynamic) {
    return staticChunks(environment, state).map(({ chunk }) => chunk.id);
  }
  return hasOrderedTablets(state)
    ? state.tablets.flatMap(({ id }) =>
        (environment.orderedTablets.get(id)?.visible.sealed ?? []).map(({ chunk }) => chunk.id),
      )
    : [];
}

function pivotKeys(state: TableState): YsonValue[][] {
  return state.tablets.map(({ pivotKey }) => pivotKeyToYson(state, pivotKey));
}

export function pivotKeyToYson(state: TableState, pivotKey: Buffer): YsonValue[] {
  const columns = state.schema.columns.slice(0, state.schema.keyColumnCount);
  return decodeKey(
    pivotKey,
    columns.map(({ physical }) => physical),
  ).map((value, index) => keyValueToYson(value, columns[index]?.physical === "uint64"));
}

function keyValueToYson(value: RowValue, isUnsigned: boolean): YsonValue {
  if (typeof value === "bigint") {
    return isUnsigned ? new Uint64(value) : value;
  }
  if (value instanceof Uint8Array) {
    return bytesToString(value);
  }
  return typeof value === "object" ? null : value;
}

function describeTablet(
  environment: TableEnvironment,
  state: TableState,
  node: Node<TableState>,
  tablet: TabletRecord,
  index: number,
): YsonMap {
  const ordered = hasOrderedTablets(state) ? environment.orderedTablets.get(tablet.id) : undefined;
  const statistics = ordered?.statistics();
  const isAssigned = tablet.state !== "unmounted";
  return mapOf({
    index: BigInt(index),
    tablet_id: tablet.id,
    state: tablet.state,
    expected_state: tablet.state,
    statistics: statisticsMap(
      statistics ?? sortedTotals(sortedFigures(environment, { ...state, tablets: [tablet] })),
      1,
    ),
    error_count: 0n,
    replication_error_count: 0n,
    last_commit_timestamp: new Uint64(
      ordered?.visible.lastWriteTimestamp ?? environment.lastWriteTimestamp(tablet.id),
    ),
    pivot_key: isSortedDynamic(state) ? pivotKeyToYson(state, tablet.pivotKey) : undefined,
    trimmed_row_count: statistics === undefined ? undefined : BigInt(statistics.trimmedRowCount),
    flushed_row_count: statistics === undefined ? undefined : BigInt(statistics.flushedRowCount),
    cell_id: isAssigned ? environment.tabletCellId : undefined,
    cell_leader_address: isAssigned ? environment.nodeAddress : undefined,
    mount_time: tablet.mountTimeMs === undefined ? undefined : formatTimeUs(tablet.mountTimeMs * 1000),
    mount_revision: isAssigned ? new Uint64(tablet.mountRevision ?? revisionOf(node)) : undefined,
  });
}

function statisticsMap(totalsOf: Totals | TabletStatistics, tabletCount: number): YsonMap {
  return mapOf({
    chunk_count: BigInt(totalsOf.chunkCount),
    compressed_data_size: BigInt(totalsOf.chunkByteSize),
    uncompressed_data_size: BigInt(totalsOf.chunkByteSize),
    disk_space: BigInt(totalsOf.chunkByteSize),
    disk_space_per_medium: mapOf({ default: BigInt(totalsOf.chunkByteSize) }),
    memory_size: 0n,
    dynamic_memory_pool_size: 0n,
    overlapping_store_count: 0n,
    partition_count: 1n,
    store_count: BigInt(totalsOf.chunkCount),
    preload_pending_store_count: 0n,
    preload_completed_store_count: 0n,
    preload_failed_store_count: 0n,
    tablet_count: BigInt(tabletCount),
    tablet_count_per_memory_mode: mapOf({ none: BigInt(tabletCount), compressed: 0n, uncompressed: 0n }),
    unmerged_row_count: BigInt(totalsOf.chunkRowCount),
    hunk_uncompressed_data_size: 0n,
    hunk_compressed_data_size: 0n,
  });
}
