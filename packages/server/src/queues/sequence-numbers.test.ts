/** Numbering against the rule said row by row, and what a session may rely on. */
import { toYtError, YtError } from "@qyt/base";
import { EncodedRows } from "@qyt/schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type NumberedRows, numberRows } from "./sequence-numbers.ts";

/** Rows of no content with the given numbers, `undefined` for none. */
function rowsWith(numbers: readonly (bigint | undefined)[]): EncodedRows {
  const rowCount = numbers.length;
  const hasNumbers = numbers.some((number) => number !== undefined);
  return new EncodedRows({
    rowCount,
    bytes: Buffer.alloc(0),
    ends: new Uint32Array(rowCount),
    weights: new Uint32Array(rowCount).fill(1),
    ...(hasNumbers
      ? {
          sequenceNumbers: BigInt64Array.from(numbers, (number) => number ?? 0n),
          hasSequenceNumber: Uint8Array.from(numbers, (number) => (number === undefined ? 0 : 1)),
        }
      : {}),
  });
}

type Outcome = NumberedRows | { readonly message: string; readonly row: number };

/** The steps of the specification, one row after the other. */
function expected(
  numbers: readonly (bigint | undefined)[],
  initial: bigint | undefined,
  written: bigint,
): Outcome {
  let previous = -1n;
  let skippedRowCount = 0;
  for (const [row, own] of numbers.entries()) {
    if (own !== undefined && initial !== undefined) {
      return { message: "Only one of explicit", row };
    }
    if (own !== undefined && own < 0n) {
      return { message: `Sequence number ${own} cannot be negative`, row };
    }
    const number = own ?? (initial === undefined ? undefined : initial + BigInt(row));
    if (number === undefined) {
      return { message: "There is no $sequence_number in the row", row };
    }
    if (number <= previous) {
      return { message: `Sequence numbers are not strongly monotonic: ${number} <= ${previous}`, row };
    }
    previous = number;
    skippedRowCount += number <= written ? 1 : 0;
  }
  return { skippedRowCount, last: numbers.length === 0 ? undefined : previous };
}

function outcome(
  numbers: readonly (bigint | undefined)[],
  initial: bigint | undefined,
  written: bigint,
): Outcome {
  try {
    return numberRows(rowsWith(numbers), initial, written);
  } catch (thrown) {
    const error = toYtError(thrown);
    expect(error.code).toBe(3103);
    const row = error.attributes.get("row_index");
    return { message: error.message, row: typeof row === "bigint" ? Number(row) : -1 };
  }
}

/** Near each other, so that repeats happen, and near the ends of both halves of 64 bits. */
const number = fc.oneof(
  fc.bigInt({ min: -2n, max: 12n }),
  fc.bigInt({ min: (1n << 31n) - 3n, max: (1n << 31n) + 3n }),
  fc.bigInt({ min: (1n << 32n) - 3n, max: (1n << 32n) + 3n }),
  fc.bigInt({ min: (1n << 53n) - 3n, max: (1n << 53n) + 3n }),
  fc.bigInt({ min: (1n << 63n) - 20n, max: (1n << 63n) - 1n }),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
);
const increasing = fc
  .uniqueArray(number, { maxLength: 12 })
  .map((list) => list.filter((item) => item >= 0n).sort((a, b) => (a < b ? -1 : 1)));
const anyNumbers = fc.oneof(
  increasing,
  fc.array(fc.option(number, { nil: undefined }), { maxLength: 6 }),
  fc.array(fc.constant(undefined), { maxLength: 12 }),
);

test("numbers are given and refused as the specification says, row by row", () => {
  fc.assert(
    fc.property(anyNumbers, fc.option(number, { nil: undefined }), number, (numbers, initial, written) => {
      fc.pre(initial === undefined || initial + BigInt(numbers.length) < 1n << 63n);
      const wanted = expected(numbers, initial, written);
      const found = outcome(numbers, initial, written);
      if ("message" in wanted) {
        expect(found).toMatchObject({ row: wanted.row, message: expect.stringContaining(wanted.message) });
      } else {
        expect(found).toEqual(wanted);
      }
    }),
    { numRuns: 2000 },
  );
});

test("skipped rows are a prefix, and the stored number never goes down", () => {
  fc.assert(
    fc.property(fc.array(increasing, { maxLength: 8 }), (pushes) => {
      let stored = -1n;
      const written: bigint[] = [];
      for (const numbers of pushes) {
        const { skippedRowCount, last } = numberRows(rowsWith(numbers), undefined, stored);
        expect(numbers.slice(0, skippedRowCount).every((item) => item <= stored)).toBe(true);
        expect(numbers.slice(skippedRowCount).every((item) => item > stored)).toBe(true);
        written.push(...numbers.slice(skippedRowCount));
        const reached = last !== undefined && last > stored ? last : stored;
        expect(reached >= stored).toBe(true);
        stored = reached;
      }
      // No number twice, and in order: nothing is written that was written before.
      expect(written).toEqual([...new Set(written)].sort((a, b) => (a < b ? -1 : 1)));
    }),
    { numRuns: 500 },
  );
});

test("numbers from the option may not leave 64 bits", () => {
  const max = (1n << 63n) - 1n;
  expect(numberRows(rowsWith([undefined]), max, max - 1n)).toEqual({ skippedRowCount: 0, last: max });
  expect(() => numberRows(rowsWith([undefined, undefined]), max, -1n)).toThrow(YtError);
});

test("rows of a slice are numbered by their own numbers", () => {
  const rows = rowsWith([1n, 5n, 5n, 7n]).slice(2, 4);
  expect(numberRows(rows, undefined, 5n)).toEqual({ skippedRowCount: 1, last: 7n });
});
