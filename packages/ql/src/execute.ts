/**
 * Runs a plan over a source of rows: filter, group, order, cut, hand out. Rows are handed out as they are
 * found; what is kept in memory is only the groups, or the OFFSET + LIMIT first rows of an order, and where
 * tables are joined some rows of each.
 *
 * Specified in: yt/yt/library/query/engine (evaluator, cg_routines); limits: yt/yt/client/api/client_impl.
 */
import { YtError } from "@qyt/base";
import { type RowValue, rowValuesWeight } from "@qyt/schema";
import { Groups, Totals } from "./groups.ts";
import { joinBounds, joinRows } from "./join-rows.ts";
import type { KeyRange } from "./key-ranges.ts";
import type { Plan, Program } from "./plan.ts";
import type { RowSource, SourceOf } from "./row-source.ts";
import { emptyStatistics, type QueryStatistics } from "./statistics.ts";
import { TopRows } from "./top-rows.ts";
import { detach } from "./values.ts";

/** Takes a result row; the row may be kept. A promise holds the query back. */
export type RowSink = (row: readonly RowValue[]) => void | Promise<void>;

/** Takes a row; whether more are wanted. */
type RowTaker = (row: readonly RowValue[]) => boolean | Promise<boolean>;

/**
 * Runs a query.
 *
 * @param source of the only table, or of each table of the query
 * @throws YtError 1709 or 1710 when a row limit is exceeded (unless `failOnIncompleteResult` is off; rows
 * may have been handed out already), 2 when the signal aborts, and what expressions raise
 */
export async function executeQuery(
  plan: Plan,
  source: RowSource | SourceOf,
  sink: RowSink,
  signal?: AbortSignal,
): Promise<QueryStatistics> {
  const statistics = emptyStatistics();
  const sourceOf = typeof source === "function" ? source : () => source;
  const take: RowTaker = (row) => {
    statistics.rowsWritten += 1;
    const pending = sink(row);
    return pending === undefined ? true : pending.then(() => true);
  };
  await new Execution(
    plan,
    { sourceOf, statistics, signal },
    take,
    plan.program.options.outputRowLimit,
  ).run();
  return statistics;
}

/** What a query and its subqueries share. */
interface Run {
  readonly sourceOf: SourceOf;
  readonly statistics: QueryStatistics;
  readonly signal: AbortSignal | undefined;
}

/** Rows in front of a join that reads keys, and of one that reads all of the other table. */
const joinedRows = { byKey: 200, byScan: 10_000 } as const;

class Execution {
  readonly #plan: Plan;
  readonly #program: Program;
  readonly #run: Run;
  readonly #take: RowTaker;
  readonly #outputLimit: number;
  readonly #statistics: QueryStatistics;
  readonly #groups: Groups | undefined;
  readonly #top: TopRows | undefined;
  /** Rows that wait for the joins. */
  #waiting: (readonly RowValue[])[] = [];
  readonly #maxWaiting: number;
  #totals: Totals | undefined;
  #skipped = 0;
  #emitted = 0;
  /** Nobody wants results any more. */
  #isStopped = false;

  /** @param outputLimit results that may be handed out: of a subquery any number */
  constructor(plan: Plan, run: Run, take: RowTaker, outputLimit: number) {
    this.#plan = plan;
    this.#program = plan.program;
    this.#run = run;
    this.#take = take;
    this.#outputLimit = outputLimit;
    this.#statistics = run.statistics;
    const byKey = plan.joins.every(({ keyParts }) => keyParts.length > 0);
    this.#maxWaiting = byKey ? joinedRows.byKey : joinedRows.byScan;
    const { grouping, orderBy, offset, limit = 0 } = plan.program;
    this.#groups = grouping === undefined ? undefined : new Groups(grouping);
    this.#top = orderBy.length === 0 ? undefined : new TopRows(offset + limit, orderBy);
  }

  async run(): Promise<void> {
    if (this.#program.limit !== 0) {
      await this.#readInput();
    }
    if (this.#groups !== undefined && !(await this.#finishGroups(this.#groups))) {
      return;
    }
    if (this.#top !== undefined) {
      for (const row of this.#top.drain()) {
        if (!(await this.#emit(row))) {
          break;
        }
      }
    }
    await this.#emitTotals();
  }

  async #readInput(): Promise<void> {
    const { subplan, tablePath, ranges, readColumns } = this.#plan;
    const wantsMore = await (subplan === undefined
      ? this.#scan(this.#run.sourceOf(tablePath), ranges, readColumns)
      : this.#runSubquery(subplan, readColumns));
    if (wantsMore && this.#waiting.length > 0) {
      await this.#joinWaiting();
    }
  }

  async #runSubquery(subplan: Plan, columns: readonly number[]): Promise<boolean> {
    let wantsMore = true;
    const note = (more: boolean): boolean => {
      wantsMore = more;
      return more;
    };
    const take: RowTaker = (row) => {
      const more = this.#accept(columns.map((column) => row[column] ?? null));
      return typeof more === "boolean" ? note(more) : more.then(note);
    };
    await new Execution(subplan, this.#run, take, Infinity).run();
    return wantsMore;
  }

  /** Whether more rows are wanted at the end. */
  async #scan(source: RowSource, ranges: readonly KeyRange[], columns: readonly number[]): Promise<boolean> {
    this.#checkAborted();
    if (ranges.length === 0) {
      return true;
    }
    for await (const batch of source.scan(ranges, columns)) {
      this.#checkAborted();
      for (const row of batch) {
        const more = this.#count(row) && this.#accept(row);
        if (!(typeof more === "boolean" ? more : await more)) {
          return false;
        }
      }
    }
    return true;
  }

  /** Brings the waiting rows through all joins. */
  async #joinWaiting(): Promise<boolean> {
    const rows = this.#waiting;
    this.#waiting = [];
    return await this.#join(0, rows);
  }

  async #join(level: number, rows: readonly (readonly RowValue[])[]): Promise<boolean> {
    const join = this.#plan.joins[level];
    if (join === undefined) {
      for (const row of rows) {
        const more = this.#filter(row);
        if (!(typeof more === "boolean" ? more : await more)) {
          return false;
        }
      }
      return true;
    }
    const run = {
      source: this.#run.sourceOf(join.tablePath),
      count: (row: readonly RowValue[]) => this.#count(row),
      checkAborted: () => this.#checkAborted(),
      nullsMatch: !this.#program.options.useCanonicalNullRelations,
      bounds: joinBounds,
    };
    for await (const chunk of joinRows(join, rows, run)) {
      this.#checkAborted();
      if (!(await this.#join(level + 1, chunk))) {
        return false;
      }
    }
    return !this.#statistics.incompleteInput;
  }

  #checkAborted(): void {
    const { signal } = this.#run;
    if (signal?.aborted) {
      const { reason } = signal;
      throw reason instanceof YtError ? reason : new YtError("Query was canceled", { code: "Canceled" });
    }
  }

  /** Counts a row that was read; false when no more may be read. */
  #count(row: readonly RowValue[]): boolean {
    const statistics = this.#statistics;
    const { options } = this.#program;
    if (statistics.rowsRead >= options.inputRowLimit) {
      statistics.incompleteInput = true;
      if (options.failOnIncompleteResult) {
        throw inputLimitExceeded(options.inputRowLimit);
      }
      return false;
    }
    statistics.rowsRead += 1;
    statistics.dataWeightRead += rowValuesWeight(row);
    return true;
  }

  /** Takes a row of the first table; false when no more rows are needed. */
  #accept(row: readonly RowValue[]): boolean | Promise<boolean> {
    const { prefilter } = this.#program;
    if (this.#plan.joins.length === 0) {
      return this.#filter(row);
    }
    if (prefilter !== undefined && prefilter(row) !== true) {
      return true;
    }
    this.#waiting.push(row.map(detach));
    return this.#waiting.length < this.#maxWaiting || this.#joinWaiting();
  }

  /** Takes a row as the joins make it; false when no more rows are needed. */
  #filter(row: readonly RowValue[]): boolean | Promise<boolean> {
    const { where } = this.#program;
    if (where !== undefined && where(row) !== true) {
      return true;
    }
    return this.#groups === undefined ? this.#output(row) : this.#group(this.#groups, row);
  }

  #group(groups: Groups, row: readonly RowValue[]): boolean {
    const { options, limit, offset, grouping, orderBy } = this.#program;
    this.#statistics.groupedRowCount += 1;
    // Without an order any LIMIT groups do, so further groups need not be kept; totals want them all.
    const anyDo = orderBy.length === 0 && grouping?.having === undefined && grouping?.totals === "none";
    const enough = limit === undefined || !anyDo ? Infinity : offset + limit;
    if (groups.add(row, Math.min(enough, options.outputRowLimit)) || enough <= options.outputRowLimit) {
      return true;
    }
    this.#reportIncompleteOutput();
    return false;
  }

  /** Whether more results are wanted. */
  async #finishGroups(groups: Groups): Promise<boolean> {
    const { grouping } = this.#program;
    const { having, totals = "none" } = grouping ?? {};
    if (grouping !== undefined && totals !== "none") {
      this.#totals = new Totals(grouping);
    }
    let isFull = false;
    for (const { row, states } of groups.rows()) {
      if (totals === "before having") {
        this.#totals?.add(states);
      }
      if (having !== undefined && having(row) !== true) {
        continue;
      }
      if (totals === "after having") {
        this.#totals?.add(states);
      }
      if (!isFull) {
        const more = this.#output(row);
        isFull = !(typeof more === "boolean" ? more : await more);
      }
      if (isFull && this.#totals === undefined) {
        return false;
      }
    }
    return true;
  }

  /** The row of WITH TOTALS comes last and counts towards no LIMIT. */
  async #emitTotals(): Promise<void> {
    const row = this.#totals?.row();
    if (row !== undefined && !this.#isStopped) {
      await this.#take(this.#program.select.map((item) => item(row)));
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
    const { limit = Infinity } = this.#program;
    if (this.#top !== undefined && this.#skips()) {
      return true;
    }
    if (this.#emitted >= this.#outputLimit) {
      this.#reportIncompleteOutput();
      return false;
    }
    this.#emitted += 1;
    const isLast = this.#emitted >= limit;
    const more = this.#take(row);
    if (typeof more === "boolean") {
      this.#isStopped ||= !more;
      return more && !isLast;
    }
    return more.then((wanted) => {
      this.#isStopped ||= !wanted;
      return wanted && !isLast;
    });
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
