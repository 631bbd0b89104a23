/**
 * Parsed query + table schema → plan: what to read, and the closures that make results of it.
 *
 * Specified in: yt/yt/library/query/base/query_preparer.cpp.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, TableSchema } from "@qyt/schema";
import { checkArguments } from "./check-calls.ts";
import type { AggregateSink, NamedColumn } from "./check-context.ts";
import { Checker } from "./checker.ts";
import { compileExpression, type Evaluator } from "./compile.ts";
import { type Expression, visitColumns } from "./expressions.ts";
import { inferColumnName } from "./format-node.ts";
import { type AggregateState, findAggregate } from "./functions/aggregates.ts";
import { inferKeyRanges, type KeyRange } from "./key-ranges.ts";
import type { Node, ParsedQuery } from "./nodes.ts";
import { type QueryOptions, queryLimits, type ResolvedQueryOptions, resolveOptions } from "./options.ts";
import { booleanType, comparableTypes, TypeSet } from "./types.ts";
import type { Untyped } from "./untyped.ts";

export interface OutputColumn {
  readonly name: string;
  readonly type: PhysicalType;
}

/** A query that is ready to run, any number of times. */
export interface Plan {
  /** The rich path text of FROM. */
  readonly tablePath: string;
  readonly outputColumns: readonly OutputColumn[];
  /** Positions in the query schema of the columns that must be read, ascending; may be empty. */
  readonly readColumns: readonly number[];
  /** Sorted and disjoint. None when nothing can match; one unbounded range when everything can. */
  readonly ranges: readonly KeyRange[];
  /** Rows that will be enough, where it can be told before reading. */
  readonly limitHint?: number;
  readonly program: Program;
}

/** What is done with each row. */
export interface Program {
  readonly options: ResolvedQueryOptions;
  readonly where: Evaluator | undefined;
  readonly grouping: GroupProgram | undefined;
  /** Over a row of the table, or with grouping over a row of group items and aggregates. */
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
}

/**
 * Prepares a query over a table.
 *
 * @param schema the query schema of the table: key columns first (`toQuerySchema`)
 * @throws YtError for unknown names, types that do not fit, clauses that do not go together, and 1711
 */
export function prepareQuery(parsed: ParsedQuery, schema: TableSchema, options: QueryOptions = {}): Plan {
  checkClauses(parsed);
  return new Preparer(parsed, schema, resolveOptions(options)).run();
}

/** Specified in: query_preparer.cpp, the checks of LIMIT, OFFSET and ORDER BY. */
function checkClauses(parsed: ParsedQuery): void {
  const ordered = parsed.orderBy.length > 0;
  const { limit, offset } = parsed;
  if (limit === undefined && ordered) {
    throw new YtError("ORDER BY used without LIMIT");
  }
  if (limit === undefined && offset !== undefined) {
    throw new YtError("OFFSET used without LIMIT");
  }
  if (limit !== undefined && limit > BigInt(queryLimits.maxLimit)) {
    throw new YtError("Maximum LIMIT exceeded", {
      attributes: { limit, maximum_limit: BigInt(queryLimits.maxLimit) },
    });
  }
  if (offset !== undefined && offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new YtError("OFFSET is too large", { attributes: { offset } });
  }
  if (ordered && (limit ?? 0n) + (offset ?? 0n) > BigInt(queryLimits.maxLimit)) {
    // OFFSET + LIMIT rows are kept in memory to be sorted.
    throw new YtError("Maximum LIMIT exceeded", {
      attributes: { limit, offset, maximum_limit: BigInt(queryLimits.maxLimit) },
    });
  }
  if (parsed.having !== undefined && !ordered && offset !== undefined) {
    throw new YtError("HAVING with OFFSET is not allowed");
  }
  if (parsed.having !== undefined && !ordered && limit !== undefined) {
    throw new YtError("HAVING with LIMIT is not allowed");
  }
}

interface AggregateItem {
  readonly arguments: readonly Expression[];
  readonly create: () => AggregateState;
}

class Preparer {
  readonly #parsed: ParsedQuery;
  readonly #schema: TableSchema;
  readonly #options: ResolvedQueryOptions;
  readonly #columns: readonly NamedColumn[];
  readonly #checker: Checker;
  readonly #read = new Set<number>();
  readonly #aggregates: AggregateItem[] = [];

  constructor(parsed: ParsedQuery, schema: TableSchema, options: ResolvedQueryOptions) {
    this.#parsed = parsed;
    this.#schema = schema;
    this.#options = options;
    this.#columns = schema.columns.map((column) => ({ name: column.name, type: column.physical }));
    const { text, tableAlias, aliases } = parsed;
    this.#checker = new Checker({ text, tableAlias, aliases, columns: this.#columns });
  }

  run(): Plan {
    const { tablePath, limit, offset = 0n } = this.#parsed;
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

    const overTable = [where, ...(groupItems ?? []).map((item) => item.expression)];
    overTable.push(...this.#aggregates.flatMap((item) => item.arguments));
    if (groupItems === undefined) {
      overTable.push(...select.map((item) => item.expression), ...order.map((item) => item.expression));
    }
    const readColumns = this.#collectColumns(overTable);
    const row = this.#layout(readColumns);
    const result = groupItems === undefined ? row : identity;
    const keys = this.#inferRanges(where);
    const program: Program = {
      options: this.#options,
      where: where === undefined ? undefined : this.#compile(where, row),
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
    const outputColumns = select.map(({ name, expression }) => ({ name, type: expression.type }));
    const plan = { tablePath, outputColumns, readColumns, ranges: keys.ranges, program };
    const streams = groupItems === undefined && order.length === 0 && keys.exact;
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
    const { select, tableAlias } = this.#parsed;
    if (select !== undefined) {
      return select.map((node: Node) => ({
        name: inferColumnName(node),
        expression: this.#checker.check(node),
      }));
    }
    const columns =
      groupItems?.map(({ name, expression }) => ({ name, type: expression.type })) ?? this.#columns;
    const prefix = groupItems === undefined && tableAlias !== undefined ? `${tableAlias}.` : "";
    return columns.map(({ name, type }, index) => ({
      name: `${prefix}${name}`,
      expression: { kind: "column", type, index },
    }));
  }

  #collectColumns(expressions: readonly (Expression | undefined)[]): number[] {
    for (const expression of expressions) {
      if (expression !== undefined) {
        visitColumns(expression, (index) => this.#read.add(index));
      }
    }
    return [...this.#read].sort((left, right) => left - right);
  }

  /** Where in a row as read the column of that index stands. */
  #layout(readColumns: readonly number[]): (index: number) => number {
    const positions = new Map(readColumns.map((column, position) => [column, position]));
    return (index) => positions.get(index) ?? -1;
  }

  #compile(expression: Expression, positionOf: (index: number) => number): Evaluator {
    const { useCanonicalNullRelations } = this.#options;
    return compileExpression(expression, { useCanonicalNullRelations, positionOf });
  }

  #inferRanges(where: Expression | undefined): { ranges: readonly KeyRange[]; exact: boolean } {
    const { rangeExpansionLimit, useCanonicalNullRelations, allowFullScan } = this.#options;
    const types = this.#schema.columns.slice(0, this.#schema.keyColumnCount).map((column) => column.physical);
    const { ranges, exact } = inferKeyRanges(where, types, rangeExpansionLimit);
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

const orderableTypes = TypeSet.of("null", ...comparableTypes.types);

function identity(index: number): number {
  return index;
}
