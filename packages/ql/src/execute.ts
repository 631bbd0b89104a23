/**
 * Runs a plan over a source of rows: filter, group, order, cut, hand out. Rows are handed out as they are
 * found; what is kept in memory is only the groups, or the OFFSET + LIMIT first rows of an order.
 *
 * Specified in: yt/yt/library/query/engine (evaluator, cg_routines); limits: yt/yt/client/api/client_impl.
 */
import { YtError } from "@qyt/base";
import { type RowValue, rowValuesWeight } from "@qyt/schema";
import { Groups } from "./groups.ts";
import type { KeyRange } from "./key-ranges.ts";
import type { Plan, Program } from "./plan.ts";
import { emptyStatistics, type QueryStatistics } from "./statistics.ts";
import { TopRows } from "./top-rows.ts";
import { detach } from "./values.ts";

/** Where the rows come from. */
export interface RowSource {
  /**
   * Rows with keys in the ranges, in key order, in batches; the values stand as the columns do in `columns`.
   * The iterator is closed early when no more rows are needed.
   */
  scan(
    ranges: readonly KeyRange[],
    columns: readonly number[],
  ): AsyncIterable<readonly (readonly RowValue[])[]>;
}

/** Takes a result row; the row may be kept. A promise holds the query back. */
export type RowSink = (row: readonly RowValue[]) => void | Promise<void>;

/**
 * Runs a query.
 *
 * @throws YtError 1709 or 1710 when a row limit is exceeded (unless `failOnIncompleteResult` is off; rows
 * may have been handed out already), 2 when the signal aborts, and what expressions raise
 */
export async function executeQuery(
  plan: Plan,
  source: RowSource,
  sink: RowSink,
  signal?: AbortSignal,
): Promise<QueryStatistics> {
  return await new Execution(plan, sink, signal).run(source);
}

class Execution {
  readonly #plan: Plan;
  readonly #program: Program;
  readonly #sink: RowSink;
  readonly #signal: AbortSignal | undefined;
  readonly #statistics = emptyStatistics();
  readonly #groups: Groups | undefined;
  readonly #top: TopRows | undefined;
  #skipped = 0;

  constructor(plan: Plan, sink: RowSink, signal: AbortSignal | undefined) {
    this.#plan = plan;
    this.#program = plan.program;
    this.#sink = sink;
    this.#signal = signal;
    const { grouping, orderBy, offset, limit = 0 } = plan.program;
    this.#groups = grouping === undefined ? undefined : new Groups(grouping);
    this.#top = orderBy.length === 0 ? undefined : new TopRows(offset + limit, orderBy);
  }

  async run(source: RowSource): Promise<QueryStatistics> {
    if (this.#program.limit !== 0 && this.#plan.ranges.length > 0) {
      await this.#scan(source);
    }
    if (this.#groups !== undefined) {
      await this.#finishGroups(this.#groups);
    }
    if (this.#top !== undefined) {
      for (const row of this.#top.drain()) {
        if (!(await this.#emit(row))) {
          break;
        }
      }
    }
    return this.#statistics;
  }

  async #scan(source: RowSource): Promise<void> {
    this.#checkAborted();
    for await (const batch of source.scan(this.#plan.ranges, this.#plan.readColumns)) {
      this.#checkAborted();
      for (const row of batch) {
        const more = this.#accept(row);
        if (!(typeof more === "boolean" ? more : await more)) {
          return;
        }
      }
    }
  }

  #checkAborted(): void {
    if (this.#signal?.aborted) {
      const { reason } = this.#signal;
      throw reason instanceof YtError ? reason : new YtError("Query was canceled", { code: "Canceled" });
    }
  }

  /** Takes a row of the table; false when no more rows are needed. */
  #accept(row: readonly RowValue[]): boolean | Promise<boolean> {
    const statistics = this.#statistics;
    const { options, where } = this.#program;
    if (statistics.rowsRead >= options.inputRowLimit) {
      statistics.incompleteInput = true;
      if (options.failOnIncompleteResult) {
        throw inputLimitExceeded(options.inputRowLimit);
      }
      return false;
    }
    statistics.rowsRead += 1;
    statistics.dataWeightRead += rowValuesWeight(row);
    if (where !== undefined && where(row) !== true) {
      return true;
    }
    if (this.#groups !== undefined) {
      return this.#group(this.#groups, row);
    }
    return this.#output(row);
  }

  #group(groups: Groups, row: readonly RowValue[]): boolean {
    const { options, limit, offset, grouping, orderBy } = this.#program;
    this.#statistics.groupedRowCount += 1;
    // Without an order any LIMIT groups do, so further groups need not be kept.
    const enough =
      limit === undefined || orderBy.length > 0 || grouping?.having !== undefined ? Infinity : offset + limit;
    if (groups.add(row, Math.min(enough, options.outputRowLimit)) || enough <= options.outputRowLimit) {
      return true;
    }
    this.#reportIncompleteOutput();
    return false;
  }

  async #finishGroups(groups: Groups): Promise<void> {
    const having = this.#program.grouping?.having;
    for (const row of groups.rows()) {
      if (having !== undefined && having(row) !== true) {
        continue;
      }
      const more = this.#output(row);
      if (!(typeof more === "boolean" ? more : await more)) {
        return;
      }
    }
  }

  /** A row that passed all filters: to the order, or out. */
  #output(row: readonly RowValue[]): boolean | Promise<boolean> {
    const { select, orderBy } = this.#program;
    if (this.#top === undefined) {
      return this.#skips() || this.#emit(select.map((item) => item(row)));
    }
    const keys = orderBy.map((item) => item.evaluate(row));
    this.#top.offer(keys, () => ({
      keys: keys.map(detach),
      row: select.map((item) => detach(item(row))),
    }));
    return true;
  }

  #skips(): boolean {
    if (this.#skipped >= this.#program.offset) {
      return false;
    }
    this.#skipped += 1;
    return true;
  }

  /** Hands a result row out; false when it was the last. */
  #emit(row: readonly RowValue[]): boolean | Promise<boolean> {
    const { options, limit = Infinity } = this.#program;
    if (this.#top !== undefined && this.#skips()) {
      return true;
    }
    if (this.#statistics.rowsWritten >= options.outputRowLimit) {
      this.#reportIncompleteOutput();
      return false;
    }
    this.#statistics.rowsWritten += 1;
    const more = this.#statistics.rowsWritten < limit;
    const pending = this.#sink(row);
    return pending === undefined ? more : pending.then(() => more);
  }

  #reportIncompleteOutput(): void {
    const { outputRowLimit, failOnIncompleteResult } = this.#program.options;
    this.#statistics.incompleteOutput = true;
    if (failOnIncompleteResult) {
      throw new YtError(
        "Query terminated prematurely due to excessive output; consider rewriting your query or changing output limit",
        {
          code: "QueryOutputRowCountLimitExceeded",
          attributes: { output_row_limit: BigInt(outputRowLimit) },
        },
      );
    }
  }
}

function inputLimitExceeded(limit: number): YtError {
  return new YtError(
    "Query terminated prematurely due to excessive input; consider rewriting your query or changing input limit",
    { code: "QueryInputRowCountLimitExceeded", attributes: { input_row_limit: BigInt(limit) } },
  );
}
