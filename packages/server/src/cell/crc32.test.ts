/** The sum that records are checked with. */
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { crc32Of } from "./crc32.ts";

test("is that of zlib, for any part of a buffer behind any other", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 700 }),
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(20),
      (tail, head, offset) => {
        const bytes = Buffer.concat([Buffer.alloc(offset, 0x5a), head, tail, Buffer.from("behind")]);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        const middle = offset + head.length;
        const before = crc32Of(bytes, view, offset, middle);
        expect(before).toBe(crc32(head));
        expect(crc32Of(bytes, view, middle, middle + tail.length, before)).toBe(
          crc32(Buffer.concat([head, tail])),
        );
      },
    ),
  );
});
