/**
 * Which column a name means when several tables are in view. A name with a table means that table's column;
 * a bare name the column of a table without alias, the first of them, or else the only column of that name.
 *
 * Specified in: yt/yt/library/query/base/query_preparer.cpp (references).
 */
import { YtError } from "@qyt/base";
import type { NamedColumn } from "./check-context.ts";

export class ColumnNames {
  readonly #bare = new Map<string, number>();
  readonly #aliased = new Map<string, Map<string, number>>();

  constructor(columns: readonly NamedColumn[]) {
    for (const [index, { name, table }] of columns.entries()) {
      if (table === undefined) {
        if (!this.#bare.has(name)) {
          this.#bare.set(name, index);
        }
        continue;
      }
      const known = this.#aliased.get(name);
      if (known === undefined) {
        this.#aliased.set(name, new Map([[table, index]]));
      } else {
        known.set(table, index);
      }
    }
  }

  /** Position of the column. @throws YtError for a bare name that several tables have */
  find(table: string | undefined, name: string): number | undefined {
    const tables = this.#aliased.get(name);
    if (table !== undefined) {
      return tables?.get(table);
    }
    const bare = this.#bare.get(name);
    if (bare !== undefined || tables === undefined) {
      return bare;
    }
    const [[first, index] = ["", undefined], second] = tables;
    if (second !== undefined) {
      throw new YtError(
        `Column "${name}" is in more than one table of the query: write "${first}.${name}" or "${second[0]}.${name}"`,
      );
    }
    return index;
  }
}
