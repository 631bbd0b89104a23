/**
 * Rows of one table and those of another that belong to them. The other table is read by ranges of its key,
 * for some rows at a time; what is kept of it is bounded: where more belongs to the rows than may be kept,
 * fewer rows are joined at a time, and one row alone streams.
 *
 * Specified in: yt/yt/library/query/engine (cg_routines, join).
 */
import { turn } from "@qyt/base";
import { type RowValue, rowValuesWeight } from "@qyt/schema";
import { compareTuples } from "./compare.ts";
import { identityOf } from "./groups.ts";
import type { JoinPlan } from "./join-plan.ts";
import type { KeyRange } from "./key-ranges.ts";
import type { RowSource } from "./row-source.ts";
import { detach } from "./values.ts";

type Row = readonly RowValue[];

/** Of the other table's rows, kept at a time. */
export interface JoinBounds {
  readonly rows: number;
  readonly bytes: number;
}

export const joinBounds: JoinBounds = { rows: 50_000, bytes: 32 * 1024 * 1024 };
/** Joined rows are handed on by so many. */
const chunkRows = 500;

export interface JoinRun {
  readonly source: RowSource;
  /** Counts a row of the other table that is read; false when no more may be. */
  readonly count: (row: Row) => boolean;
  /** @throws YtError when nobody waits for the result any more */
  readonly checkAborted: () => void;
  /** Whether null is equal to null. */
  readonly nullsMatch: boolean;
  readonly bounds: JoinBounds;
}

interface Wanted {
  readonly keys: Row;
  matches: Row[];
}

/** Joined rows in the order of `rows`, by some. Ends early when the rows that may be read are used up. */
export async function* joinRows(
  join: JoinPlan,
  rows: readonly Row[],
  run: JoinRun,
): AsyncGenerator<readonly Row[]> {
  const wanted = new Map<unknown, Wanted>();
  const ids = rows.map((row) => want(wanted, join, row, run.nullsMatch));
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) {
    yield* joinOne(join, only, wanted, run);
    return;
  }
  const found = await collect(join, wanted, run);
  if (found === "ended") {
    return;
  }
  if (found === "too many") {
    const half = rows.length >>> 1;
    wanted.clear();
    yield* joinRows(join, rows.slice(0, half), run);
    yield* joinRows(join, rows.slice(half), run);
    return;
  }
  let chunk: Row[] = [];
  for (const [index, row] of rows.entries()) {
    const matches = wanted.get(ids[index])?.matches ?? [];
    for (const match of matches) {
      chunk.push([...row, ...match]);
      if (chunk.length >= chunkRows) {
        yield chunk;
        chunk = [];
        await turn();
      }
    }
    if (matches.length === 0 && join.isLeft) {
      chunk.push(withNulls(join, row));
    }
  }
  if (chunk.length > 0) {
    yield chunk;
  }
}

/** Streams what belongs to one row. */
async function* joinOne(
  join: JoinPlan,
  row: Row,
  wanted: ReadonlyMap<unknown, Wanted>,
  run: JoinRun,
): AsyncGenerator<readonly Row[]> {
  let isMatched = false;
  if (wanted.size > 0) {
    for await (const batch of run.source.scan(rangesOf(join, wanted), join.readColumns)) {
      run.checkAborted();
      const chunk: Row[] = [];
      for (const other of batch) {
        if (!run.count(other)) {
          return;
        }
        if (passes(join, other) && wanted.has(foreignIdOf(join, other))) {
          chunk.push([...row, ...other]);
        }
      }
      if (chunk.length > 0) {
        isMatched = true;
        yield chunk;
      }
    }
  }
  if (!isMatched && join.isLeft) {
    yield [withNulls(join, row)];
  }
}

/** Fills in what belongs to the keys. */
async function collect(
  join: JoinPlan,
  wanted: ReadonlyMap<unknown, Wanted>,
  run: JoinRun,
): Promise<"all" | "too many" | "ended"> {
  if (wanted.size === 0) {
    return "all";
  }
  let rows = 0;
  let bytes = 0;
  for await (const batch of run.source.scan(rangesOf(join, wanted), join.readColumns)) {
    run.checkAborted();
    for (const other of batch) {
      if (!run.count(other)) {
        return "ended";
      }
      if (!passes(join, other)) {
        continue;
      }
      const entry = wanted.get(foreignIdOf(join, other));
      if (entry === undefined) {
        continue;
      }
      rows += 1;
      bytes += rowValuesWeight(other);
      if (rows > run.bounds.rows || bytes > run.bounds.bytes) {
        return "too many";
      }
      entry.matches.push(other.map(detach));
    }
  }
  return "all";
}

/** Notes down what a row is to be joined with; undefined when that can be nothing. */
function want(wanted: Map<unknown, Wanted>, join: JoinPlan, row: Row, nullsMatch: boolean): unknown {
  const keys = join.selfKeys.map((key) => key(row));
  // NaN is equal to nothing, and no key.
  if (keys.some((key) => (key === null && !nullsMatch) || Number.isNaN(key))) {
    return undefined;
  }
  const id = identityOf(keys);
  if (!wanted.has(id)) {
    wanted.set(id, { keys, matches: [] });
  }
  return id;
}

function foreignIdOf(join: JoinPlan, row: Row): unknown {
  return identityOf(join.foreignKeys.map((key) => key(row)));
}

function passes(join: JoinPlan, row: Row): boolean {
  return join.predicate === undefined || join.predicate(row) === true;
}

function withNulls(join: JoinPlan, row: Row): Row {
  return [...row, ...join.readColumns.map(() => null)];
}

/** Sorted and disjoint ranges of the other table's key that hold all wanted rows. */
function rangesOf(join: JoinPlan, wanted: ReadonlyMap<unknown, Wanted>): readonly KeyRange[] {
  const { keyParts, keyTypes } = join;
  if (keyParts.length === 0) {
    return join.ranges;
  }
  const prefixes = [...wanted.values()].map(({ keys }) => keyParts.map((part) => part(keys)));
  prefixes.sort((left, right) => compareTuples(left, right, keyTypes));
  const ranges: KeyRange[] = [];
  let last: Row | undefined;
  for (const values of prefixes) {
    if (last === undefined || compareTuples(last, values, keyTypes) !== 0) {
      ranges.push({ lower: { values, inclusive: true }, upper: { values, inclusive: true } });
      last = values;
    }
  }
  return ranges;
}
