/**
 * What the node of a table keeps: its schema and settings, and where its rows are. Rows of a static table
 * are a chunk list; those of an ordered dynamic table are in its tablets; those of a sorted one are
 * stored under a rows id, whatever its tablets.
 */
import { assert, bare, isList, isMap, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { TableSchema } from "@qyt/schema";
import { replicatedTableTypeName } from "../replicated/replica-state.ts";

/** States of a tablet. Transitions are immediate here, so the transient ones are never stored. */
export type TabletStateName = "mounted" | "unmounted" | "frozen";

export interface TabletRecord {
  readonly id: string;
  readonly state: TabletStateName;
  /** First key of a sorted tablet, encoded; empty for the first one and for ordered tablets. */
  readonly pivotKey: Buffer;
  readonly mountTimeMs?: number;
  readonly mountRevision?: bigint;
}

export interface TableState {
  readonly schema: TableSchema;
  readonly schemaMode: "weak" | "strong";
  readonly dynamic: boolean;
  /** Built-in settings that were set: `optimize_for`, `atomicity`, … */
  readonly settings: YsonMap;
  /** Rows of a static table; absent while it is empty and never written. */
  readonly chunkListId?: string;
  /** Lists whose rows follow: what transactions around this version of the table have appended. */
  readonly deltaListIds?: readonly string[];
  /** The transaction whose version of the table holds these lists; absent when the node itself does. */
  readonly rowsHolder?: string;
  readonly tablets: readonly TabletRecord[];
  /** Of an ordered table: another one whenever the tablets, or those of them that take writes, change. */
  readonly layoutRevision?: bigint;
  /** Id under which the rows of a sorted dynamic table are stored. */
  readonly rowsId?: string;
  /** All value columns the table ever had; stored cells name them by position. */
  readonly valueColumns: readonly string[];
  /** A replicated table: its tablets hold a log of changes. */
  readonly isReplicated?: true;
  /** The replica whose rows the table holds. */
  readonly upstreamReplicaId?: string;
}

/** Of tables in object ids. */
export const tableObjectType = 401;

/** Nodes of these types are tables. */
export function isTableType(type: string): boolean {
  return type === "table" || type === replicatedTableTypeName;
}

export function isSortedDynamic(state: TableState): boolean {
  return state.dynamic && state.schema.keyColumnCount > 0;
}

export function isOrderedDynamic(state: TableState): boolean {
  return state.dynamic && state.schema.keyColumnCount === 0;
}

/** Whether rows are kept in ordered tablets: those of a queue, or the log of any replicated table. */
export function hasOrderedTablets(state: TableState): boolean {
  return isOrderedDynamic(state) || (state.dynamic && state.isReplicated === true);
}

export function withSetting(state: TableState, name: string, value: YsonValue): TableState {
  return { ...state, settings: new Map(state.settings).set(name, value) };
}

export function withoutSetting(state: TableState, name: string): TableState {
  const settings = new Map(state.settings);
  settings.delete(name);
  return { ...state, settings };
}

export function encodeTableState(state: TableState): YsonValue {
  return mapOf({
    schema: state.schema.toYson(),
    schema_mode: state.schemaMode,
    dynamic: state.dynamic,
    settings: state.settings,
    chunk_list_id: state.chunkListId,
    delta_list_ids: state.deltaListIds,
    rows_holder: state.rowsHolder,
    rows_id: state.rowsId,
    layout_revision: state.layoutRevision,
    value_columns: state.valueColumns,
    is_replicated: state.isReplicated,
    upstream_replica_id: state.upstreamReplicaId,
    tablets: state.tablets.map((tablet) =>
      mapOf({
        id: tablet.id,
        state: tablet.state,
        pivot_key: tablet.pivotKey.length === 0 ? undefined : tablet.pivotKey.toString("hex"),
        mount_time: tablet.mountTimeMs === undefined ? undefined : BigInt(Math.round(tablet.mountTimeMs)),
        mount_revision: tablet.mountRevision,
      }),
    ),
  });
}

export function decodeTableState(value: YsonValue): TableState {
  const map = asMap(value);
  const chunkListId = map.get("chunk_list_id");
  const deltaListIds = map.get("delta_list_ids");
  const rowsHolder = map.get("rows_holder");
  const rowsId = map.get("rows_id");
  const layoutRevision = map.get("layout_revision");
  const upstreamReplicaId = map.get("upstream_replica_id");
  return {
    schema: TableSchema.fromYson(map.get("schema") ?? []),
    schemaMode: map.get("schema_mode") === "strong" ? "strong" : "weak",
    dynamic: map.get("dynamic") === true,
    settings: asMap(map.get("settings") ?? new Map()),
    valueColumns: asList(map.get("value_columns") ?? []).map(asString),
    tablets: asList(map.get("tablets") ?? []).map(decodeTablet),
    ...(chunkListId === undefined ? {} : { chunkListId: asString(chunkListId) }),
    ...(deltaListIds === undefined ? {} : { deltaListIds: asList(deltaListIds).map(asString) }),
    ...(rowsHolder === undefined ? {} : { rowsHolder: asString(rowsHolder) }),
    ...(rowsId === undefined ? {} : { rowsId: asString(rowsId) }),
    ...(typeof layoutRevision === "bigint" ? { layoutRevision } : {}),
    ...(map.get("is_replicated") === true ? { isReplicated: true } : {}),
    ...(upstreamReplicaId === undefined ? {} : { upstreamReplicaId: asString(upstreamReplicaId) }),
  };
}

function decodeTablet(value: YsonValue): TabletRecord {
  const map = asMap(value);
  const state = map.get("state");
  assert(
    state === "mounted" || state === "unmounted" || state === "frozen",
    "Stored tablet has a known state",
  );
  const pivot = map.get("pivot_key");
  const mountTime = map.get("mount_time");
  const mountRevision = map.get("mount_revision");
  return {
    id: asString(map.get("id") ?? null),
    state,
    pivotKey: pivot === undefined ? Buffer.alloc(0) : Buffer.from(asString(pivot), "hex"),
    ...(typeof mountTime === "bigint" ? { mountTimeMs: Number(mountTime) } : {}),
    ...(typeof mountRevision === "bigint" ? { mountRevision } : {}),
  };
}

function asMap(value: YsonValue): YsonMap {
  const plain = bare(value);
  assert(isMap(plain), "Stored state of a table is a map");
  return plain;
}

function asList(value: YsonValue): readonly YsonValue[] {
  const plain = bare(value);
  assert(isList(plain), "Stored state of a table has a list");
  return plain;
}

function asString(value: YsonValue): string {
  const plain = bare(value);
  assert(typeof plain === "string", "Stored state of a table has a string");
  return plain;
}
