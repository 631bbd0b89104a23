/** Rows of sorted tables by key. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { Attributed, mapOf, turn, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { createRowWriter, type EncodedRows, type RowWriter, type TableSchema } from "@qyt/schema";
import { writeYsonList } from "@qyt/yson";
import type { CellReader, DynamicTable, RowVersion } from "../../tablets/index.ts";
import { needs, right } from "../access.ts";
import type { CommandResponse } from "../command.ts";
import { type CommandContext, defineCommand, stream, whole } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { readRows } from "../rows.ts";
import { readTimestamp, requireSorted } from "../tables.ts";
import { valueToYson } from "../values.ts";
import { readColumn, wantsTimestamps } from "../versioned-reads.ts";

const chunkBytes = 64 * 1024;
/** Of a row that is written all the time there are very many versions. */
const maxVersionsPerRow = 1_000;

const lookupRows = defineCommand({
  name: "lookup_rows",
  input: "tabular",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "path"), right("read", "columns", "path")),
  summary: "Rows of a sorted table by key.",
  parameters: {
    path: parameter.path,
    column_names: optional(parameter.list(parameter.string)),
    keep_missing_rows: withDefault(parameter.boolean, false),
    versioned: withDefault(parameter.boolean, false),
    timestamp: optional(parameter.uint64),
    versioned_read_options: optional(parameter.map),
  },
  async execute(context, parameters) {
    if (parameters.path.attributes.has("columns")) {
      throw new YtError('Columns cannot be specified with table path, use "column_names" instead');
    }
    if (parameters.path.attributes.has("ranges")) {
      throw new YtError("Ranges cannot be specified");
    }
    const named = context.services.tables.dynamicTable({ user: context.user }, parameters.path, {
      permission: "read",
    });
    requireSorted(named);
    // A replicated table has its rows in a replica; rights are those on the table that is named.
    const table = named.readTarget(readTimestamp(context, parameters.timestamp));
    const withTimestamps = wantsTimestamps(parameters.versioned_read_options);
    if (withTimestamps && parameters.versioned) {
      throw new YtError('"versioned" and "versioned_read_options" cannot be specified together');
    }
    const { schema } = table;
    const shown = withTimestamps ? table.timestampedSchema : schema;
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    const timestamp = readTimestamp(context, parameters.timestamp);
    const positions = columnPositions(shown, parameters.column_names);
    checkColumns(context, named, shown, positions);
    table.requireSchema(schema);
    const request: Lookup = {
      context,
      table,
      schema: shown,
      withTimestamps,
      keys: await encodedKeys(table, keys),
      positions,
      timestamp,
      keepMissing: parameters.keep_missing_rows,
    };
    return parameters.versioned ? versionedRows(request) : plainRows(request);
  },
});

interface Lookup {
  readonly context: CommandContext;
  readonly table: DynamicTable;
  /** The columns of the rows: those of the table, with their timestamps if they are wanted. */
  readonly schema: TableSchema;
  readonly withTimestamps: boolean;
  /** As the rows are stored under. */
  readonly keys: readonly Buffer[];
  /** Positions in the schema of the columns asked for, in order. */
  readonly positions: readonly number[];
  readonly timestamp: bigint;
  readonly keepMissing: boolean;
}

/** So many rows take a few milliseconds. */
const rowsPerTurn = 100;

/** Before the first row is sent, so that a bad key or an unmounted tablet is an ordinary error. */
async function encodedKeys(table: DynamicTable, keys: EncodedRows): Promise<Buffer[]> {
  const encoded: Buffer[] = [];
  for (let index = 0; index < keys.rowCount; index++) {
    const key = table.rows.encodeKey(table.completeKey(keys.decodeRow(index)));
    table.requireReadableKey(key);
    encoded.push(key);
    if (index % rowsPerTurn === rowsPerTurn - 1) {
      await turn();
    }
  }
  return encoded;
}

/** Those of the key are read too: the answer says which keys there are. @throws YtError 901 */
function checkColumns(
  context: CommandContext,
  table: DynamicTable,
  { columns, keyColumnCount }: TableSchema,
  positions: readonly number[],
): void {
  const read = columns.filter((_, position) => position < keyColumnCount || positions.includes(position));
  table.check(
    context.user,
    "read",
    read.map(({ name }) => readColumn(name)),
  );
}

function columnPositions(schema: TableSchema, names: readonly string[] | undefined): number[] {
  if (names === undefined) {
    return schema.columns.map((_, position) => position);
  }
  return names.map((name) => {
    const position = schema.indexOf(name);
    if (position < 0) {
      throw new YtError(`No such column "${name}"`, { code: "ColumnNotFound", attributes: { column: name } });
    }
    return position;
  });
}

/** Calls `work` for every key in turns, holding on to what can be read at the timestamp. */
async function* inTurns(
  { context, keys, timestamp }: Lookup,
  work: (key: Buffer) => void,
): AsyncGenerator<void> {
  const letGo = context.services.transactions.hold(timestamp);
  try {
    for (const [index, key] of keys.entries()) {
      work(key);
      if (index % rowsPerTurn === rowsPerTurn - 1) {
        yield;
        await turn();
      }
    }
  } finally {
    letGo();
  }
}

/** What one lookup has written with, and the next of the same parameters writes with too. */
interface Tools {
  readonly schema: TableSchema;
  readonly writer: RowWriter;
  readonly reader: CellReader | undefined;
}

/**
 * By parameters: a client that repeats its header text gets the same map from the protocol. Tools in use are not here,
 * so those of a lookup that fails are never used again.
 */
const idleTools = new WeakMap<YsonMap, Tools>();

function plainRows(lookup: Lookup): CommandResponse {
  const { context, table, schema, withTimestamps, positions, timestamp } = lookup;
  const columns = positions.map((position) => schema.columns[position]);
  const idle = idleTools.get(context.parameters);
  const known = idle?.schema === schema ? idle : undefined;
  idleTools.delete(context.parameters);
  const writer =
    known?.writer ??
    createRowWriter(
      context.outputFormat(),
      columns.map((column) => ({ name: column?.name ?? "", source: { kind: "column", index: 0 } as const })),
      { isSchemaful: true },
    );
  const types = columns.map((column) => column?.physical ?? "any");
  const { rows } = table;
  const reader = withTimestamps ? undefined : rows.cellReader(timestamp, positions, known?.reader);
  const fold = (key: Buffer): void => {
    const row = rows.lookup(key, timestamp, { withTimestamps });
    if (row !== undefined) {
      writer.writeValues(
        positions.map((position) => row[position] ?? null),
        types,
      );
    } else if (lookup.keepMissing) {
      writer.writeMissing();
    }
  };
  const write = (key: Buffer): void => {
    // The table may be removed meanwhile.
    rows.requireReadable(timestamp);
    const found = reader?.read(key) ?? "fold";
    if (reader === undefined || found === "fold") {
      fold(key);
    } else if (found === "row") {
      writer.writeCells(reader.record.bytes, reader.record.view, reader.starts, reader.ends);
    } else if (lookup.keepMissing) {
      writer.writeMissing();
    }
  };
  if (lookup.keys.length <= rowsPerTurn) {
    for (const key of lookup.keys) {
      write(key);
    }
    if (!writer.isReusable) {
      return whole(writer.finish());
    }
    const bytes = writer.take();
    idleTools.set(context.parameters, { schema, writer, reader });
    return whole(bytes);
  }
  return stream(
    (async function* () {
      for await (const _ of inTurns(lookup, write)) {
        if (writer.length >= chunkBytes) {
          yield writer.take();
        }
      }
      yield writer.finish();
    })(),
  );
}

/** Versioned rows are written as YSON trees: a rare form, for YSON only. */
function versionedRows(lookup: Lookup): CommandResponse {
  const { context, table, timestamp } = lookup;
  const format = context.outputFormat();
  if (format.name !== "yson") {
    throw new YtError(`Versioned rows cannot be written in format "${format.name}"`);
  }
  const form = format.attributes.get("format");
  let items: YsonValue[] = [];
  const add = (key: Buffer): void => {
    const versions = table.rows.versions(key, timestamp, maxVersionsPerRow);
    if (versions.length > 0) {
      items.push(versionedRow(table, key, versions, lookup.positions));
    } else if (lookup.keepMissing) {
      items.push(null);
    }
  };
  const take = (): Buffer => {
    const bytes = writeYsonList(items, form === "text" || form === "pretty" ? form : "binary");
    items = [];
    return bytes;
  };
  return stream(
    (async function* () {
      for await (const _ of inTurns(lookup, add)) {
        yield take();
      }
      yield take();
    })(),
  );
}

function versionedRow(
  table: DynamicTable,
  key: Buffer,
  versions: readonly RowVersion[],
  positions: readonly number[],
): YsonValue {
  const { columns, keyColumnCount } = table.schema;
  const keyValues = table.rows.decodeKey(key);
  const fields = new Map<string, YsonValue>();
  for (const position of positions) {
    const column = columns[position];
    if (column === undefined) {
      continue;
    }
    if (position < keyColumnCount) {
      fields.set(column.name, valueToYson(keyValues[position] ?? null, column.physical));
      continue;
    }
    const values: YsonValue[] = [];
    for (const version of versions) {
      const cell = version.cells.find(({ columnId }) => table.rows.positionOfColumn(columnId) === position);
      if (version.kind === "delete" || (cell === undefined && version.kind === "update")) {
        continue;
      }
      const value = valueToYson(cell?.value ?? null, column.physical);
      values.push(
        new Attributed(
          mapOf({
            timestamp: new Uint64(cell?.timestamp ?? version.timestamp),
            ...(column.aggregate === undefined ? {} : { aggregate: cell?.aggregate ?? false }),
          }),
          value instanceof Attributed ? value.value : value,
        ),
      );
    }
    fields.set(column.name, values);
  }
  const stamps = (isDelete: boolean): YsonValue[] =>
    versions
      .filter(({ kind }) => (kind === "delete") === isDelete)
      .map((version) => new Uint64(version.timestamp));
  return new Attributed(mapOf({ write_timestamps: stamps(false), delete_timestamps: stamps(true) }), fields);
}

export const lookupCommands = [lookupRows];
