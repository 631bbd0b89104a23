/** Where an offset stands: the four cases, and what they say together whatever the numbers. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { dispositionOf, nextReadableRow, readableRowCount } from "./disposition.ts";

test("[queue-agent 27] three rows of which one is trimmed", () => {
  const range = { lowerRowIndex: 1n, upperRowIndex: 3n };
  const seen = [0n, 1n, 2n, 3n, 4n].map((offset) => [
    dispositionOf(offset, range),
    nextReadableRow(offset, range),
    readableRowCount(offset, range),
  ]);
  expect(seen).toEqual([
    ["expired", 1n, 2n],
    ["pending_consumption", 1n, 2n],
    ["pending_consumption", 2n, 1n],
    ["up_to_date", null, 0n],
    ["ahead", null, 0n],
  ]);
});

test("there is a row to read exactly when some are readable, and it is one of those available", () => {
  const index = fc.bigInt({ min: 0n, max: 1n << 62n });
  fc.assert(
    fc.property(index, index, index, (offset, one, other) => {
      const range =
        one < other
          ? { lowerRowIndex: one, upperRowIndex: other }
          : { lowerRowIndex: other, upperRowIndex: one };
      const row = nextReadableRow(offset, range);
      const count = readableRowCount(offset, range);
      const unread = range.upperRowIndex - offset;
      const available = range.upperRowIndex - range.lowerRowIndex;
      expect(row !== null).toBe(count > 0n);
      expect(count <= available && (count <= unread || unread < 0n)).toBe(true);
      if (row !== null) {
        expect(row >= offset && row >= range.lowerRowIndex && row < range.upperRowIndex).toBe(true);
        expect(range.upperRowIndex - row).toBe(count);
      }
      expect(dispositionOf(offset, range)).toBe(
        unread < 0n
          ? "ahead"
          : unread === 0n
            ? "up_to_date"
            : unread <= available
              ? "pending_consumption"
              : "expired",
      );
    }),
  );
});
