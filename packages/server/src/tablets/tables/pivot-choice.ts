/** Pivot keys that the cluster chooses when a sorted table is to have so many tablets. */
import { turn, YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { Cell } from "../../cell/index.ts";
import { firstRowKey, rowKeyOf, type SortedRows, storedKey } from "../sorted/index.ts";

/** Where the tablets that are to be divided begin and end, encoded. */
export interface KeySpan {
  readonly lower: Buffer;
  /** Undefined: to the end of the table. */
  readonly upper: Buffer | undefined;
}

const maxSamples = 16_384;
const recordsPerTurn = 2_000;

/**
 * Pivot keys that divide the rows evenly, the span's own first. Fewer where there are fewer rows. Goes
 * through all rows, in turns.
 */
export async function choosePivotsByRows(
  cell: Cell,
  rows: SortedRows,
  span: KeySpan,
  count: number,
): Promise<Buffer[]> {
  let samples: Buffer[] = [];
  let stride = 1;
  let rowCount = 0;
  let last: Buffer | undefined;
  let position: Buffer | undefined = storedKey(rows.range, span.lower);
  const to = span.upper === undefined ? rows.range.to : storedKey(rows.range, span.upper);
  while (position !== undefined) {
    let next: Buffer | undefined;
    for (const { key: stored } of cell.range(position, to, { limit: recordsPerTurn, keysOnly: true })) {
      next = Buffer.concat([stored, Buffer.of(0)]);
      const key = rowKeyOf(stored);
      if (last?.equals(key) === true) {
        continue;
      }
      last = Buffer.from(key);
      if (rowCount++ % stride === 0) {
        samples.push(last);
      }
    }
    if (samples.length >= maxSamples) {
      samples = samples.filter((_, index) => index % 2 === 0);
      stride *= 2;
    }
    position = next;
    await turn();
  }
  const pivots = [span.lower];
  for (let index = 1; index < count; index++) {
    const sample = samples[Math.floor((index * samples.length) / count)];
    // Without the end of the key: a pivot may be shorter than a key.
    const pivot = sample?.subarray(0, -1);
    if (pivot !== undefined && Buffer.compare(pivot, pivots.at(-1) ?? span.lower) > 0) {
      pivots.push(pivot);
    }
  }
  return pivots;
}

/**
 * Pivot keys that divide the values of the first key column evenly.
 * @throws YtError unless that is an integer, or for more tablets than there are values
 */
export function chooseUniformPivots(
  types: readonly PhysicalType[],
  first: { readonly lower: RowValue | undefined; readonly upper: RowValue | undefined },
  lowerPivot: Buffer,
  count: number,
): Buffer[] {
  const [type] = types;
  if (type !== "int64" && type !== "uint64") {
    throw new YtError('Uniform resharding needs a first key column of type "int64" or "uint64"');
  }
  const least = type === "int64" ? -(1n << 63n) : 0n;
  const from = typeof first.lower === "bigint" ? first.lower : least;
  const to = typeof first.upper === "bigint" ? first.upper : least + (1n << 64n);
  if (to - from < BigInt(count)) {
    throw new YtError(`Range is too small for ${count} tablets`);
  }
  const pivots = [lowerPivot];
  for (let index = 1; index < count; index++) {
    pivots.push(firstRowKey([from + ((to - from) * BigInt(index)) / BigInt(count)], types));
  }
  return pivots;
}
