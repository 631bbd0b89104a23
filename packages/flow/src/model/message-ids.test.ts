import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UniqueSeqNo } from "./message.ts";
import { encodeLexicographically, inheritedMessageId, messageId, orderedMessageId } from "./message-ids.ts";

const int64 = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n });

describe("ids of messages", () => {
  it("[flow 13] integers are written so that the texts sort like the numbers", () => {
    const known: [bigint, string][] = [
      [0n, "00"],
      [5n, "05"],
      [15n, "0f"],
      [16n, "110"],
      [255n, "1ff"],
      [1000n, "23e8"],
      [(1n << 63n) - 1n, "f7fffffffffffffff"],
      [-1n, "-fe"],
      [-16n, "-eef"],
    ];
    for (const [value, text] of known) {
      expect(encodeLexicographically(value)).toBe(text);
    }
    fc.assert(
      fc.property(int64, int64, (left, right) => {
        const [a, b] = [encodeLexicographically(left), encodeLexicographically(right)];
        expect(a < b).toBe(left < right);
        expect(a === b).toBe(left === right);
      }),
    );
  });

  it("[flow 14] an offset's first message has the sequence number, the stream, the offset and an index", () => {
    const seqNo = 1865777451725072279n as UniqueSeqNo;
    expect(orderedMessageId(seqNo, "queue", 5n, 0)).toBe("19e492b50001a797-queue:05:00");
  });

  it("[flow 15] an inherited id is the parent's with the stream and the place among its outputs", () => {
    expect(inheritedMessageId(messageId("P"), "out", 1)).toBe("P-out:01");
  });
});
