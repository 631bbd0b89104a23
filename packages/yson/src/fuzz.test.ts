/** Whatever bytes come, the parsers answer with a value or a `YtError`, and the scanner agrees with the parser. */
import { YtError } from "@qyt/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesToString,
  escapeYPathLiteral,
  jsonOptionsFromAttributes,
  parseFormat,
  parseJson,
  parseJsonStream,
  parseRichPath,
  parseYson,
  parseYsonList,
  parseYsonMap,
  richPathToYson,
  tokenizeYPath,
  writeJson,
  writeYson,
  YsonScanner,
} from "./index.ts";
import { valueArbitrary } from "./testing/arbitraries.ts";

const snippets = [
  "{",
  "}",
  "[",
  "]",
  "<",
  ">",
  "=",
  ";",
  ",",
  ":",
  "#",
  "%true",
  "%nan",
  "-1",
  "18446744073709551616u",
  "1e400",
  '"',
  "\\",
  "\\x",
  "\u0001",
  "\u0002",
  "\u0003",
  "\u0006",
  "$value",
  '"$attributes":',
  "\u0000",
  "//a",
  "(",
  ")",
  "@",
  "&",
  "*",
  "/",
];

const mutation = fc.record({
  at: fc.nat(),
  cut: fc.nat({ max: 6 }),
  put: fc.oneof(
    fc.constantFrom(...snippets).map((s) => Buffer.from(s)),
    fc.uint8Array({ maxLength: 4 }),
  ),
});

function mutate(bytes: Buffer, changes: readonly { at: number; cut: number; put: Uint8Array }[]): Buffer {
  let result = bytes;
  for (const { at, cut, put } of changes) {
    const start = at % (result.length + 1);
    result = Buffer.concat([result.subarray(0, start), put, result.subarray(start + cut)]);
  }
  return result;
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof YtError) {
      return undefined;
    }
    throw error;
  }
}

function parseEverything(bytes: Buffer): void {
  const value = attempt(() => parseYson(bytes));
  const skipped = attempt(() => new YsonScanner().skipValue(bytes, 0, bytes.length));
  if (value !== undefined) {
    expect(skipped).toBeDefined();
    expect(parseYson(writeYson(value, "binary"))).toStrictEqual(value);
  }
  attempt(() => parseYsonList(bytes));
  attempt(() => parseYsonMap(bytes));
  for (const options of [{}, { encodeUtf8: false }, { plain: true, supportInfinity: true }]) {
    attempt(() => parseJson(bytes, options));
    attempt(() => parseJsonStream(bytes, options));
  }
  const text = bytesToString(bytes);
  const rich = attempt(() => parseRichPath(text));
  if (rich !== undefined) {
    expect(parseRichPath(richPathToYson(rich))).toStrictEqual(rich);
  }
  attempt(() => tokenizeYPath(text));
  escapeYPathLiteral(text);
}

test("mutated documents", () => {
  fc.assert(
    fc.property(
      valueArbitrary(),
      fc.constantFrom("text", "pretty", "binary", "json"),
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      (value, form, changes) => {
        const bytes =
          form === "json" || form === undefined
            ? writeJson(value, { stringifyNanAndInfinity: true })
            : writeYson(value, form === "text" ? "text" : form === "pretty" ? "pretty" : "binary");
        parseEverything(mutate(bytes, changes));
      },
    ),
    { numRuns: 1500 },
  );
});

test("mutated paths", () => {
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (changes) => {
      parseEverything(
        mutate(Buffer.from("<append=%true>pythia://tmp/t&/@x\\x41{a,b}[#1:#5,(a,1.5,#):b]"), changes),
      );
    }),
    { numRuns: 1500 },
  );
});

test("random bytes and random snippets", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => parseEverything(Buffer.from(bytes))),
    { numRuns: 1500 },
  );
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...snippets), { maxLength: 12 }), (parts) =>
      parseEverything(Buffer.from(parts.join(""))),
    ),
    { numRuns: 1500 },
  );
});

test("any value may come as a format node", () => {
  fc.assert(
    fc.property(valueArbitrary(), (value) => {
      const format = attempt(() => parseFormat(value));
      attempt(() => format && jsonOptionsFromAttributes(format.attributes));
    }),
  );
});

test.each([0x5b, 0x7b, 0x3c, 0x22, 0x5c, 0x28, 0x2f, 0x31, 0x2d, 0xff, 0x01, 0x02])(
  "a megabyte of byte %d ends soon",
  (byte) => {
    parseEverything(Buffer.alloc(1 << 20, byte));
  },
);
