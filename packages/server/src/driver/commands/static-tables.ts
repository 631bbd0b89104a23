/** Tables as files of rows. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  type ControlAttributes,
  columnarStatistics,
  concatenate,
  readTable,
  writeTable,
} from "../../tablets/static/index.ts";
import { needs, right } from "../access.ts";
import { type CommandContext, defineCommand, stream, structured } from "../define.ts";
import { optional, parameter, readBoolean, readInt64, withDefault } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";
import { fileCommands } from "./files.ts";
import { answerless } from "./kinds.ts";

const writeTableCommand = defineCommand({
  name: "write_table",
  input: "tabular",
  output: "structured",
  outputV3: "null",
  isVolatile: true,
  isHeavy: true,
  access: needs(right("write", "node", "path")),
  summary: "Writes rows into a static table: replaces its rows, or appends with the path attribute `append`.",
  parameters: {
    path: parameter.path,
    table_writer: optional(parameter.map),
    max_row_buffer_size: optional(parameter.int64),
  },
  async execute(context, { path, table_writer }) {
    const maxKeyWeight = maxKeyWeightOf(table_writer);
    await writeTable(context.services.tables, cypressContext(context), {
      path,
      format: context.inputFormat(),
      body: context.request.body(),
      ...(maxKeyWeight === undefined ? {} : { maxKeyWeight }),
    });
    return context.nothing();
  },
});

const keyWeightCap = 256 * 1024;

function maxKeyWeightOf(config: YsonMap | undefined): number | undefined {
  const value = config?.get("max_key_weight");
  if (value === undefined) {
    return undefined;
  }
  const weight = readInt64(value);
  if (weight <= 0n || weight > BigInt(keyWeightCap)) {
    throw new YtError(
      `Validation failed at /max_key_weight: expected 0 < value <= ${keyWeightCap}, found ${weight}`,
    );
  }
  return Number(weight);
}

const readTableCommand = defineCommand({
  name: "read_table",
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "path"), right("read", "columns", "path")),
  summary:
    "Reads rows of a table; of a dynamic one those in chunks, unless `enable_dynamic_store_read` is set.",
  parameters: {
    path: parameter.path,
    table_reader: optional(parameter.map),
    control_attributes: optional(parameter.map),
    unordered: withDefault(parameter.boolean, false),
    start_row_index_only: withDefault(parameter.boolean, false),
    omit_inaccessible_columns: withDefault(parameter.boolean, false),
    omit_inaccessible_rows: withDefault(parameter.boolean, false),
  },
  async execute(context: CommandContext, parameters) {
    const { services, request } = context;
    const read = readTable(services.tables, services.transactions, cypressContext(context), {
      path: parameters.path,
      format: context.outputFormat(),
      control: controlAttributes(parameters.control_attributes),
      startRowIndexOnly: parameters.start_row_index_only,
      omitInaccessibleColumns: parameters.omit_inaccessible_columns,
      signal: request.signal,
    });
    return stream(read.chunks, { responseParameters: () => read.responseParameters() });
  },
});

function controlAttributes(config: YsonMap | undefined): ControlAttributes {
  const flag = (name: string): boolean => {
    const value = config?.get(name);
    return value !== undefined && value !== null && readBoolean(value);
  };
  return {
    tableIndex: flag("enable_table_index"),
    rowIndex: flag("enable_row_index"),
    rangeIndex: flag("enable_range_index"),
    tabletIndex: flag("enable_tablet_index"),
  };
}

const concatenateCommand = defineCommand({
  name: "concatenate",
  ...answerless,
  access: needs(right("full_read", "node", "source_paths"), right("write", "node", "destination_path")),
  summary: "Joins tables, or files, into an existing one without copying their contents.",
  parameters: { source_paths: parameter.list(parameter.path), destination_path: parameter.path },
  async execute(context, { source_paths, destination_path }) {
    await concatenate(context.services.tables, cypressContext(context), {
      sources: source_paths,
      destination: destination_path,
    });
    return context.nothing();
  },
});

const getTableColumnarStatistics = defineCommand({
  name: "get_table_columnar_statistics",
  input: "null",
  output: "structured",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "paths"), right("read", "columns", "paths")),
  summary: "Data weight of single columns, found by reading the rows.",
  parameters: { paths: parameter.list(parameter.path) },
  async execute(context, { paths }) {
    const { tables, transactions } = context.services;
    const found: YsonValue[] = [];
    for (const path of paths) {
      found.push(await columnarStatistics(tables, transactions, cypressContext(context), path));
    }
    return structured(found);
  },
});

export const staticTableCommands = [
  writeTableCommand,
  readTableCommand,
  concatenateCommand,
  getTableColumnarStatistics,
  ...fileCommands,
];
