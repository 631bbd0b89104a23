/** The frames of snappy and LZ4: what others have written, what comes back, and what is damaged. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lz4Compress, lz4Decompress } from "./lz4.ts";
import { snappyCompress, snappyContentLength, snappyDecompress } from "./snappy.ts";

const codecs = {
  snappy: { compress: snappyCompress, decompress: (frame: Buffer) => snappyDecompress(frame) },
  lz4: { compress: lz4Compress, decompress: lz4Decompress },
} as const;

/** Contents that repeat themselves near and far, and some that do not. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.tuple(fc.constantFrom("queue", "tablet;", "a", "\0\u0001\u0002"), fc.nat(90)), {
      maxLength: 60,
    })
    .map((parts) => Buffer.from(parts.map(([text, count]) => text.repeat(count)).join(""))),
);

describe.each(Object.entries(codecs))("%s", (_, { compress, decompress }) => {
  it("gives back what was compressed", () => {
    fc.assert(
      fc.property(contents, (content) => {
        expect(decompress(compress(content), content.length).equals(content)).toBe(true);
      }),
    );
  });

  it("makes rows smaller, and nothing much larger", () => {
    const rows = Buffer.from(
      Array.from({ length: 5_000 }, (_, key) => `{"key":${key},"value":"v"}`).join("\n"),
    );
    expect(compress(rows).length).toBeLessThan(rows.length / 2);
    const far = Buffer.concat([Buffer.from("far away"), Buffer.alloc(70_000, "x"), Buffer.from("far away")]);
    expect(decompress(compress(far), far.length).equals(far)).toBe(true);
    let seed = 1;
    const noise = Buffer.from(
      Uint8Array.from({ length: 100_000 }, () => {
        seed = Math.imul(seed, 1_103_515_245) + 12_345;
        return seed >>> 24;
      }),
    );
    expect(compress(noise).length).toBeLessThan(noise.length * 1.01);
    expect(decompress(compress(noise), noise.length).equals(noise)).toBe(true);
  });

  it("refuses damaged frames without reading or writing beyond", () => {
    fc.assert(
      fc.property(
        contents,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        (content, damages) => {
          const frame = Buffer.from(compress(content));
          for (const [at, byte] of damages) {
            frame[at % frame.length] = byte;
          }
          try {
            // A length that was damaged is checked by who calls.
            if (decompress !== codecs.snappy.decompress || snappyContentLength(frame) <= content.length) {
              decompress(frame, content.length);
            }
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        },
      ),
    );
  });
});

describe("frames of others", () => {
  it("snappy with one, two and four byte offsets, and long literals", () => {
    // Literal "abcd", a copy of 4 from offset 4 in each of the three forms.
    const copies = Buffer.from("10 0c 61626364 01 04 0e 0400 0f 04000000".replaceAll(" ", ""), "hex");
    expect(snappyDecompress(copies).toString()).toBe("abcdabcdabcdabcd");
    const long = Buffer.concat([Buffer.from("4a" + "f049", "hex"), Buffer.alloc(74, "z")]);
    expect(snappyDecompress(long).toString()).toBe("z".repeat(74));
    expect(snappyCompress(Buffer.alloc(0))).toEqual(Buffer.from([0]));
  });

  it("LZ4 with a copy that overlaps itself", () => {
    // Literal "a", a copy of 10 from offset 1, the last five literals.
    const block = Buffer.from("16 61 0100 50 6263646566".replaceAll(" ", ""), "hex");
    expect(lz4Decompress(block, 16).toString()).toBe("aaaaaaaaaaabcdef");
    expect(lz4Decompress(Buffer.from([0]), 0)).toHaveLength(0);
  });
});
