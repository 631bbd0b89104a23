/**
 * The layout of a queue: its tablets with their states and places, and the system columns of its schema.
 * It is read again only when the table's revision or state says that it may be another one.
 */
import { bare, isList, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { outputValue } from "../clusters/batch.ts";
import type { ClusterReads, WatchedRead } from "../reads/cluster-reads.ts";
import { integerOf, textOf } from "../scalars.ts";

export interface TabletPlace {
  readonly tabletId: string;
  readonly state: string;
  readonly cellId: string;
  readonly host: string | null;
}

/** What a tablet says of its rows. */
export interface TabletInfo {
  /** The trimmed row count, and the rows ever written. */
  readonly lowerRowIndex: bigint;
  readonly upperRowIndex: bigint;
  readonly lastWriteTimestamp: bigint;
}

/** What tells that a layout may have changed. */
export interface LayoutMarks {
  readonly objectId: string;
  readonly revision: bigint | null;
  readonly tabletState: string;
  readonly tabletCount: number;
}

export interface QueueLayout extends LayoutMarks {
  readonly tablets: readonly TabletPlace[];
  readonly hasTimestampColumn: boolean;
  readonly hasCumulativeDataWeightColumn: boolean;
  /** The table is a replica of a replicated table. To become one, or none any more, it gets another revision. */
  readonly isReplica: boolean;
}

/** `@upstream_replica_id` of a table that is no replica. */
const noReplicaId = "0-0-0-0";

const markNames = ["id", "revision", "tablet_state", "tablet_count"];
const layoutNames = [...markNames, "tablets", "schema", "dynamic", "upstream_replica_id"];

/** Rows of a tablet can be read. */
export function isReadable(tablet: TabletPlace): boolean {
  return tablet.state === "mounted" || tablet.state === "frozen";
}

export function watchLayoutMarks(reads: ClusterReads, path: string): WatchedRead<LayoutMarks> {
  return reads.watch("get", { path: `${path}/@`, attributes: markNames }, (output) =>
    marksOf(mapOfAttributes(outputValue(output), path)),
  );
}

/** @throws YtError also when the table is no queue: `Invalid queue schema …` */
export async function readQueueLayout(reads: ClusterReads, path: string): Promise<QueueLayout> {
  const attributes = mapOfAttributes(await reads.get(`${path}/@`, layoutNames), path);
  const columns = columnsOf(attributes.get("schema") ?? null);
  if (attributes.get("dynamic") !== true) {
    throw new YtError(`Table ${path} is not dynamic; make it so with "alter-table --dynamic"`);
  }
  if (columns.isSorted) {
    throw new YtError(`Invalid queue schema: table ${path} is sorted, a queue has no key columns`);
  }
  const tablets = attributes.get("tablets");
  if (!isList(tablets)) {
    throw new YtError(`Table ${path} has no tablets`);
  }
  return {
    ...marksOf(attributes),
    tablets: tablets.map(toPlace),
    hasTimestampColumn: columns.names.has("$timestamp"),
    hasCumulativeDataWeightColumn: columns.names.has("$cumulative_data_weight"),
    isReplica: (textOf(attributes.get("upstream_replica_id")) ?? noReplicaId) !== noReplicaId,
  };
}

export function sameMarks(left: LayoutMarks, right: LayoutMarks): boolean {
  return (
    left.objectId === right.objectId &&
    left.revision === right.revision &&
    left.tabletState === right.tabletState &&
    left.tabletCount === right.tabletCount
  );
}

function mapOfAttributes(value: YsonValue, path: string): YsonMap {
  const attributes = bare(value);
  if (!isMap(attributes)) {
    throw new YtError(`Attributes of ${path} are not a map`);
  }
  return attributes;
}

function marksOf(attributes: YsonMap): LayoutMarks {
  return {
    objectId: textOf(attributes.get("id")) ?? "",
    revision: integerOf(attributes.get("revision")),
    tabletState: textOf(attributes.get("tablet_state")) ?? "",
    tabletCount: Number(integerOf(attributes.get("tablet_count")) ?? 0n),
  };
}

function toPlace(value: YsonValue): TabletPlace {
  const tablet = bare(value);
  const field = (name: string): YsonValue | undefined => (isMap(tablet) ? tablet.get(name) : undefined);
  const host = textOf(field("cell_leader_address"));
  return {
    tabletId: textOf(field("tablet_id")) ?? "",
    state: textOf(field("state")) ?? "",
    cellId: textOf(field("cell_id")) ?? "",
    host: host === "" ? null : host,
  };
}

function columnsOf(schema: YsonValue): { readonly names: ReadonlySet<string>; readonly isSorted: boolean } {
  const list = bare(schema);
  const names = new Set<string>();
  let isSorted = false;
  for (const item of isList(list) ? list : []) {
    const column = bare(item);
    if (isMap(column)) {
      names.add(textOf(column.get("name")) ?? "");
      isSorted ||= column.has("sort_order") && column.get("sort_order") !== null;
    }
  }
  return { names, isSorted };
}
