/**
 * Lone expressions over one row: computed columns, routing of queue rows, filters of Flow.
 */
import type { PhysicalType, RowValue, TableSchema } from "@qyt/schema";
import { Checker } from "./checker.ts";
import { compileExpression } from "./compile.ts";
import { type QueryOptions, resolveOptions } from "./options.ts";
import { parseExpression } from "./parser.ts";
import { TypeSet } from "./types.ts";

export interface CompiledExpression {
  readonly type: PhysicalType;
  /** The value for a row whose values stand as the columns do in the schema. */
  evaluate(row: readonly RowValue[]): RowValue;
}

/**
 * Compiles an expression over the columns of a table.
 *
 * @param type the type the expression must have; its own by default
 * @throws YtError as `parseQuery` and `prepareQuery` do
 */
export function prepareExpression(
  text: string,
  schema: TableSchema,
  type?: PhysicalType,
  options: QueryOptions = {},
): CompiledExpression {
  const { node, aliases } = parseExpression(text, options);
  const columns = schema.columns.map((column) => ({ name: column.name, type: column.physical }));
  const checker = new Checker({ text, columns, aliases });
  const expression = checker.check(node, type === undefined ? undefined : TypeSet.of(type));
  const { useCanonicalNullRelations } = resolveOptions(options);
  const evaluate = compileExpression(expression, { useCanonicalNullRelations, positionOf: (index) => index });
  return { type: expression.type, evaluate };
}
