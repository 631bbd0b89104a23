/** `@qyt/ql`: the query language behind `select_rows`, over any source of rows. */
export { executeQuery, type RowSink, type RowSource } from "./execute.ts";
export { type CompiledExpression, prepareExpression } from "./expression.ts";
export { isInRange, type KeyBound, type KeyRange, unboundedRange } from "./key-ranges.ts";
export type { ParsedQuery } from "./nodes.ts";
export type { QueryOptions } from "./options.ts";
export { parseQuery } from "./parser.ts";
export { type OutputColumn, type Plan, prepareQuery } from "./plan.ts";
export { type QueryStatistics, statisticsToYson } from "./statistics.ts";
