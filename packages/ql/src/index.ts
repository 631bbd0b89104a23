/** `@qyt/ql`: the query language behind `select_rows`, over any source of rows. */
export { executeQuery, type RowSink } from "./execute.ts";
export { explainQuery } from "./explain.ts";
export { type CompiledExpression, prepareExpression } from "./expression.ts";
export { isInRange, type KeyBound, type KeyRange, unboundedRange } from "./key-ranges.ts";
export type { ParsedQuery } from "./nodes.ts";
export type { QueryOptions } from "./options.ts";
export { parseQuery } from "./parser.ts";
export {
  type OutputColumn,
  type Plan,
  prepareQuery,
  type ReadTable,
  type SchemaOf,
  tablesOf,
} from "./plan.ts";
export type { RowSource, SourceOf } from "./row-source.ts";
export { type QueryStatistics, statisticsToYson } from "./statistics.ts";
