/**
 * What a caller may set for a query, and the defaults.
 *
 * Specified in: parameters of `select_rows` (yt/yt/client/api/client_common.h).
 */
import { emptyMap, type YsonMap } from "@qyt/base";

export interface QueryOptions {
  /** Rows that may be read; more is error 1709 or a truncated answer. */
  readonly inputRowLimit?: number | undefined;
  /** Rows (or groups) that may be answered; more is error 1710 or a truncated answer. */
  readonly outputRowLimit?: number | undefined;
  /** Key ranges that a condition may expand to; beyond it, ranges get coarser. */
  readonly rangeExpansionLimit?: number | undefined;
  /** Whether an exceeded row limit is an error (the default) or a flag in the statistics. */
  readonly failOnIncompleteResult?: boolean | undefined;
  /** Whether a query without any condition on the key is allowed. */
  readonly allowFullScan?: boolean | undefined;
  /** Whether a join that uses no prefix of the other table's key is allowed; it reads all of that table. */
  readonly allowJoinWithoutIndex?: boolean | undefined;
  /** Values for `{name}` in the text. Lists become parenthesised tuples. */
  readonly placeholderValues?: YsonMap | undefined;
  /** Comparisons with null give null instead of following the total order. */
  readonly useCanonicalNullRelations?: boolean | undefined;
  /** In version 1 brackets quote names; in version 2 only backticks do. */
  readonly syntaxVersion?: 1 | 2 | undefined;
}

export interface ResolvedQueryOptions {
  readonly inputRowLimit: number;
  readonly outputRowLimit: number;
  readonly rangeExpansionLimit: number;
  readonly failOnIncompleteResult: boolean;
  readonly allowFullScan: boolean;
  readonly allowJoinWithoutIndex: boolean;
  readonly placeholderValues: YsonMap;
  readonly useCanonicalNullRelations: boolean;
  readonly syntaxVersion: 1 | 2;
}

/** The options with every default filled in. */
export function resolveOptions(options: QueryOptions): ResolvedQueryOptions {
  return {
    inputRowLimit: options.inputRowLimit ?? 1_000_000,
    outputRowLimit: options.outputRowLimit ?? 1_000_000,
    rangeExpansionLimit: options.rangeExpansionLimit ?? 200_000,
    failOnIncompleteResult: options.failOnIncompleteResult ?? true,
    allowFullScan: options.allowFullScan ?? true,
    allowJoinWithoutIndex: options.allowJoinWithoutIndex ?? false,
    placeholderValues: options.placeholderValues ?? emptyMap,
    useCanonicalNullRelations: options.useCanonicalNullRelations ?? false,
    syntaxVersion: options.syntaxVersion ?? 1,
  };
}

/** Bounds of a query's own size, so that no query can exhaust stack, time or memory while it is prepared. */
export const queryLimits = {
  /** Levels of operators and calls in one expression, aliases expanded (upstream: 50). */
  maxExpressionDepth: 50,
  /** Levels of parentheses in the text. */
  maxParenthesisDepth: 200,
  /** Operators and operands in one query, aliases expanded. */
  maxExpressionNodes: 100_000,
  /** Tables that one query may join. */
  maxJoins: 16,
  /** Subqueries inside one another. */
  maxSubqueryDepth: 16,
  /** The largest LIMIT. */
  maxLimit: 10_000_000,
  /** Steps that may be spent on turning a condition into key ranges; then it becomes a scan. */
  maxRangeSteps: 500_000,
  /** Values of an integer interval that are listed one by one to reach the next key column. */
  maxListedValues: 10_000,
  /** Values of integer intervals from each of which the values of computed key columns are told. */
  maxComputedValues: 1_000,
} as const;
