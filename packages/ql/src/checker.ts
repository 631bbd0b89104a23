/**
 * Syntax trees → checked expressions: names are resolved, types decided, constants folded.
 *
 * Specified in: yt/yt/library/query/base/expr_builder_v1.cpp.
 */
import { defined, YtError } from "@qyt/base";
import type { PhysicalType } from "@qyt/schema";
import { checkCall } from "./check-calls.ts";
import type { CheckContext, Grouping, NamedColumn } from "./check-context.ts";
import { checkArithmetic, checkLogical, checkRelation, checkUnary } from "./check-operators.ts";
import { checkBetween, checkCase, checkIn, checkMatch, checkTransform } from "./check-predicates.ts";
import { ColumnNames } from "./column-names.ts";
import { depthExceeded } from "./errors.ts";
import type { Expression } from "./expressions.ts";
import { inferColumnName } from "./format-node.ts";
import type { Node } from "./nodes.ts";
import { queryLimits } from "./options.ts";
import { literalToRowValue, TypeSet, typesOfLiteral } from "./types.ts";
import { typed, type Untyped, untypedConstant } from "./untyped.ts";

export interface CheckerOptions {
  readonly text: string;
  /** Of all tables, one table behind the other. */
  readonly columns: readonly NamedColumn[];
  readonly aliases: ReadonlyMap<string, Node>;
}

export class Checker implements CheckContext {
  readonly #options: CheckerOptions;
  readonly #columns: ColumnNames;
  readonly #openAliases = new Set<string>();
  #grouping: Grouping | undefined;
  #depth = 0;
  #nodes = 0;

  constructor(options: CheckerOptions) {
    this.#options = options;
    this.#columns = new ColumnNames(options.columns);
  }

  /** From now on expressions stand behind GROUP BY. */
  enterGrouping(grouping: Grouping): void {
    this.#grouping = grouping;
  }

  /** Whether expressions stand behind GROUP BY, outside of an aggregate's arguments. */
  get grouping(): Grouping | undefined {
    return this.#grouping;
  }

  /** Checks with the columns of the table in view, as the arguments of aggregates are. */
  beforeGrouping<T>(action: () => T): T {
    const grouping = this.#grouping;
    this.#grouping = undefined;
    try {
      return action();
    } finally {
      this.#grouping = grouping;
    }
  }

  /**
   * A whole expression; `types` are those it may have, its own first choice by default.
   *
   * @throws YtError for unknown names, types that do not fit, and 1711 when too deep or too large
   */
  check(node: Node, types?: TypeSet): Expression {
    const untyped = this.visit(node);
    const common = types === undefined ? untyped.types : types.intersect(untyped.types);
    if (common.isEmpty) {
      throw new YtError(`Type mismatch in expression: expected "${types}", got "${untyped.types}"`, {
        attributes: { source: this.source(node) },
      });
    }
    return untyped.build(common.first);
  }

  /** The text a node came from. */
  source(node: Node): string {
    return this.#options.text.slice(node.start, node.end);
  }

  visit(node: Node): Untyped {
    this.#nodes += 1;
    if (this.#depth >= queryLimits.maxExpressionDepth || this.#nodes > queryLimits.maxExpressionNodes) {
      throw depthExceeded();
    }
    this.#depth += 1;
    const result = this.#groupItemOf(node) ?? this.#visitKind(node);
    this.#depth -= 1;
    return result;
  }

  #visitKind(node: Node): Untyped {
    switch (node.kind) {
      case "literal": {
        const type = node.value.kind;
        return untypedConstant(literalToRowValue(node.value), type, typesOfLiteral(type));
      }
      case "reference":
        return this.#resolve(node.table, node.name, inferColumnName(node));
      case "alias":
        return this.#resolve(undefined, node.name, node.name);
      case "tuple":
        throw new YtError("Expecting scalar expression", { attributes: { source: this.source(node) } });
      case "call":
        return checkCall(this, node);
      case "unary":
        return checkUnary(this, node);
      case "arithmetic":
        return checkArithmetic(this, node);
      case "relation":
        return checkRelation(this, node);
      case "logical":
        return checkLogical(this, node);
      case "in":
        return checkIn(this, node);
      case "between":
        return checkBetween(this, node);
      case "transform":
        return checkTransform(this, node);
      case "case":
        return checkCase(this, node);
      case "match":
        return checkMatch(this, node);
    }
  }

  /** Behind GROUP BY an expression written exactly as a group item is that item. */
  #groupItemOf(node: Node): Untyped | undefined {
    if (this.#grouping === undefined || node.kind === "literal" || node.kind === "alias") {
      return undefined;
    }
    return this.#findGroupItem(inferColumnName(node));
  }

  #findGroupItem(name: string): Untyped | undefined {
    const items = this.#grouping?.items ?? [];
    const index = items.findIndex((item) => item.name === name);
    return index < 0 ? undefined : columnAt(index, defined(items[index], "group item").type);
  }

  /** Group items come first, then aliases, then columns; an alias inside its own definition is not seen. */
  #resolve(table: string | undefined, name: string, shownName: string): Untyped {
    if (table === undefined) {
      const item = this.#findGroupItem(name);
      if (item !== undefined) {
        return item;
      }
      const alias = this.#options.aliases.get(name);
      if (alias !== undefined && !this.#openAliases.has(name)) {
        this.#openAliases.add(name);
        const result = this.visit(alias);
        this.#openAliases.delete(name);
        return result;
      }
    }
    const index = this.#grouping === undefined ? this.#columns.find(table, name) : undefined;
    if (index === undefined) {
      throw new YtError(`Undefined reference "${shownName}"`);
    }
    return columnAt(index, defined(this.#options.columns[index], "column").type);
  }
}

function columnAt(index: number, type: PhysicalType): Untyped {
  return typed(TypeSet.of(type), { kind: "column", type, index });
}
