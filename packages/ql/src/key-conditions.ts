/**
 * Condition → set of keys that can satisfy it. What a condition says about anything but the key is taken as
 * possible, so the set may be too large but never too small.
 *
 * Specified in: yt/yt/library/query/base/key_trie.cpp.
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import { compareTuples } from "./compare.ts";
import { after, before, type Cut, endCut, startCut } from "./cuts.ts";
import type { Expression, ExpressionOf, ValueTuple } from "./expressions.ts";
import { type KeyItem, type KeySet, type KeySetAlgebra, noKeys } from "./key-sets.ts";
import type { RelationOperator } from "./nodes.ts";

const mirrored: Readonly<Record<RelationOperator, RelationOperator>> = {
  "=": "=",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

const inverse: Readonly<Record<RelationOperator, RelationOperator>> = {
  "=": "!=",
  "!=": "=",
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
};

export class KeyConditions {
  readonly #algebra: KeySetAlgebra;
  /** Types of the key columns; these are the first columns of the table. */
  readonly #types: readonly PhysicalType[];
  #exact = true;
  #listedCount = 0;

  constructor(algebra: KeySetAlgebra, types: readonly PhysicalType[]) {
    this.#algebra = algebra;
    this.#types = types;
  }

  /** Whether everything asked for so far depends on the key alone. */
  get exact(): boolean {
    return this.#exact;
  }

  /** Values that are listed, in IN or by themselves. */
  get listedCount(): number {
    return this.#listedCount;
  }

  /** The keys for which the condition can be true, or with `negated` can be false. */
  keysOf(condition: Expression, negated = false): KeySet {
    switch (condition.kind) {
      case "literal":
        return condition.value === !negated ? true : noKeys;
      case "column":
        return this.#compare(condition, "=", !negated);
      case "unary":
        return condition.operator === "NOT" ? this.keysOf(condition.operand, !negated) : this.#unknown();
      case "logical":
        return this.#logical(condition, negated);
      case "relation":
        return this.#relation(condition, negated);
      case "in":
        return this.#in(condition, negated);
      case "between":
        return this.#between(condition, negated);
      case "call":
        return this.#call(condition, negated);
      default:
        return this.#unknown();
    }
  }

  #unknown(): true {
    this.#exact = false;
    return true;
  }

  #logical(condition: ExpressionOf<"logical">, negated: boolean): KeySet {
    const sets = condition.items.map((item) => this.keysOf(item, negated));
    if ((condition.operator === "OR") !== negated) {
      return this.#algebra.unionAll(sets);
    }
    return sets.reduce<KeySet>((left, right) => this.#algebra.intersect(left, right), true);
  }

  #relation(condition: ExpressionOf<"relation">, negated: boolean): KeySet {
    const operator = negated ? inverse[condition.operator] : condition.operator;
    const { left, right } = condition;
    if (left.kind === "column" && right.kind === "literal" && left.type === right.type) {
      return this.#compare(left, operator, right.value);
    }
    if (left.kind === "literal" && right.kind === "column" && left.type === right.type) {
      return this.#compare(right, mirrored[operator], left.value);
    }
    return this.#unknown();
  }

  #call(condition: ExpressionOf<"call">, negated: boolean): KeySet {
    const [first, second] = condition.items;
    if (condition.name === "is_null" && first !== undefined) {
      return this.#compare(first, negated ? "!=" : "=", null);
    }
    const prefix = first?.kind === "literal" ? first.value : undefined;
    if (condition.name === "is_prefix" && prefix instanceof Uint8Array && second !== undefined && !negated) {
      const depth = this.#depthOf(second);
      return depth === undefined
        ? this.#unknown()
        : this.#algebra.interval(depth, before(prefix), behindPrefix(prefix));
    }
    return this.#unknown();
  }

  /** The key column an expression is, if it is one whose values have an order. */
  #depthOf(expression: Expression): number | undefined {
    if (expression.kind !== "column" || expression.index >= this.#types.length) {
      return undefined;
    }
    return expression.type === "any" || expression.type === "null" ? undefined : expression.index;
  }

  #compare(column: Expression, operator: RelationOperator, value: RowValue): KeySet {
    const depth = this.#depthOf(column);
    if (depth === undefined) {
      return this.#unknown();
    }
    this.#listedCount += 1;
    const behind = after(value, column.type);
    switch (operator) {
      case "=":
        return this.#algebra.interval(depth, before(value), behind);
      case "!=":
        return this.#algebra.complement(this.#algebra.interval(depth, before(value), behind));
      case "<":
        return this.#algebra.interval(depth, startCut, before(value));
      case "<=":
        return this.#algebra.interval(depth, startCut, behind);
      case ">":
        return this.#algebra.interval(depth, behind, endCut);
      case ">=":
        return this.#algebra.interval(depth, before(value), endCut);
    }
  }

  #in(condition: ExpressionOf<"in">, negated: boolean): KeySet {
    const columns: { depth: number; position: number; type: PhysicalType }[] = [];
    for (const [position, item] of condition.items.entries()) {
      const depth = this.#depthOf(item);
      if (depth !== undefined) {
        columns.push({ depth, position, type: item.type });
      }
    }
    if (columns.length < condition.items.length) {
      this.#exact = false;
      if (negated || columns.length === 0) {
        return true;
      }
    }
    this.#listedCount += condition.values.length;
    columns.sort((left, right) => left.depth - right.depth);
    const types = columns.map((column) => column.type);
    const rows = condition.values.map((row) => columns.map((column) => row[column.position] ?? null));
    rows.sort((left, right) => compareTuples(left, right, types));
    const set = this.#listed(
      rows,
      columns.map((column) => column.depth),
      0,
    );
    return negated ? this.#algebra.complement(set) : set;
  }

  /** The set of sorted keys given one by one. */
  #listed(rows: readonly ValueTuple[], depths: readonly number[], level: number): KeySet {
    const depth = depths[level];
    if (depth === undefined) {
      return true;
    }
    const type = this.#types[depth] ?? "null";
    const items: KeyItem[] = [];
    for (let start = 0; start < rows.length; ) {
      const value = rows[start]?.[level] ?? null;
      let end = start + 1;
      while (end < rows.length && compareTuples([rows[end]?.[level] ?? null], [value], [type]) === 0) {
        end += 1;
      }
      const next = level + 1 < depths.length ? this.#listed(rows.slice(start, end), depths, level + 1) : true;
      items.push({ from: before(value), to: after(value, type), next });
      start = end;
    }
    return this.#algebra.node(depth, items);
  }

  #between(condition: ExpressionOf<"between">, negated: boolean): KeySet {
    const known = condition.items.every((item) => this.#depthOf(item) !== undefined);
    if (negated && !known) {
      return this.#unknown();
    }
    const sets = condition.ranges.map(({ lower, upper }) =>
      this.#algebra.intersect(
        this.#compareTuple(condition.items, lower, ">"),
        this.#compareTuple(condition.items, upper, "<"),
      ),
    );
    const set = this.#algebra.unionAll(sets);
    return negated ? this.#algebra.complement(set) : set;
  }

  /** `(a, b) >= (1, 2)` (or `<=`), where the constants may be fewer than the columns. */
  #compareTuple(items: readonly Expression[], values: ValueTuple, strict: "<" | ">", index = 0): KeySet {
    const item = items[index];
    if (item === undefined || index >= values.length) {
      return true;
    }
    const value = values[index] ?? null;
    const rest = this.#compareTuple(items, values, strict, index + 1);
    return this.#algebra.union(
      this.#compare(item, strict, value),
      this.#algebra.intersect(this.#compare(item, "=", value), rest),
    );
  }
}

/** The cut behind every string with the prefix. */
function behindPrefix(prefix: Uint8Array): Cut {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) {
    length -= 1;
  }
  if (length === 0) {
    return endCut;
  }
  const bound = Uint8Array.prototype.slice.call(prefix, 0, length);
  bound[length - 1] = (bound[length - 1] ?? 0) + 1;
  return before(bound);
}
