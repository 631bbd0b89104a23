/**
 * The log of a sorted replicated table: changes of rows in the order of their commits, two cells each, the
 * row's key as it is stored and the version as it would be stored. From there, and straight from a
 * transaction, changes are translated to the columns of a replica.
 * Specified in: yt/yt/server/node/tablet_node/replication_log.cpp (what a log row tells).
 */
import { assert, YtError } from "@qyt/base";
import { decodeCells, EncodedRows, RowOutput, writeCell } from "@qyt/schema";
import type { RowSlice } from "../chunks/store-reader.ts";
import type { DynamicTable } from "../dynamic-table.ts";
import { mainGroup, type RowWrite } from "../sorted/index.ts";
import { decodeVersion, type InputCell, writeVersion } from "../sorted/version-record.ts";

/** The rows of the log for these changes; those that only lock leave none. */
export function encodeChanges(writes: readonly RowWrite[]): EncodedRows {
  const output = new RowOutput();
  const change = new RowOutput();
  const ends: number[] = [];
  const weights: number[] = [];
  for (const { key, version } of writes) {
    if (version === undefined) {
      continue;
    }
    change.length = 0;
    writeVersion(change, version);
    writeCell(output, key, false);
    writeCell(output, change.bytes.subarray(0, change.length), false);
    ends.push(output.length);
    weights.push(1 + key.length + change.length);
  }
  return new EncodedRows({
    rowCount: ends.length,
    bytes: Buffer.from(output.bytes.subarray(0, output.length)),
    ends: Uint32Array.from(ends),
    weights: Uint32Array.from(weights),
  });
}

/** The change that one row of the log tells of. @param table the replicated table */
export function decodeChange(table: DynamicTable, { block }: RowSlice, row: number): RowWrite {
  const [key, change] = decodeCells(block.bytes, block.rowStart(row), block.rowEnd(row));
  assert(key instanceof Uint8Array && change instanceof Uint8Array, "A log row is a key and a change");
  const { columns } = table.schema;
  const { rows } = table;
  const version = decodeVersion(Buffer.from(change), 0n);
  const cells = version.cells.map(
    (cell): InputCell => ({
      ...cell,
      isUnsigned: columns[rows.positionOfColumn(cell.columnId)]?.physical === "uint64",
    }),
  );
  let mask = version.kind === "update" ? 0 : rows.lockGroups.all;
  for (const { columnId } of version.kind === "update" ? cells : []) {
    mask |= rows.lockGroups.ofColumn(rows.positionOfColumn(columnId));
  }
  const keyBytes = Buffer.from(key);
  return {
    key: keyBytes,
    name: keyBytes.toString("latin1"),
    version: { kind: version.kind, sharedWrite: version.sharedWrite, cells },
    claims: [{ mode: "exclusive", mask: mask === 0 ? mainGroup : mask }],
  };
}

/** Makes changes of the rows of one sorted table out of those of another whose columns it has. */
export function translator(source: DynamicTable, target: DynamicTable): (write: RowWrite) => RowWrite {
  const from = source.rows;
  const to = target.rows;
  const columnIds = new Map<number, number>();
  const columnOf = (columnId: number): number => {
    let translated = columnIds.get(columnId);
    if (translated === undefined) {
      const column = source.schema.columns[from.positionOfColumn(columnId)];
      translated = column === undefined ? -1 : to.columnIdOf(target.schema.indexOf(column.name));
      columnIds.set(columnId, translated);
    }
    return translated;
  };
  const groups = from.lockGroups.names.map((name, index) => ({
    bit: 2 << index,
    mask: to.lockGroups.ofName(name),
  }));
  const maskOf = (mask: number): number => {
    if (mask === from.lockGroups.all) {
      return to.lockGroups.all;
    }
    let translated = mask & mainGroup;
    for (const group of groups) {
      if ((mask & group.bit) !== 0) {
        // A group that the replica does not have: its columns are in the main one there.
        translated |= group.mask === 0 ? mainGroup : group.mask;
      }
    }
    return translated;
  };
  return ({ key, name, version, claims }) => ({
    key,
    name,
    claims: claims.map(({ mode, mask }) => ({ mode, mask: maskOf(mask) })),
    version:
      version === undefined
        ? undefined
        : {
            ...version,
            cells: version.cells.flatMap((cell) => {
              const columnId = columnOf(cell.columnId);
              return columnId < 0 ? [] : [{ ...cell, columnId }];
            }),
          },
  });
}

const fitting = new WeakMap<object, WeakSet<object>>();

/**
 * A replica has to have every column of the replicated table, with the same key; that of a queue the same
 * columns in the same order, because rows go there as they are.
 * @throws YtError 316
 */
export function requireFit(source: DynamicTable, target: DynamicTable): void {
  const known = fitting.get(source.schema) ?? new WeakSet();
  if (known.has(target.schema)) {
    return;
  }
  const misfit =
    source.sorted === target.sorted ? misfitOf(source, target) : "one of them is sorted, the other is not";
  if (misfit !== undefined) {
    throw new YtError(
      `Table ${target.path} cannot be a replica of ${source.path}: ${misfit}; alter the replica so that it has the columns of the replicated table`,
      { code: "IncompatibleSchemas", attributes: { path: source.path, replica_path: target.path } },
    );
  }
  fitting.set(source.schema, known.add(target.schema));
}

function misfitOf(source: DynamicTable, target: DynamicTable): string | undefined {
  const { columns, keyColumnCount } = source.schema;
  if (keyColumnCount !== target.schema.keyColumnCount) {
    return "their keys have different numbers of columns";
  }
  if (!source.sorted && columns.length !== target.schema.columns.length) {
    return "they have different numbers of columns";
  }
  for (const [position, column] of columns.entries()) {
    const isPlaced = !source.sorted || position < keyColumnCount;
    const other = target.schema.columns[isPlaced ? position : target.schema.indexOf(column.name)];
    if (other === undefined || other.name !== column.name) {
      return `column "${column.name}" is missing${isPlaced ? " at its place" : ""}`;
    }
    if (other.physical !== column.physical || other.aggregate !== column.aggregate) {
      return `column "${column.name}" has another type`;
    }
    if (other.required && !column.required) {
      return `column "${column.name}" is required in the replica only`;
    }
  }
  const extra = target.schema.columns.find(
    ({ name, required }) => required && source.schema.indexOf(name) < 0,
  );
  return extra === undefined ? undefined : `column "${extra.name}" is required in the replica only`;
}
