/** What a consumer's row says of the queue around its offset: the table of the specification. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { metaOf } from "./offsets.ts";
import type { QueueRowInfo } from "./queue-rows.ts";

/** Rows [trimmed, total) of a queue whose rows weigh 20 bytes each. */
function queueRows(trimmed: number, total: number): Map<bigint, QueueRowInfo> {
  const rows = new Map<bigint, QueueRowInfo>();
  for (let row = trimmed; row < total; row++) {
    rows.set(BigInt(row), { timestamp: 1000n + BigInt(row), cumulativeDataWeight: 20n * BigInt(row + 1) });
  }
  return rows;
}

test.each([
  [3n, { cumulativeDataWeight: 60n, offsetTimestamp: 1003n }],
  [5n, { cumulativeDataWeight: 100n, offsetTimestamp: 1005n }],
  [6n, { cumulativeDataWeight: 120n, offsetTimestamp: undefined }],
  [7n, undefined],
  [0n, { cumulativeDataWeight: undefined, offsetTimestamp: 1000n }],
])("of six rows, at offset %d", (offset, meta) => {
  expect(metaOf(queueRows(0, 6), offset)).toEqual(meta);
});

test("rows without the columns leave both values out, but not the whole", () => {
  expect(metaOf(new Map([[2n, {}]]), 2n)).toEqual({
    cumulativeDataWeight: undefined,
    offsetTimestamp: undefined,
  });
});

test("each value is known exactly when its row is there", () => {
  fc.assert(
    fc.property(fc.nat(9), fc.nat(9), fc.nat(12), (trimmed, count, offset) => {
      const total = trimmed + count;
      const meta = metaOf(queueRows(trimmed, total), BigInt(offset));
      const isThere = (row: number): boolean => row >= trimmed && row < total;
      expect(meta !== undefined).toBe(isThere(offset) || isThere(offset - 1));
      expect(meta?.cumulativeDataWeight).toBe(isThere(offset - 1) ? 20n * BigInt(offset) : undefined);
      expect(meta?.offsetTimestamp).toBe(isThere(offset) ? 1000n + BigInt(offset) : undefined);
    }),
  );
});
