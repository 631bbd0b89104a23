/**
 * Joins ready to run, and the rows they make: the columns read of the first table, and behind them those
 * read of each joined one.
 */
import type { PhysicalType } from "@qyt/schema";
import { compileExpression, type Evaluator } from "./compile.ts";
import { type Expression, visitColumns } from "./expressions.ts";
import type { CheckedJoin } from "./join-checks.ts";
import { inferKeyRanges, type KeyRange } from "./key-ranges.ts";
import type { ResolvedQueryOptions } from "./options.ts";
import { booleanType } from "./types.ts";

export interface JoinPlan {
  /** The rich path text of the joined table. */
  readonly tablePath: string;
  readonly isLeft: boolean;
  /** Positions in the query schema of the table of the columns that must be read, ascending. */
  readonly readColumns: readonly number[];
  /** Over rows in front of this join. */
  readonly selfKeys: readonly Evaluator[];
  /** Over rows of this table as read. */
  readonly foreignKeys: readonly Evaluator[];
  /** Over rows of this table as read. */
  readonly predicate: Evaluator | undefined;
  /** Values of leading key columns, from the values of `selfKeys`. None: all `ranges` are read. */
  readonly keyParts: readonly Evaluator[];
  readonly keyTypes: readonly PhysicalType[];
  /** What `predicate` leaves of the table, for when there are no `keyParts`. */
  readonly ranges: readonly KeyRange[];
  readonly commonKeyPrefix: number;
}

/** Where the columns that are read stand in a row. */
export class RowLayout {
  readonly firstColumns: readonly number[];
  readonly joinColumns: readonly (readonly number[])[];
  readonly #positions = new Map<number, number>();

  /** @param expressions all that are evaluated over rows of all tables */
  constructor(
    firstCount: number,
    joins: readonly CheckedJoin[],
    expressions: readonly (Expression | undefined)[],
  ) {
    const used = new Set<number>();
    for (const expression of expressions) {
      if (expression !== undefined) {
        visitColumns(expression, (index) => used.add(index));
      }
    }
    this.firstColumns = this.#place(0, firstCount, used);
    let first = firstCount;
    this.joinColumns = joins.map(({ table, foreignKeys, predicate }) => {
      for (const expression of predicate === undefined ? foreignKeys : [...foreignKeys, predicate]) {
        visitColumns(expression, (index) => used.add(first + index));
      }
      const columns = this.#place(first, first + table.columns.length, used).map((index) => index - first);
      first += table.columns.length;
      return columns;
    });
  }

  positionOf(index: number): number {
    return this.#positions.get(index) ?? -1;
  }

  #place(from: number, to: number, used: ReadonlySet<number>): number[] {
    const columns = [...used].filter((index) => index >= from && index < to);
    columns.sort((left, right) => left - right);
    for (const index of columns) {
      this.#positions.set(index, this.#positions.size);
    }
    return columns;
  }
}

export function compileJoin(
  join: CheckedJoin,
  layout: RowLayout,
  joinIndex: number,
  options: ResolvedQueryOptions,
): JoinPlan {
  const { clause, predicate, table } = join;
  const { useCanonicalNullRelations, rangeExpansionLimit } = options;
  const readColumns = layout.joinColumns[joinIndex] ?? [];
  const compile = (expression: Expression, positionOf: (index: number) => number): Evaluator =>
    compileExpression(expression, { useCanonicalNullRelations, positionOf });
  const own = (index: number): number => readColumns.indexOf(index);
  const types = table.keyColumns.map((column) => column.physical);
  return {
    tablePath: clause.tablePath,
    isLeft: clause.isLeft,
    readColumns,
    selfKeys: join.selfKeys.map((key) => compile(key, (index) => layout.positionOf(index))),
    foreignKeys: join.foreignKeys.map((key) => compile(key, own)),
    predicate: predicate === undefined ? undefined : compile(predicate, own),
    keyParts: join.keyParts,
    keyTypes: types.slice(0, join.keyParts.length),
    ranges: inferKeyRanges(predicate, types, table.computedKeys, rangeExpansionLimit).ranges,
    commonKeyPrefix: join.commonKeyPrefix,
  };
}

/** Parts of a condition that read columns below `firstCount` only, and the rest. */
export function splitCondition(
  condition: Expression | undefined,
  firstCount: number,
): { readonly early: Expression | undefined; readonly late: Expression | undefined } {
  if (condition === undefined || firstCount === 0) {
    return { early: undefined, late: condition };
  }
  const early: Expression[] = [];
  const late: Expression[] = [];
  for (const part of conjuncts(condition)) {
    let isEarly = true;
    visitColumns(part, (index) => {
      isEarly &&= index < firstCount;
    });
    (isEarly ? early : late).push(part);
  }
  return { early: conjunction(early), late: conjunction(late) };
}

function conjuncts(condition: Expression): readonly Expression[] {
  return condition.kind === "logical" && condition.operator === "AND"
    ? condition.items.flatMap(conjuncts)
    : [condition];
}

function conjunction(items: readonly Expression[]): Expression | undefined {
  const [first, ...rest] = items;
  if (first === undefined || rest.length === 0) {
    return first;
  }
  return { kind: "logical", type: booleanType.first, operator: "AND", items };
}
