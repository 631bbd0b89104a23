/**
 * `read-states` and `delete-states`: rows of states of keys and of partitions by computation, by key or by
 * partition.
 * Specified in: documentation "Flow", CLI; yt/yt/flow/library/cpp/controller/state_access.cpp.
 */
import { isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { farmHash, type RowValue } from "@qyt/schema";
import type { RangeOptions } from "../cluster/flow-cluster.ts";
import type { ComputationId, Key } from "../model/message.ts";
import { documentOf, textCell, textOf } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { keyCell } from "../tables/input-keys.ts";
import type { Partition } from "./layout.ts";
import type { Leader } from "./leader.ts";

type Target = "all" | "key_state" | "partition_state";

const defaultLimit = 10;
const maxLimit = 10_000;
/** Rows erased in one transaction. */
const eraseChunk = 1_000;

interface Filter {
  readonly computationId: ComputationId | undefined;
  readonly partitionId: string | undefined;
  readonly key: RowValue | undefined;
  readonly name: string | undefined;
  readonly target: Target;
}

/** One row of a state: where it is, and what identifies it. */
interface StateRow {
  readonly table: "states" | "partition_states";
  readonly owner: string;
  readonly keyDocument: YsonValue;
  readonly name: string;
  readonly state: YsonValue;
  readonly key: readonly RowValue[];
}

const keyColumns = {
  states: ["computation_id", "key", "name"],
  partition_states: ["partition_id", "name"],
} as const;

/** `{key_states; partition_states}`. */
export async function readStates(leader: Leader, argument: YsonMap): Promise<YsonValue> {
  const filter = filterOf(leader, argument);
  const limit = limitOf(argument);
  const rows = await findRows(leader, filter, limit);
  return mapOf({
    key_states: grouped(rows, "states", (row) => ({ computation_id: row.owner, key: row.keyDocument })),
    partition_states: grouped(rows, "partition_states", (row) => ({ partition_id: row.owner })),
  });
}

/** Counts, and with `commit` erases. @throws YtError 1 unless the pipeline rests */
export async function deleteStates(leader: Leader, argument: YsonMap): Promise<YsonValue> {
  const filter = filterOf(leader, argument);
  const { state } = leader;
  const isForced = state === "paused" && argument.get("force") === true;
  if (state !== "stopped" && state !== "completed" && !isForced) {
    throw new YtError(
      `States cannot be deleted while pipeline is "${state}"; stop the pipeline first (or pass force=true on a paused pipeline)`,
    );
  }
  const isCommit = argument.get("commit") === true;
  const counts = { states: 0n, partition_states: 0n };
  let rows = await findRows(leader, filter, isCommit ? eraseChunk : maxLimit);
  while (rows.length > 0) {
    for (const row of rows) {
      counts[row.table] += 1n;
    }
    if (!isCommit) {
      break;
    }
    await erase(leader, rows);
    rows = await findRows(leader, filter, eraseChunk);
  }
  return mapOf({ committed: isCommit, key_states: counts.states, partition_states: counts.partition_states });
}

async function erase(leader: Leader, rows: readonly StateRow[]): Promise<void> {
  const transaction = await leader.options.cluster.startTransaction();
  for (const table of ["states", "partition_states"] as const) {
    const found = rows.filter((row) => row.table === table);
    if (found.length > 0) {
      const path = pipelineTablePath(leader.options.pipelinePath, table);
      transaction.deleteRows(path, { columns: keyColumns[table], rows: found.map((row) => row.key) });
    }
  }
  await transaction.commit();
}

async function findRows(leader: Leader, filter: Filter, limit: number): Promise<readonly StateRow[]> {
  const partitions = partitionsOf(leader, filter);
  const rows: StateRow[] = [];
  if (filter.target !== "partition_state") {
    for (const prefix of statePrefixes(filter, partitions)) {
      rows.push(...(await select(leader, "states", prefix, filter.name, limit)));
    }
  }
  if (filter.target !== "key_state" && filter.key === undefined) {
    for (const { partitionId } of partitions) {
      const id = textCell(partitionId);
      const prefix: RangeOptions["prefix"] = [
        ["hash", farmHash([id])],
        ["partition_id", id],
      ];
      rows.push(...(await select(leader, "partition_states", prefix, filter.name, limit)));
    }
  }
  return rows;
}

/** Ranges of `states`: a computation's, one key's, or those under the source key of a partition. */
function statePrefixes(filter: Filter, partitions: readonly Partition[]): readonly RangeOptions["prefix"][] {
  if (filter.computationId !== undefined) {
    const computation = ["computation_id", textCell(filter.computationId)] as const;
    return [filter.key === undefined ? [computation] : [computation, ["key", filter.key]]];
  }
  return partitions.flatMap((partition): RangeOptions["prefix"][] =>
    partition.sourceKey === undefined
      ? []
      : [
          [
            ["computation_id", textCell(partition.computationId)],
            ["key", keyCell(partition.sourceKey, ["string", "string", "int64"])],
          ],
        ],
  );
}

async function select(
  leader: Leader,
  table: StateRow["table"],
  prefix: RangeOptions["prefix"],
  name: string | undefined,
  limit: number,
): Promise<readonly StateRow[]> {
  const path = pipelineTablePath(leader.options.pipelinePath, table);
  const columns = [...keyColumns[table], "state"];
  const rows = await leader.options.cluster.selectRange(path, { columns, prefix, limit });
  const width = keyColumns[table].length;
  return rows
    .map((row) => ({
      table,
      owner: textOf(row[0]),
      keyDocument: table === "states" ? documentOf(row[1]) : null,
      name: textOf(row[width - 1]),
      state: documentOf(row[width]),
      key: row.slice(0, width),
    }))
    .filter((row) => name === undefined || row.name === name);
}

function grouped(
  rows: readonly StateRow[],
  table: StateRow["table"],
  head: (row: StateRow) => Record<string, YsonValue>,
): YsonValue {
  const groups = new Map<string, { head: Record<string, YsonValue>; entries: Map<string, YsonValue> }>();
  for (const row of rows.filter((item) => item.table === table)) {
    const id = row.key
      .slice(0, -1)
      .map((cell) => Buffer.from(bytesOf(cell)).toString("latin1"))
      .join("\0");
    const group = groups.get(id) ?? { head: head(row), entries: new Map<string, YsonValue>() };
    group.entries.set(row.name, row.state);
    groups.set(id, group);
  }
  return [...groups.values()].map((group) => mapOf({ ...group.head, entries: group.entries }));
}

function bytesOf(cell: RowValue): Uint8Array {
  if (cell instanceof Uint8Array) {
    return cell;
  }
  return typeof cell === "object" && cell !== null ? cell.bytes : textCell(String(cell));
}

function partitionsOf(leader: Leader, filter: Filter): readonly Partition[] {
  if (filter.partitionId !== undefined) {
    const partition = leader.layout.partitions.get(filter.partitionId);
    if (partition === undefined) {
      throw new YtError(`Partition ${filter.partitionId} is not found`, { code: "ResolveError" });
    }
    return [partition];
  }
  return filter.computationId === undefined ? [] : leader.layout.partitionsOf(filter.computationId);
}

function filterOf(leader: Leader, argument: YsonMap): Filter {
  const computationId = textOrNothing(argument, "computation_id");
  const partitionId = textOrNothing(argument, "partition_id");
  if ((computationId === undefined) === (partitionId === undefined)) {
    throw new YtError('Exactly one of "computation_id" and "partition_id" must be given');
  }
  const target = textOrNothing(argument, "target") ?? "all";
  if (target !== "all" && target !== "key_state" && target !== "partition_state") {
    throw new YtError(`Target "${target}" must be one of "all", "key_state", "partition_state"`);
  }
  const given = argument.get("key") ?? null;
  if (given !== null && (computationId === undefined || target === "partition_state")) {
    throw new YtError('"key" requires "computation_id", and reads states of keys only');
  }
  const key = given === null || computationId === undefined ? undefined : keyOf(leader, computationId, given);
  return { computationId, partitionId, key, name: textOrNothing(argument, "name"), target };
}

/** A key as a list of values in order, or a map by column. */
function keyOf(leader: Leader, computationId: ComputationId, value: YsonValue): RowValue {
  const schema = leader.parsed?.spec.computations.get(computationId)?.groupBySchema;
  const columns = schema?.columns ?? [];
  const items = isMap(value) ? columns.map((column) => value.get(column.name) ?? null) : value;
  if (!isList(items) || items.length !== columns.length) {
    throw new YtError(
      `"key" must be a list of ${columns.length} values, or a map with the columns ${columns.map((column) => `"${column.name}"`).join(", ")}`,
    );
  }
  const key: Key = items.map((item) => {
    if (typeof item === "string") {
      return textCell(item);
    }
    if (item === null || typeof item === "bigint" || typeof item === "boolean" || typeof item === "number") {
      return item;
    }
    return typeof item === "object" && "value" in item && typeof item.value === "bigint" ? item.value : null;
  });
  return keyCell(
    key,
    columns.map((column) => column.physical),
  );
}

function limitOf(argument: YsonMap): number {
  const limit = argument.get("limit") ?? BigInt(defaultLimit);
  if (typeof limit !== "bigint" || limit < 1n || limit > BigInt(maxLimit)) {
    throw new YtError(`"limit" must be between 1 and ${maxLimit}`);
  }
  return Number(limit);
}

function textOrNothing(argument: YsonMap, name: string): string | undefined {
  const value = argument.get(name) ?? null;
  if (value !== null && typeof value !== "string") {
    throw new YtError(`Parameter /${name} of the flow command's argument must be a string`);
  }
  return value ?? undefined;
}
