/**
 * Computed key columns: what a set of keys says about the columns they are computed from decides their values too.
 * Without that, a table whose first key column is a hash of the others would be read as a whole for every key.
 *
 * Specified in: yt/yt/library/query/engine_api/range_inferrer.cpp and column_evaluator.h.
 */
import type { PhysicalType, RowValue, TableSchema } from "@qyt/schema";
import { Checker } from "./checker.ts";
import { compileExpression, type Evaluator } from "./compile.ts";
import { after, before, type Cut, endCut, listValues, startCut } from "./cuts.ts";
import { type Expression, type ExpressionOf, visitColumns } from "./expressions.ts";
import type { KeyItem, KeySet, KeySetAlgebra } from "./key-sets.ts";
import { queryLimits } from "./options.ts";
import { parseExpression } from "./parser.ts";
import { TypeSet } from "./types.ts";

/** A key column that is computed, and what it is computed by: positions are those of the table's columns. */
export interface ComputedKey {
  readonly depth: number;
  readonly type: PhysicalType;
  readonly expression: Expression;
  readonly evaluate: Evaluator;
  /** Positions of the columns it is computed from, ascending. */
  readonly sources: readonly number[];
}

/** The computed key columns of a table, whose key columns are its first columns. @throws YtError as expressions do */
export function computedKeysOf(schema: TableSchema): ComputedKey[] {
  const columns = schema.columns.map(({ name, physical }) => ({ name, type: physical }));
  return schema.columns.slice(0, schema.keyColumnCount).flatMap((column, depth) => {
    if (column.expression === undefined) {
      return [];
    }
    const { node, aliases } = parseExpression(column.expression);
    const checker = new Checker({ text: column.expression, columns, aliases });
    const expression = checker.check(node, TypeSet.of(column.physical));
    const sources = new Set<number>();
    visitColumns(expression, (index) => sources.add(index));
    return {
      depth,
      type: column.physical,
      expression,
      evaluate: compileExpression(expression, {
        useCanonicalNullRelations: false,
        positionOf: (index) => index,
      }),
      sources: [...sources].sort((left, right) => left - right),
    };
  });
}

/** What a set of keys says about one key column. */
interface Between {
  readonly from: Cut;
  readonly to: Cut;
  /** The only value between the cuts, where it is one. */
  readonly only?: RowValue;
}

/** By position of the key column. */
type Path = readonly (Between | undefined)[];

/** Narrows sets of keys by what the computed key columns of a table must be. */
export class ComputedKeyInference {
  readonly #algebra: KeySetAlgebra;
  readonly #types: readonly PhysicalType[];
  readonly #computed: readonly ComputedKey[];
  readonly #sources: ReadonlySet<number>;
  /** Values of intervals that may still be looked at one by one. */
  #room: number;
  #sets: KeySet[] = [];

  /** @param listedCount values that the condition lists itself; `a IN (1, 2, 3)` is one interval by now */
  constructor(
    algebra: KeySetAlgebra,
    types: readonly PhysicalType[],
    computed: readonly ComputedKey[],
    listedCount: number,
  ) {
    this.#algebra = algebra;
    this.#room = queryLimits.maxComputedValues + listedCount;
    this.#types = types;
    this.#computed = computed.filter(({ type }) => type !== "any" && type !== "null");
    this.#sources = new Set(this.#computed.flatMap(({ sources }) => sources));
  }

  /**
   * The keys of the set that a row can have.
   * @throws KeySetBudgetExceeded
   */
  narrow(set: KeySet): KeySet {
    if (set === true || this.#computed.length === 0) {
      return set;
    }
    this.#sets = [];
    this.#collect(set, []);
    return this.#algebra.unionAll(this.#sets);
  }

  /** Takes a set apart into paths from its root to its leaves. */
  #collect(set: KeySet, path: Path): void {
    if (set === true) {
      this.#addPath(path);
      return;
    }
    for (const item of set.items) {
      for (const between of this.#split(item, set.depth)) {
        this.#collect(item.next, withBetween(path, set.depth, between));
      }
    }
  }

  /** The values of an interval one by one, where a computed column can be told from each and they are few. */
  #split({ from, to }: KeyItem, depth: number): readonly Between[] {
    const type = this.#types[depth] ?? "null";
    const values = this.#sources.has(depth) ? listValues(from, to, type, Math.max(1, this.#room)) : undefined;
    if (values === undefined) {
      return [{ from, to }];
    }
    this.#room -= values.length - 1;
    return values.map((value) => ({ from: before(value), to: after(value, type), only: value }));
  }

  #addPath(path: Path): void {
    let paths: readonly Path[] = [path];
    for (const computed of this.#computed) {
      const parts = this.#betweenOf(computed, path);
      paths = paths.flatMap((known) => parts.map((part) => withBetween(known, computed.depth, part)));
    }
    for (const each of paths) {
      let set: KeySet = true;
      for (let depth = each.length - 1; depth >= 0; depth -= 1) {
        const given = path[depth];
        const between = each[depth];
        if (between !== undefined) {
          set = this.#algebra.node(depth, [{ from: between.from, to: between.to, next: set }]);
          if (given !== undefined && given !== between) {
            set = this.#algebra.intersect(set, this.#algebra.interval(depth, given.from, given.to));
          }
        }
      }
      this.#sets.push(set);
    }
  }

  /** Where a computed column can lie; as it was where nothing is known. */
  #betweenOf(computed: ComputedKey, path: Path): readonly (Between | undefined)[] {
    const exact = exactValue(computed, path);
    if (exact !== undefined) {
      return [{ from: before(exact.value), to: after(exact.value, computed.type) }];
    }
    const { expression } = computed;
    const given = path[computed.depth];
    if (given === undefined && expression.kind === "arithmetic" && expression.right.kind === "literal") {
      const divisor = expression.right.value;
      if (typeof divisor === "bigint" && divisor > 0n) {
        return quotient(expression, divisor, path) ?? this.#remainders(computed, divisor, path) ?? [given];
      }
    }
    return [given];
  }

  /**
   * All values of `… % n`, where a column behind it is bounded: a range for each of them is less than the table.
   */
  #remainders({ depth, expression, type }: ComputedKey, divisor: bigint, path: Path): Between[] | undefined {
    const isUseful = path.some((between, index) => index > depth && between !== undefined);
    if (
      expression.kind !== "arithmetic" ||
      expression.operator !== "%" ||
      !isUseful ||
      divisor > BigInt(queryLimits.maxListedValues / 2)
    ) {
      return undefined;
    }
    const least = type === "uint64" ? 0n : 1n - divisor;
    return [
      { from: startCut, to: after(null, type) },
      { from: before(least), to: before(divisor) },
    ];
  }
}

/** The value of a computed column, where the path gives all that it is computed from. */
function exactValue(
  { sources, evaluate }: ComputedKey,
  path: Path,
): { readonly value: RowValue } | undefined {
  const row: RowValue[] = [];
  for (const source of sources) {
    const value = path[source]?.only;
    if (value === undefined || isManifold(value)) {
      return undefined;
    }
    row[source] = value;
  }
  try {
    const value = evaluate(row);
    return isManifold(value) ? undefined : { value };
  } catch {
    // No row has such a key, but that is for others to find out.
    return undefined;
  }
}

/** Numbers that are equal to others from which something else may be computed. */
function isManifold(value: RowValue): boolean {
  return typeof value === "number" && (value === 0 || Number.isNaN(value));
}

/** Where `k / n` lies for a column that lies between two cuts: division keeps the order. */
function quotient(
  { operator, left, type }: ExpressionOf<"arithmetic">,
  divisor: bigint,
  path: Path,
): readonly Between[] | undefined {
  const source =
    operator === "/" && left.kind === "column" && left.type === type ? path[left.index] : undefined;
  if (source === undefined) {
    return undefined;
  }
  const { from, to } = source;
  return [
    {
      from:
        from.kind === "before" && typeof from.value === "bigint" ? before(from.value / divisor) : startCut,
      to:
        to.kind === "before" && typeof to.value === "bigint"
          ? after((to.value - 1n) / divisor, type)
          : endCut,
    },
  ];
}

function withBetween(path: Path, depth: number, between: Between | undefined): Path {
  const result = [...path];
  result[depth] = between;
  return result;
}
