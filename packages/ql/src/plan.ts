/**
 * Parsed query + table schemas → plan: what to read, and the closures that make results of it.
 *
 * Specified in: yt/yt/library/query/base/query_preparer.cpp.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, TableSchema } from "@qyt/schema";
import { checkArguments } from "./check-calls.ts";
import type { AggregateSink, NamedColumn } from "./check-context.ts";
import { Checker } from "./checker.ts";
import { checkClauses } from "./clauses.ts";
import { compileExpression, type Evaluator } from "./compile.ts";
import type { Expression } from "./expressions.ts";
import { inferColumnName } from "./format-node.ts";
import { type AggregateState, findAggregate } from "./functions/aggregates.ts";
import { type CheckedJoin, checkJoins, named, type QueryTable, tableOf } from "./join-checks.ts";
import { compileJoin, type JoinPlan, RowLayout, splitCondition } from "./join-plan.ts";
import { inferKeyRanges, type KeyRange, unboundedRange } from "./key-ranges.ts";
import type { Node, ParsedQuery, TotalsMode } from "./nodes.ts";
import { type QueryOptions, type ResolvedQueryOptions, resolveOptions } from "./options.ts";
import { booleanType, orderableTypes } from "./types.ts";
import type { Untyped } from "./untyped.ts";

export interface OutputColumn {
  readonly name: string;
  readonly type: PhysicalType;
}

/** A query that is ready to run, any number of times. */
export interface Plan {
  /** The rich path text of FROM; empty over a subquery. */
  readonly tablePath: string;
  /** The subquery of FROM: its results are the rows. */
  readonly subplan: Plan | undefined;
  readonly joins: readonly JoinPlan[];
  readonly outputColumns: readonly OutputColumn[];
  /** Positions in the query schema of the columns that must be read, ascending; may be empty. */
  readonly readColumns: readonly number[];
  /** Sorted and disjoint. None when nothing can match; one unbounded range when everything can. */
  readonly ranges: readonly KeyRange[];
  /** Leading key columns of the first table that GROUP BY names. */
  readonly groupedKeyPrefix: number;
  /** Rows that will be enough, where it can be told before reading. */
  readonly limitHint?: number;
  readonly program: Program;
}

/** What is done with each row. */
export interface Program {
  readonly options: ResolvedQueryOptions;
  /** What of WHERE can be told before the joins. */
  readonly prefilter: Evaluator | undefined;
  /** The rest of WHERE: over rows as the joins make them. */
  readonly where: Evaluator | undefined;
  readonly grouping: GroupProgram | undefined;
  /** Over a row as the joins make it, or with grouping over a row of group items and aggregates. */
  readonly select: readonly Evaluator[];
  readonly orderBy: readonly {
    readonly evaluate: Evaluator;
    readonly type: PhysicalType;
    readonly descending: boolean;
  }[];
  readonly offset: number;
  /** undefined for no limit */
  readonly limit: number | undefined;
}

export interface GroupProgram {
  readonly items: readonly Evaluator[];
  readonly aggregates: readonly {
    readonly arguments: readonly Evaluator[];
    readonly create: () => AggregateState;
  }[];
  readonly having: Evaluator | undefined;
  readonly totals: TotalsMode;
}

/** Query schemas (`toQuerySchema`: key columns first) by the rich path text of the tables. */
export type SchemaOf = (tablePath: string) => TableSchema;

/**
 * Prepares a query.
 *
 * @param schema of the only table, or of each table of the query
 * @throws YtError for unknown names, types that do not fit, clauses that do not go together, and 1711
 */
export function prepareQuery(
  parsed: ParsedQuery,
  schema: TableSchema | SchemaOf,
  options: QueryOptions = {},
): Plan {
  const schemaOf = typeof schema === "function" ? schema : () => schema;
  return preparePlan(parsed, schemaOf, resolveOptions(options));
}

function preparePlan(parsed: ParsedQuery, schemaOf: SchemaOf, options: ResolvedQueryOptions): Plan {
  checkClauses(parsed);
  const { subquery } = parsed;
  const subplan = subquery === undefined ? undefined : preparePlan(subquery, schemaOf, options);
  return new Preparer(parsed, schemaOf, subplan, options).run();
}

/** A table that a plan reads, and the positions of the columns read in its query schema. */
export interface ReadTable {
  readonly tablePath: string;
  readonly readColumns: readonly number[];
  /** The keys that are read; of a joined table they depend on rows, so they are not known ahead. */
  readonly ranges?: readonly KeyRange[] | undefined;
}

/** Every table that a plan reads. */
export function tablesOf(plan: Plan): ReadTable[] {
  const { subplan, tablePath, readColumns, ranges } = plan;
  return [
    ...(subplan === undefined ? [{ tablePath, readColumns, ranges }] : tablesOf(subplan)),
    ...plan.joins,
  ];
}

interface AggregateItem {
  readonly arguments: readonly Expression[];
  readonly create: () => AggregateState;
}

class Preparer {
  readonly #parsed: ParsedQuery;
  readonly #subplan: Plan | undefined;
  readonly #options: ResolvedQueryOptions;
  /** Of the table or subquery of FROM. */
  readonly #first: QueryTable;
  readonly #joins: readonly CheckedJoin[];
  /** Of all tables. */
  readonly #columns: readonly NamedColumn[];
  readonly #checker: Checker;
  readonly #aggregates: AggregateItem[] = [];

  constructor(
    parsed: ParsedQuery,
    schemaOf: SchemaOf,
    subplan: Plan | undefined,
    options: ResolvedQueryOptions,
  ) {
    this.#parsed = parsed;
    this.#subplan = subplan;
    this.#options = options;
    const { tablePath, tableAlias, text, aliases } = parsed;
    this.#first =
      subplan === undefined
        ? tableOf(schemaOf(tablePath), tableAlias)
        : { columns: named(subplan.outputColumns, tableAlias), keyColumns: [], computedKeys: [] };
    this.#joins = checkJoins(parsed, this.#first, schemaOf, options);
    this.#columns = [...this.#first.columns, ...this.#joins.flatMap((join) => join.table.columns)];
    this.#checker = new Checker({ text, aliases, columns: this.#columns });
  }

  run(): Plan {
    const { tablePath, limit, offset = 0n, totals } = this.#parsed;
    const where =
      this.#parsed.where === undefined ? undefined : this.#checker.check(this.#parsed.where, booleanType);
    const groupItems = this.#checkGroupItems();
    const having =
      this.#parsed.having === undefined ? undefined : this.#checker.check(this.#parsed.having, booleanType);
    const order = this.#parsed.orderBy.map(({ expression, descending }) => ({
      expression: this.#checker.check(expression, orderableTypes),
      descending,
    }));
    const select = this.#checkSelect(groupItems);

    const overTables = [where, ...(groupItems ?? []).map((item) => item.expression)];
    overTables.push(...this.#aggregates.flatMap((item) => item.arguments));
    overTables.push(...this.#joins.flatMap((join) => join.selfKeys));
    if (groupItems === undefined) {
      overTables.push(...select.map((item) => item.expression), ...order.map((item) => item.expression));
    }
    const layout = new RowLayout(this.#first.columns.length, this.#joins, overTables);
    const row = (index: number): number => layout.positionOf(index);
    const result = groupItems === undefined ? row : identity;
    const keys = this.#inferRanges(where);
    const { early, late } = splitCondition(where, this.#joins.length === 0 ? 0 : this.#first.columns.length);
    const program: Program = {
      options: this.#options,
      prefilter: early === undefined ? undefined : this.#compile(early, row),
      where: late === undefined ? undefined : this.#compile(late, row),
      grouping:
        groupItems === undefined
          ? undefined
          : {
              items: groupItems.map((item) => this.#compile(item.expression, row)),
              aggregates: this.#aggregates.map((item) => ({
                arguments: item.arguments.map((argument) => this.#compile(argument, row)),
                create: item.create,
              })),
              having: having === undefined ? undefined : this.#compile(having, identity),
              totals,
            },
      select: select.map((item) => this.#compile(item.expression, result)),
      orderBy: order.map(({ expression, descending }) => ({
        evaluate: this.#compile(expression, result),
        type: expression.type,
        descending,
      })),
      offset: Number(offset),
      limit: limit === undefined ? undefined : Number(limit),
    };
    const plan = {
      tablePath,
      subplan: this.#subplan,
      joins: this.#joins.map((join, index) => compileJoin(join, layout, index, this.#options)),
      outputColumns: select.map(({ name, expression }) => ({ name, type: expression.type })),
      readColumns: layout.firstColumns,
      ranges: keys.ranges,
      groupedKeyPrefix: this.#groupedKeyPrefix(groupItems ?? []),
      program,
    };
    const streams = groupItems === undefined && order.length === 0 && keys.exact && this.#joins.length === 0;
    return streams && limit !== undefined ? { ...plan, limitHint: Number(offset + limit) } : plan;
  }

  #checkGroupItems(): NamedExpression[] | undefined {
    const { groupBy } = this.#parsed;
    if (groupBy === undefined) {
      return undefined;
    }
    const items = groupBy.map((node) => ({
      name: inferColumnName(node),
      expression: this.#checker.check(node),
    }));
    const names = items.map(({ name, expression }) => ({ name, type: expression.type }));
    this.#checker.enterGrouping({ items: names, aggregate: this.#aggregateSink(items.length) });
    return items;
  }

  /** Each distinct aggregate call becomes one column behind the group items. */
  #aggregateSink(firstColumn: number): AggregateSink {
    const known = new Map<string, number>();
    return (node, checker): Untyped => {
      const name = node.name.toLowerCase();
      const definition = findAggregate(name);
      if (definition === undefined) {
        throw new YtError(`Undefined function "${name}"`);
      }
      const call = checker.beforeGrouping(() => checkArguments(checker, node, name, definition.signature));
      return {
        types: call.types,
        constant: undefined,
        build: (type) => {
          const key = `${type} ${inferColumnName(node)}`;
          let index = known.get(key);
          if (index === undefined) {
            const items = call.build(type);
            const types = items.map((item) => item.type);
            index = firstColumn + this.#aggregates.length;
            known.set(key, index);
            this.#aggregates.push({ arguments: items, create: definition.create(types, type) });
          }
          return { kind: "column", type, index };
        },
      };
    };
  }

  #checkSelect(groupItems: readonly NamedExpression[] | undefined): NamedExpression[] {
    const { select } = this.#parsed;
    if (select !== undefined) {
      return select.map((node: Node) => ({
        name: inferColumnName(node),
        expression: this.#checker.check(node),
      }));
    }
    const columns: readonly NamedColumn[] =
      groupItems?.map(({ name, expression }) => ({ name, type: expression.type })) ?? this.#columns;
    const all = new Map<string, NamedExpression>();
    for (const [index, { name, table, type }] of columns.entries()) {
      const full = table === undefined ? name : `${table}.${name}`;
      // Columns that tables without alias have in common are one, as USING has it.
      if (groupItems !== undefined || !all.has(full)) {
        all.set(full, { name: full, expression: { kind: "column", type, index } });
      }
    }
    return [...all.values()];
  }

  #groupedKeyPrefix(groupItems: readonly NamedExpression[]): number {
    const grouped = new Set(
      groupItems.flatMap(({ expression }) => (expression.kind === "column" ? [expression.index] : [])),
    );
    const prefix = this.#first.keyColumns.findIndex((_, index) => !grouped.has(index));
    return prefix < 0 ? this.#first.keyColumns.length : prefix;
  }

  #compile(expression: Expression, positionOf: (index: number) => number): Evaluator {
    const { useCanonicalNullRelations } = this.#options;
    return compileExpression(expression, { useCanonicalNullRelations, positionOf });
  }

  #inferRanges(where: Expression | undefined): { ranges: readonly KeyRange[]; exact: boolean } {
    const { rangeExpansionLimit, useCanonicalNullRelations, allowFullScan } = this.#options;
    if (this.#subplan !== undefined) {
      return { ranges: [unboundedRange], exact: false };
    }
    const types = this.#first.keyColumns.map((column) => column.physical);
    const { computedKeys } = this.#first;
    const { ranges, exact } = inferKeyRanges(where, types, computedKeys, rangeExpansionLimit);
    const [first] = ranges;
    const isFullScan =
      first !== undefined && first.lower.values.length === 0 && first.upper.values.length === 0;
    if (!allowFullScan && isFullScan) {
      throw new YtError("Primary key columns are not used in the where clause (full scan)", {
        attributes: { source: this.#parsed.text },
      });
    }
    return { ranges, exact: where === undefined || (exact && !useCanonicalNullRelations) };
  }
}

interface NamedExpression {
  readonly name: string;
  readonly expression: Expression;
}

function identity(index: number): number {
  return index;
}
