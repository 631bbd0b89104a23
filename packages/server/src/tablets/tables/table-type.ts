/**
 * The node type `table`: what creating, copying, removing and committing a table does to its rows.
 * Specified in: yt/yt/server/master/table_server, tablet_server/tablet_manager.cpp.
 */
import { assert, bare, isList, limits, Uint64, type YsonValue, YtError } from "@qyt/base";
import { encodeKeyPrefix, type RowValue, TableSchema, toDynamicSchema, validateStaticTableSchema } from "@qyt/schema";
import { stringToBytes } from "@qyt/yson";
import { prefixRange } from "../../cell/index.ts";
import type { CreateInput, Draft, Node, NodeType } from "../../cypress/index.ts";
import { OrderedTablet } from "../ordered/index.ts";
import { rowsPrefix } from "../sorted/index.ts";
import {
  abortRows,
  commitRows,
  holdRows,
  releaseRows,
  staticChunks,
  staticStatistics,
  withRows,
} from "../static/table-rows.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { rowFormatOf } from "./row-format.ts";
import { settingOf, tableSettings } from "./settings.ts";
import { tableAttributes } from "./table-attributes.ts";
import {
  decodeTableState,
  encodeTableState,
  isOrderedDynamic,
  isSortedDynamic,
  type TabletRecord,
  type TableState,
} from "./table-state.ts";

export const tableObjectType = 401;
export const tabletObjectType = 702;
/** How many rows of a sorted table a copy may take along in one mutation. */
const maxCopiedRecords = 100_000;

export function createTableType(environment: TableEnvironment): NodeType<TableState> {
  return {
    name: "table",
    objectType: tableObjectType,
    content: "entity",
    attributes: tableAttributes(environment),
    encodeState: encodeTableState,
    decodeState: decodeTableState,
    create: (draft, input) => createState(environment, draft, input),
    onRemove: (draft, node) => dropRows(environment, draft, node),
    copy: (draft, source, targetId) => copyState(environment, draft, source, targetId),
    onCommit: (draft, branch, above) => commitRows(environment, draft, branch, above),
    onAbort: (draft, branch) => abortRows(environment, draft, branch),
    onSnapshot: (draft, node) => holdRows(environment, draft, node.state),
    onSnapshotReleased: (draft, node) => releaseRows(environment, draft, node.state),
    usage(node) {
      return usageOf(environment, node.state);
    },
  };
}

function createState(environment: TableEnvironment, draft: Draft, input: CreateInput): TableState {
  const take = (name: string): YsonValue | undefined => {
    const value = input.attributes.get(name);
    input.attributes.delete(name);
    return value;
  };
  const dynamic = readFlag(take("dynamic"));
  const given = take("schema");
  const settings = new Map<string, YsonValue>();
  for (const [name, setting] of tableSettings) {
    const own = take(name);
    const value = own ?? (setting.inheritable === true ? draft.inherited(input.parent, name) : undefined);
    if (value !== undefined) {
      settings.set(name, parseSetting(name, value));
    }
  }
  const tabletCount = take("tablet_count");
  const pivotKeys = take("pivot_keys");
  const trimmedRowCounts = take("trimmed_row_counts");
  const cumulativeDataWeights = take("cumulative_data_weights");
  take("schema_mode");
  if (!dynamic) {
    const schema = given === undefined ? new TableSchema([], { strict: false }) : TableSchema.fromYson(given);
    validateStaticTableSchema(schema);
    return {
      schema,
      schemaMode: given === undefined ? "weak" : "strong",
      dynamic: false,
      settings,
      tablets: [],
      valueColumns: [],
    };
  }
  if (given === undefined) {
    throw new YtError('"schema" is mandatory for dynamic tables');
  }
  const schema = toDynamicSchema(TableSchema.fromYson(given));
  const isSorted = schema.keyColumnCount > 0;
  const pivots = readPivots(schema, isSorted, tabletCount, pivotKeys);
  const base: TableState = {
    schema,
    schemaMode: "strong",
    dynamic: true,
    settings,
    tablets: [],
    valueColumns: schema.columns.slice(schema.keyColumnCount).map(({ name }) => name),
    ...(isSorted ? { rowsId: input.id } : {}),
  };
  const presets = readPresets(isSorted, pivots.length, tabletCount, { trimmedRowCounts, cumulativeDataWeights });
  const tablets = pivots.map((pivotKey, index): TabletRecord => {
    const id = draft.newId(tabletObjectType);
    if (!isSorted) {
      createOrderedTablet(environment, draft, base, {
        tabletId: id,
        tableId: input.id,
        trimmedRowCount: presets.trimmedRowCounts?.[index] ?? 0,
        cumulativeDataWeight: presets.cumulativeDataWeights?.[index] ?? 0,
      });
    }
    return { id, state: "unmounted", pivotKey };
  });
  return { ...base, tablets };
}

/** A tablet that exists from the moment the mutation is durable. */
export function createOrderedTablet(
  environment: TableEnvironment,
  draft: Draft,
  state: TableState,
  options: {
    readonly tabletId: string;
    readonly tableId: string;
    readonly trimmedRowCount?: number;
    readonly cumulativeDataWeight?: number;
    readonly sealed?: OrderedTablet["visible"]["sealed"];
  },
): void {
  const { tablet, ...prepared } = OrderedTablet.create(environment.cell, environment.chunks, draft.batch, {
    ...options,
    format: rowFormatOf(state.schema),
    merger: environment.merger,
  });
  environment.orderedTablets.set(options.tabletId, tablet);
  attach(draft, {
    onDurable: () => prepared.onDurable(),
    onFailed: () => {
      prepared.onFailed();
      environment.orderedTablets.delete(options.tabletId);
    },
  });
}

export function parseSetting(name: string, value: YsonValue): YsonValue {
  const setting = tableSettings.get(name);
  assert(setting !== undefined, `${name} is a table setting`);
  return setting.parse(value);
}

/** The tablet's rows go when the mutation is durable. */
export function destroyOrderedTablet(environment: TableEnvironment, draft: Draft, tabletId: string): void {
  const tablet = environment.orderedTablets.get(tabletId);
  if (tablet === undefined) {
    return;
  }
  const prepared = tablet.prepareDestroy(draft.batch);
  attach(draft, {
    onDurable: () => {
      prepared.onDurable();
      environment.orderedTablets.delete(tabletId);
    },
    onFailed: () => prepared.onFailed(),
  });
}

function dropRows(environment: TableEnvironment, draft: Draft, node: Node<TableState>): void {
  const { state } = node;
  releaseRows(environment, draft, state);
  if (isOrderedDynamic(state)) {
    for (const { id } of state.tablets) {
      destroyOrderedTablet(environment, draft, id);
    }
  }
  if (isSortedDynamic(state) && state.rowsId !== undefined) {
    const { rowsId } = state;
    const { from, to } = prefixRange(rowsPrefix(rowsId));
    environment.cell.scheduleRangeRemoval(draft.batch, from, to);
    draft.onDurable(() => environment.forgetSortedRows(rowsId));
  }
}

function copyState(
  environment: TableEnvironment,
  draft: Draft,
  source: Node<TableState>,
  targetId: string,
): TableState {
  const { state } = source;
  if (!state.dynamic) {
    const chunkIds = staticChunks(environment, state).map(({ chunk }) => chunk.id);
    if (chunkIds.length === 0) {
      return withRows(state, {});
    }
    const list = environment.newChunkList();
    attach(draft, list.prepareShare(draft.batch, chunkIds));
    return withRows(state, { chunkListId: list.id });
  }
  const notReady = state.tablets.find((tablet) => tablet.state === "mounted");
  if (notReady !== undefined) {
    throw new YtError(
      `Cannot copy dynamic table ${draft.pathOf(source)} since tablet ${notReady.id} is in "mounted" state; unmount or freeze it first`,
      { code: "InvalidTabletState" },
    );
  }
  if (isSortedDynamic(state)) {
    copySortedRows(environment, draft, state, targetId);
  }
  const tablets = state.tablets.map((tablet): TabletRecord => {
    const id = draft.newId(tabletObjectType);
    if (isOrderedDynamic(state)) {
      const { pending } = environment.orderedTablet(tablet.id);
      createOrderedTablet(environment, draft, state, {
        tabletId: id,
        tableId: targetId,
        sealed: pending.sealed,
        trimmedRowCount: pending.trimmedRowCount,
        cumulativeDataWeight: pending.cumulativeDataWeight,
      });
    }
    return { id, state: "unmounted", pivotKey: tablet.pivotKey };
  });
  return { ...state, tablets, ...(state.rowsId === undefined ? {} : { rowsId: targetId }) };
}

function copySortedRows(environment: TableEnvironment, draft: Draft, state: TableState, targetId: string): void {
  assert(state.rowsId !== undefined, "a sorted table has rows");
  const source = rowsPrefix(state.rowsId);
  const target = rowsPrefix(targetId);
  const { from, to } = prefixRange(source);
  let count = 0;
  for (const { key, value } of environment.cell.range(from, to)) {
    if (++count > maxCopiedRecords) {
      throw new YtError(
        `Cannot copy a sorted dynamic table of more than ${maxCopiedRecords} stored row versions; copy its rows with select_rows and insert_rows`,
      );
    }
    draft.batch.put(Buffer.concat([target, key.subarray(source.length)]), value);
  }
}

function usageOf(
  environment: TableEnvironment,
  state: TableState,
): { diskSpaceBytes: number; chunkCount: number; tabletCount: number } {
  if (!state.dynamic) {
    const { byteSize, chunkCount } = staticStatistics(environment, state);
    return { diskSpaceBytes: byteSize, chunkCount, tabletCount: 0 };
  }
  let diskSpaceBytes = 0;
  let chunkCount = 0;
  if (isOrderedDynamic(state)) {
    for (const { id } of state.tablets) {
      const statistics = environment.orderedTablets.get(id)?.statistics();
      diskSpaceBytes += statistics?.chunkByteSize ?? 0;
      chunkCount += statistics?.chunkCount ?? 0;
    }
  }
  return { diskSpaceBytes, chunkCount, tabletCount: state.tablets.length };
}

function readFlag(value: YsonValue | undefined): boolean {
  if (value === undefined) {
    return false;
  }
  const plain = bare(value);
  if (plain === true || plain === "true") {
    return true;
  }
  if (plain === false || plain === "false") {
    return false;
  }
  throw new YtError('Error setting builtin attribute "dynamic"', {
    inner: [new YtError("Cannot parse boolean value")],
  });
}

function readPivots(
  schema: TableSchema,
  isSorted: boolean,
  tabletCount: YsonValue | undefined,
  pivotKeys: YsonValue | undefined,
): Buffer[] {
  if (tabletCount !== undefined && pivotKeys !== undefined) {
    throw new YtError('Cannot specify both "tablet_count" and "pivot_keys"');
  }
  if (pivotKeys !== undefined) {
    if (!isSorted) {
      throw new YtError("Table is ordered; must provide tablet count");
    }
    return parsePivotKeys(schema, pivotKeys);
  }
  const count = tabletCount === undefined ? 1 : Number(readInteger(tabletCount, "tablet_count"));
  if (isSorted && count > 1) {
    throw new YtError("Table is sorted; must provide pivot keys");
  }
  checkTabletCount(count);
  return Array.from({ length: count }, () => Buffer.alloc(0));
}

export function checkTabletCount(count: number): void {
  if (count <= 0) {
    throw new YtError("Tablet count must be positive");
  }
  if (count > limits.maxTabletCount) {
    throw new YtError(`Tablet count cannot exceed the limit of ${limits.maxTabletCount}`);
  }
}

/** Encoded pivot keys, checked to increase strictly from the empty one. */
export function parsePivotKeys(schema: TableSchema, value: YsonValue): Buffer[] {
  const list = bare(value);
  if (!isList(list) || list.length === 0) {
    throw new YtError('"pivot_keys" must be a non-empty list');
  }
  checkTabletCount(list.length);
  const types = schema.columns.slice(0, schema.keyColumnCount).map(({ physical }) => physical);
  const pivots = list.map((pivot) => {
    const key = bare(pivot);
    if (!isList(key) || key.length > types.length) {
      throw new YtError("Pivot key must be a list of at most as many values as there are key columns");
    }
    return encodeKeyPrefix(key.map(toRowValue), types);
  });
  if (pivots[0]?.length !== 0) {
    throw new YtError("First pivot key must be empty");
  }
  for (let index = 1; index < pivots.length; index++) {
    if (Buffer.compare(pivots[index - 1] ?? Buffer.alloc(0), pivots[index] ?? Buffer.alloc(0)) >= 0) {
      throw new YtError("Pivot keys must be strictly increasing");
    }
  }
  return pivots;
}

function toRowValue(value: YsonValue): RowValue {
  const plain = bare(value);
  if (plain === null || typeof plain === "boolean" || typeof plain === "bigint" || typeof plain === "number") {
    return plain;
  }
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain === "string") {
    return stringToBytes(plain);
  }
  throw new YtError("Pivot keys consist of scalar values");
}

export interface TabletPresets {
  readonly trimmedRowCounts: readonly number[] | undefined;
  readonly cumulativeDataWeights: readonly number[] | undefined;
}

function readPresets(
  isSorted: boolean,
  count: number,
  tabletCount: YsonValue | undefined,
  given: { trimmedRowCounts: YsonValue | undefined; cumulativeDataWeights: YsonValue | undefined },
): TabletPresets {
  return {
    trimmedRowCounts: readPreset("trimmed_row_counts", given.trimmedRowCounts, isSorted, count, tabletCount),
    cumulativeDataWeights: readPreset("cumulative_data_weights", given.cumulativeDataWeights, isSorted, count, tabletCount),
  };
}

function readPreset(
  name: string,
  value: YsonValue | undefined,
  isSorted: boolean,
  count: number,
  tabletCount: YsonValue | undefined,
): number[] | undefined {
  if (value === undefined || bare(value) === null) {
    return undefined;
  }
  if (isSorted) {
    throw new YtError(`"${name}" can only be set for ordered tables`);
  }
  if (tabletCount === undefined) {
    throw new YtError(`"${name}" cannot be specified without "tablet_count"`);
  }
  return parsePreset(name, value, count);
}

export function parsePreset(name: string, value: YsonValue, count: number): number[] {
  const list = bare(value);
  if (!isList(list) || list.length !== count) {
    throw new YtError(`"${name}" has invalid size: expected ${count}, actual ${isList(list) ? list.length : "no list"}`);
  }
  return list.map((item) => {
    const number = Number(readInteger(item, name));
    if (number < 0) {
      throw new YtError(`Values of "${name}" must be nonnegative`);
    }
    if (!Number.isSafeInteger(number)) {
      throw new YtError(`Values of "${name}" must be below 2^53`);
    }
    return number;
  });
}

function readInteger(value: YsonValue, name: string): bigint {
  const plain = bare(value);
  if (typeof plain === "bigint") {
    return plain;
  }
  if (plain instanceof Uint64) {
    return plain.value;
  }
  throw new YtError(`Error setting builtin attribute "${name}"`, { inner: [new YtError("Cannot parse integer value")] });
}

/** Whether the table's rows are written with full transactions. */
export function atomicityOf(state: TableState): "full" | "none" {
  return settingOf(state, "atomicity") === "none" ? "none" : "full";
}
