/** Queries over dynamic tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { mapOf, YtError } from "@qyt/base";
import { executeQuery, parseQuery, prepareQuery, type QueryStatistics, statisticsToYson } from "@qyt/ql";
import { createRowWriter } from "@qyt/schema";
import { parseRichPath } from "@qyt/yson";
import { orderedSource, sortedSource } from "../../tablets/index.ts";
import { needs, right } from "../access.ts";
import { defineCommand, stream } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { pushed } from "../pushed.ts";
import { readTimestamp } from "../tables.ts";
import { readColumn, wantsTimestamps } from "../versioned-reads.ts";

const selectRows = defineCommand({
  name: "select_rows",
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "query"), right("read", "columns", "query")),
  summary: "Runs a query over a dynamic table.",
  parameters: {
    query: parameter.string,
    timestamp: optional(parameter.uint64),
    versioned_read_options: optional(parameter.map),
    input_row_limit: optional(parameter.int64),
    output_row_limit: optional(parameter.int64),
    range_expansion_limit: optional(parameter.int64),
    fail_on_incomplete_result: withDefault(parameter.boolean, true),
    allow_full_scan: withDefault(parameter.boolean, true),
    use_canonical_null_relations: withDefault(parameter.boolean, false),
    placeholder_values: optional(parameter.map),
    syntax_version: withDefault(parameter.int32, 1),
    enable_statistics: withDefault(parameter.boolean, false),
  },
  async execute(context, parameters) {
    const options = {
      inputRowLimit: toCount(parameters.input_row_limit),
      outputRowLimit: toCount(parameters.output_row_limit),
      rangeExpansionLimit: toCount(parameters.range_expansion_limit),
      failOnIncompleteResult: parameters.fail_on_incomplete_result,
      allowFullScan: parameters.allow_full_scan,
      useCanonicalNullRelations: parameters.use_canonical_null_relations,
      placeholderValues: parameters.placeholder_values,
      syntaxVersion: parameters.syntax_version === 2 ? (2 as const) : (1 as const),
    };
    const parsed = parseQuery(parameters.query, options);
    const path = parseRichPath(parsed.tablePath);
    const table = context.services.tables.dynamicHandle({ user: context.user }, path, { permission: "read" });
    const withTimestamps = wantsTimestamps(parameters.versioned_read_options);
    const schema = withTimestamps ? table.timestampedSchema : table.querySchema;
    const plan = prepareQuery(parsed, schema, options);
    table.check(
      context.user,
      "read",
      plan.readColumns.map((position) => readColumn(schema.columns[position]?.name ?? "")),
    );
    const timestamp = readTimestamp(context, parameters.timestamp);
    table.requireReadable();
    const source = table.sorted ? sortedSource(table, timestamp, { withTimestamps }) : orderedSource(table);
    const writer = createRowWriter(
      context.outputFormat(),
      plan.outputColumns.map(({ name }) => ({ name, source: { kind: "column", index: 0 } as const })),
      { isSchemaful: true },
    );
    const types = plan.outputColumns.map(({ type }) => type);
    let statistics: QueryStatistics | undefined;
    const chunks = pushed(async (push) => {
      const letGo = context.services.transactions.hold(timestamp);
      try {
        statistics = await executeQuery(
          plan,
          source,
          (row) => {
            writer.writeValues(row, types);
            return writer.length >= chunkBytes ? push(writer.take()) : undefined;
          },
          context.request.signal,
        );
      } finally {
        letGo();
      }
      await push(writer.finish());
    });
    return stream(chunks, {
      responseParameters: () =>
        parameters.enable_statistics
          ? statistics === undefined
            ? mapOf({})
            : statisticsToYson(statistics)
          : undefined,
    });
  },
});

const chunkBytes = 64 * 1024;

function toCount(value: bigint | undefined): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  if (value < 0n) {
    throw new YtError(`A row limit cannot be negative, got ${value}`);
  }
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value);
}

export const selectCommands = [selectRows];
