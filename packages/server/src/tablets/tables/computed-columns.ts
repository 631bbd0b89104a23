/**
 * Computed key columns of sorted dynamic tables: their values follow from the other key columns, so nobody
 * writes them and nobody names them in a key.
 * Specified in: documentation "Sorted dynamic tables", computed columns.
 */
import { toYtError, YtError } from "@qyt/base";
import { type CompiledExpression, prepareExpression } from "@qyt/ql";
import { type RowValue, TableSchema } from "@qyt/schema";

export class ComputedColumns {
  readonly #schema: TableSchema;
  /** By position in the key: where the value is among those given, or what it is computed by. */
  readonly #key: readonly (number | CompiledExpression)[];
  readonly #givenCount: number;

  /** @throws YtError 314 for an expression that cannot be evaluated over the other key columns */
  constructor(schema: TableSchema) {
    this.#schema = schema;
    const key = schema.columns.slice(0, schema.keyColumnCount);
    const given = new TableSchema(
      key.filter(({ expression }) => expression === undefined),
      { strict: true, uniqueKeys: false },
    );
    this.#givenCount = given.columns.length;
    this.#key = key.map(({ name, expression, physical }) => {
      if (expression === undefined) {
        return given.indexOf(name);
      }
      try {
        return prepareExpression(expression, given, physical);
      } catch (thrown) {
        throw new YtError("New table schema is not valid", {
          code: "InvalidSchemaValue",
          inner: [
            new YtError(`Error validating schema of column "${name}"`, {
              code: "InvalidSchemaValue",
              inner: [toYtError(thrown)],
            }),
          ],
        });
      }
    });
  }

  /** @param given values of the key columns that are not computed, in order */
  completeKey(given: readonly (RowValue | undefined)[]): RowValue[] {
    const values = Array.from({ length: this.#givenCount }, (_, index) => given[index] ?? null);
    return this.#key.map((source) =>
      typeof source === "number" ? (values[source] ?? null) : source.evaluate(values),
    );
  }

  /** @param given cells of all columns that are not computed, in schema order; `undefined` is absent */
  completeRow(given: readonly (RowValue | undefined)[]): (RowValue | undefined)[] {
    const row: (RowValue | undefined)[] = this.completeKey(given);
    const { columns, keyColumnCount } = this.#schema;
    for (let position = keyColumnCount; position < columns.length; position++) {
      row.push(given[position - keyColumnCount + this.#givenCount]);
    }
    return row;
  }

  static of(schema: TableSchema): ComputedColumns | undefined {
    return schema.columns.some(({ expression }) => expression !== undefined)
      ? new ComputedColumns(schema)
      : undefined;
  }
}
