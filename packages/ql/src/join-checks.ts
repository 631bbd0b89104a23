/**
 * Typing of joins: what ties two tables together, and how much of the other table's key that is.
 *
 * Specified in: yt/yt/library/query/base/query_preparer.cpp (PrepareJoins), dyn-query-language.md ("JOIN").
 */
import { YtError } from "@qyt/base";
import type { ColumnSchema, PhysicalType, TableSchema } from "@qyt/schema";
import type { NamedColumn } from "./check-context.ts";
import { Checker } from "./checker.ts";
import { compileExpression, type Evaluator } from "./compile.ts";
import { type ComputedKey, computedKeysOf } from "./computed-keys.ts";
import type { Expression } from "./expressions.ts";
import type { JoinClause, Node, ParsedQuery } from "./nodes.ts";
import type { ResolvedQueryOptions } from "./options.ts";
import { booleanType, orderableTypes } from "./types.ts";

/** A table as expressions see it. */
export interface QueryTable {
  readonly columns: readonly NamedColumn[];
  readonly keyColumns: readonly ColumnSchema[];
  /** Those of them that are computed. */
  readonly computedKeys: readonly ComputedKey[];
}

export interface CheckedJoin {
  readonly clause: JoinClause;
  readonly table: QueryTable;
  /** Over the columns of all tables in front. */
  readonly selfKeys: readonly Expression[];
  /** Over the columns of this table. */
  readonly foreignKeys: readonly Expression[];
  readonly predicate: Expression | undefined;
  /** One for each leading key column of this table that the keys decide: its value from theirs. */
  readonly keyParts: readonly Evaluator[];
  /** Key columns of the first table that are, in their order, equal to leading key columns of this one. */
  readonly commonKeyPrefix: number;
}

export function tableOf(schema: TableSchema, alias: string | undefined): QueryTable {
  const columns = schema.columns.map((column) => ({ name: column.name, type: column.physical }));
  return {
    columns: named(columns, alias),
    keyColumns: schema.columns.slice(0, schema.keyColumnCount),
    computedKeys: computedKeysOf(schema),
  };
}

export function named(
  columns: readonly { readonly name: string; readonly type: PhysicalType }[],
  table: string | undefined,
): NamedColumn[] {
  return columns.map(({ name, type }) => ({ name, type, table }));
}

/**
 * @throws YtError `Foreign table key is not used in the join clause` unless `allowJoinWithoutIndex`, for an
 * alias that is taken, for types that do not fit, and as expressions do
 */
export function checkJoins(
  parsed: ParsedQuery,
  first: QueryTable,
  schemaOf: (tablePath: string) => TableSchema,
  options: ResolvedQueryOptions,
): CheckedJoin[] {
  const joins: CheckedJoin[] = [];
  const aliases = new Set(parsed.tableAlias === undefined ? [] : [parsed.tableAlias]);
  let columns = first.columns;
  for (const clause of parsed.joins) {
    const { tableAlias } = clause;
    if (tableAlias !== undefined) {
      if (aliases.has(tableAlias)) {
        throw new YtError(`Alias "${tableAlias}" has been already used`);
      }
      aliases.add(tableAlias);
    }
    const table = tableOf(schemaOf(clause.tablePath), tableAlias);
    const join = checkJoin(parsed, clause, table, columns, first);
    if (join.keyParts.length === 0 && !options.allowJoinWithoutIndex) {
      throw new YtError("Foreign table key is not used in the join clause", {
        attributes: {
          table: clause.tablePath,
          hint: "join by the first key columns of that table, or set allow_join_without_index",
        },
      });
    }
    joins.push(join);
    columns = [...columns, ...table.columns];
  }
  return joins;
}

function checkJoin(
  { text, aliases }: ParsedQuery,
  clause: JoinClause,
  table: QueryTable,
  columns: readonly NamedColumn[],
  first: QueryTable,
): CheckedJoin {
  const self = new Checker({ text, aliases, columns });
  const foreign = new Checker({ text, aliases, columns: table.columns });
  const selfKeys: Expression[] = [];
  const foreignKeys: Expression[] = [];
  for (const [index, node] of clause.selfKeys.entries()) {
    const other: Node = clause.foreignKeys[index] ?? node;
    const left = self.visit(node);
    const right = foreign.visit(other);
    const common = orderableTypes.intersect(left.types).intersect(right.types);
    if (common.isEmpty) {
      throw new YtError(`Types mismatch in join equation "${self.source(node)} = ${self.source(other)}"`, {
        attributes: { self_type: left.types.toString(), foreign_type: right.types.toString() },
      });
    }
    selfKeys.push(left.build(common.first));
    foreignKeys.push(right.build(common.first));
  }
  const predicate = clause.predicate === undefined ? undefined : foreign.check(clause.predicate, booleanType);
  const keyParts = keyPartsOf(table, foreignKeys);
  const commonKeyPrefix = commonPrefix(first, selfKeys, foreignKeys, keyParts.length);
  return { clause, table, selfKeys, foreignKeys, predicate, keyParts, commonKeyPrefix };
}

/** How the keys decide the leading key columns: a column by itself, or what it is computed from. */
function keyPartsOf(table: QueryTable, foreignKeys: readonly Expression[]): Evaluator[] {
  const positions = new Map<number, number>();
  for (const [position, key] of foreignKeys.entries()) {
    if (key.kind === "column" && !positions.has(key.index)) {
      positions.set(key.index, position);
    }
  }
  const parts: Evaluator[] = [];
  for (const index of table.keyColumns.keys()) {
    const position = positions.get(index);
    const part =
      position === undefined
        ? computedPart(table.computedKeys, index, positions)
        : (keys: Parameters<Evaluator>[0]) => keys[position] ?? null;
    if (part === undefined) {
      break;
    }
    parts.push(part);
  }
  return parts;
}

function computedPart(
  computed: readonly ComputedKey[],
  depth: number,
  positions: ReadonlyMap<number, number>,
): Evaluator | undefined {
  const key = computed.find((item) => item.depth === depth);
  return key?.sources.every((source) => positions.has(source)) === true
    ? compileExpression(key.expression, {
        useCanonicalNullRelations: false,
        positionOf: (index) => positions.get(index) ?? -1,
      })
    : undefined;
}

function commonPrefix(
  first: QueryTable,
  selfKeys: readonly Expression[],
  foreignKeys: readonly Expression[],
  prefix: number,
): number {
  for (let index = 0; index < Math.min(prefix, first.keyColumns.length); index += 1) {
    const position = foreignKeys.findIndex((key) => key.kind === "column" && key.index === index);
    const self = selfKeys[position];
    if (self === undefined || self.kind !== "column" || self.index !== index) {
      return index;
    }
  }
  return Math.min(prefix, first.keyColumns.length);
}
