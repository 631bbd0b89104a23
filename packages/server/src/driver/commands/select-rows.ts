/** Queries over dynamic tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { mapOf, type YsonMap, YtError } from "@qyt/base";
import {
  executeQuery,
  explainQuery,
  type ParsedQuery,
  type Plan,
  parseQuery,
  prepareQuery,
  type QueryOptions,
  type QueryStatistics,
  statisticsToYson,
} from "@qyt/ql";
import { createRowWriter } from "@qyt/schema";
import type * as z from "zod";
import { needs, right } from "../access.ts";
import { Deadline } from "../deadline.ts";
import { type CommandContext, defineCommand, stream, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { pushed } from "../pushed.ts";
import { QueryTables } from "../query-tables.ts";
import { readTimestamp } from "../tables.ts";
import { wantsTimestamps } from "../versioned-reads.ts";

const queryParameters = {
  query: parameter.string,
  versioned_read_options: optional(parameter.map),
  input_row_limit: optional(parameter.int64),
  output_row_limit: optional(parameter.int64),
  range_expansion_limit: optional(parameter.int64),
  fail_on_incomplete_result: withDefault(parameter.boolean, true),
  allow_full_scan: withDefault(parameter.boolean, true),
  allow_join_without_index: withDefault(parameter.boolean, false),
  use_canonical_null_relations: withDefault(parameter.boolean, false),
  placeholder_values: optional(parameter.map),
  syntax_version: withDefault(parameter.int32, 1),
};

type QueryParameters = z.output<z.ZodObject<typeof queryParameters>>;

const readingTables = needs(right("read", "node", "query"), right("read", "columns", "query"));
const defaultTimeoutMs = 60_000;

function optionsOf(parameters: QueryParameters): QueryOptions {
  return {
    inputRowLimit: toCount(parameters.input_row_limit),
    outputRowLimit: toCount(parameters.output_row_limit),
    rangeExpansionLimit: toCount(parameters.range_expansion_limit),
    failOnIncompleteResult: parameters.fail_on_incomplete_result,
    allowFullScan: parameters.allow_full_scan,
    allowJoinWithoutIndex: parameters.allow_join_without_index,
    useCanonicalNullRelations: parameters.use_canonical_null_relations,
    placeholderValues: parameters.placeholder_values,
    syntaxVersion: parameters.syntax_version === 2 ? 2 : 1,
  };
}

/** A query that its user may run. */
function prepare(
  context: CommandContext,
  parameters: QueryParameters,
): { readonly parsed: ParsedQuery; readonly plan: Plan; readonly tables: QueryTables } {
  const options = optionsOf(parameters);
  const parsed = parseQuery(parameters.query, options);
  const tables = new QueryTables(context, wantsTimestamps(parameters.versioned_read_options));
  const plan = prepareQuery(parsed, (path) => tables.schemaOf(path), options);
  tables.check(plan);
  return { parsed, plan, tables };
}

const selectRows = defineCommand({
  name: "select_rows",
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: readingTables,
  summary: "Runs a query over dynamic tables.",
  parameters: {
    ...queryParameters,
    timestamp: optional(parameter.uint64),
    enable_statistics: withDefault(parameter.boolean, false),
  },
  async execute(context, parameters) {
    const { plan, tables } = prepare(context, parameters);
    const timestamp = readTimestamp(context, parameters.timestamp);
    tables.requireReadable(plan);
    const writer = createRowWriter(
      context.outputFormat(),
      plan.outputColumns.map(({ name }) => ({ name, source: { kind: "column", index: 0 } as const })),
      { isSchemaful: true },
    );
    const types = plan.outputColumns.map(({ type }) => type);
    const { clock } = context.services.cell;
    let statistics: YsonMap = mapOf({});
    const chunks = pushed(async (push) => {
      const letGo = context.services.transactions.hold(timestamp);
      const startedAt = clock.monotonic();
      const deadline = new Deadline(clock, context.common.timeout ?? defaultTimeoutMs, "Query");
      const send = async (chunk: Buffer): Promise<void> => {
        deadline.pause();
        await push(chunk);
        deadline.resume();
      };
      let found: QueryStatistics;
      try {
        found = await executeQuery(
          plan,
          (path) => tables.sourceOf(path, timestamp),
          (row) => {
            writer.writeValues(row, types);
            return writer.length >= chunkBytes ? send(writer.take()) : undefined;
          },
          AbortSignal.any([context.request.signal, deadline.signal]),
        );
      } finally {
        deadline.pause();
        letGo();
      }
      statistics = statisticsToYson(found, clock.monotonic() - startedAt);
      await push(writer.finish());
    });
    return stream(chunks, {
      responseParameters: () => (parameters.enable_statistics ? statistics : undefined),
    });
  },
});

const explainQueryCommand = defineCommand({
  name: "explain_query",
  input: "null",
  output: "structured",
  isVolatile: false,
  isHeavy: true,
  access: readingTables,
  summary: "Tells how a query would be run: what it would read of each table, and how joins find rows.",
  parameters: queryParameters,
  async execute(context, parameters) {
    const { parsed, plan } = prepare(context, parameters);
    return structured(explainQuery(parsed, plan));
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

export const selectCommands = [selectRows, explainQueryCommand];
