import { YtError } from "@qyt/base";
import farmhash from "farmhash";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { farmFingerprint, farmHash, farmHashBytes } from "./farm-hash.ts";
import { type RowValue, YsonAny } from "./value-type.ts";

const text = (value: string): Buffer => Buffer.from(value);
const maxUint64 = (1n << 64n) - 1n;

const upstreamVectors: readonly (readonly [string, readonly RowValue[], bigint])[] = [
  ["abc", [text("abc")], 0x7b15151e28709746n],
  ["abc, decimal", [text("abc")], 8869018260447729478n],
  ["key", [text("key")], 0x407e25082fdedf2cn],
  ["msg-17", [text("msg-17")], 0x463ef428a4ff1c4dn],
  ["alpha, 7u", [text("alpha"), 7n], 0x269c2b99970a5b3dn],
  ["null, 7u", [null, 7n], 0xf03df45b1975b535n],
  ["-7, 11u, true, xy", [-7n, 11n, true, text("xy")], 0x5f90424776524127n],
  ["xy, true, 11u, -7", [text("xy"), true, 11n, -7n], 0xfd2435eda17206d9n],
  ["-1", [-1n], 0x62f280995c3dea58n],
  ["2^64 - 1", [maxUint64], 0x62f280995c3dea58n],
  ["-1, -1", [-1n, -1n], 0x940af1fb538b6bd5n],
  ["a\\0b", [text("a\0b")], 0x0706e84ffa9edd01n],
  ["empty string", [text("")], 0xfcc22541f5657d35n],
  ["null", [null], 0x2e03bcb5a0233a41n],
  ["foo", [text("foo")], 7945198393224481366n],
  ['3, "hello", true', [3n, text("hello"), true], 13185060272037541714n],
  ["54, null, false", [54n, null, false], 1607147011416532415n],
];

const furtherVectors: readonly (readonly [string, readonly RowValue[], bigint])[] = [
  ["0", [0n], 3315701238936582721n],
  ["1", [1n], 933529381690826619n],
  ["true", [true], 933529381690826619n],
  ["42", [42n], 8164349598829955404n],
  ["hello", [text("hello")], 2255200014092086422n],
  ["a", [text("a")], 15812863501130876615n],
  ["user-1", [text("user-1")], 14023215990766783017n],
  ["user-2", [text("user-2")], 215895921132288444n],
  ["user-3", [text("user-3")], 17032180724435400857n],
  ["user-4", [text("user-4")], 5840187633633213154n],
  ["queue, 1", [text("queue"), 1n], 1137559972048375170n],
  ["no arguments", [], 3735929054n],
];

describe("farm_hash of values", () => {
  test.each(upstreamVectors)("[tables 1] %s", (_, values, expected) => {
    expect(farmHash(values)).toBe(expected);
  });

  test.each(furtherVectors)("of %s", (_, values, expected) => {
    expect(farmHash(values)).toBe(expected);
  });

  test("[tables 2] null, zero, false and +0.0 coincide", () => {
    for (const value of [null, 0n, false, 0]) {
      expect(farmHash([value])).toBe(3315701238936582721n);
    }
    expect(farmHash([-0])).not.toBe(3315701238936582721n);
  });

  test("[tables 3] -1 and 2^64 - 1 coincide", () => {
    expect(farmHash([-1n])).toBe(farmHash([maxUint64]));
  });

  test("[tables 4] the order of arguments matters", () => {
    const values: readonly RowValue[] = [text("xy"), true, 11n, -7n];
    expect(farmHash(values)).toBe(0xfd2435eda17206d9n);
    expect(farmHash(values.toReversed())).toBe(0x5f90424776524127n);
  });

  test("fingerprints of single values", () => {
    expect(farmFingerprint(1n)).toBe(10105606910506535461n);
    expect(farmFingerprint(42n)).toBe(17355217915646310598n);
    expect(farmFingerprint(-1n)).toBe(3896215773760724271n);
    expect(farmFingerprint(null)).toBe(0n);
    expect(farmFingerprint(text("hello"))).toBe(13009744463427800296n);
    expect(farmFingerprint(text("abc"))).toBe(2640714258260161385n);
  });

  test("a double counts by its bits", () => {
    expect(farmFingerprint(1)).toBe(farmFingerprint(0x3ff0_0000_0000_0000n));
  });

  test("[tables 8] a value of type any cannot be hashed", () => {
    const error = catchError(() => farmHash([1n, new YsonAny(text("{}"))]));
    expect(error.code).toBe(304);
    expect(error.message).toContain('"any"');
  });

  test("[tables 9] routing of queue rows by modulo and by range", () => {
    const hashes = ["user-1", "user-2", "user-3", "user-4"].map((key) => farmHash([text(key)]));
    expect(hashes.map((hash) => hash % 4n)).toEqual([1n, 0n, 1n, 2n]);
    expect(hashes.map((hash) => hash / ((1n << 64n) / 4n))).toEqual([3n, 0n, 3n, 1n]);
  });
});

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

const prefixVectors: readonly (readonly [number, bigint])[] = [
  [0, 11160318154034397263n],
  [1, 12917804110809363939n],
  [2, 12289600257749001502n],
  [3, 2640714258260161385n],
  [4, 1897425971756105985n],
  [7, 4341691227789030229n],
  [8, 18368443631171807497n],
  [15, 7529451393577069597n],
  [16, 6080716761534418621n],
  [17, 11394395984755135400n],
  [31, 496390783753762012n],
  [32, 934449955909727258n],
  [33, 17626719820827885067n],
  [63, 10416640081920810648n],
  [64, 3646545258579766308n],
  [65, 13112763581500850699n],
  [127, 8659390928490630228n],
  [128, 2056131915184924913n],
  [129, 13911000258917250518n],
  [191, 6252188532310157321n],
  [192, 1017725921633934024n],
  [193, 7528415231494494417n],
  [256, 2708267301285234186n],
];

const letterVectors: readonly (readonly [number, bigint])[] = [
  [64, 5893282057753879417n],
  [65, 7778058094944459892n],
  [128, 13699116105903195126n],
  [192, 15221114174379434441n],
  [256, 8352177767980763459n],
];

describe("fingerprint of bytes", () => {
  test.each(prefixVectors)("[tables 5] prefix of %i characters", (length, expected) => {
    expect(farmHashBytes(text(alphabet.repeat(8).slice(0, length)))).toBe(expected);
  });

  test.each(letterVectors)("[tables 5] %i letters a", (length, expected) => {
    expect(farmHashBytes(text("a".repeat(length)))).toBe(expected);
  });

  test("agrees with the native package for every length from 0 to 520", () => {
    // Bytes of all values, and different at every place modulo 64.
    const bytes = Buffer.from(
      Array.from({ length: 520 }, (_, index) => (index * 151 + (index >> 6) * 89) & 255),
    );
    for (let length = 0; length <= bytes.length; length += 1) {
      const part = bytes.subarray(0, length);
      expect(farmHashBytes(part), `length ${length}`).toBe(farmhash.fingerprint64(part));
    }
  });

  test("agrees with the native package on random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => {
        expect(farmHashBytes(bytes)).toBe(farmhash.fingerprint64(Buffer.from(bytes)));
      }),
    );
  });

  test("hashes a part of a buffer as if it stood alone", () => {
    const whole = text(alphabet.repeat(8));
    for (const [start, end] of [
      [3, 3],
      [3, 5],
      [1, 7],
      [5, 17],
      [2, 30],
      [7, 60],
      [9, 250],
    ] as const) {
      expect(farmHashBytes(whole, start, end)).toBe(farmHashBytes(whole.subarray(start, end)));
    }
  });
});

function catchError(action: () => unknown): YtError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof YtError) {
      return thrown;
    }
    throw thrown;
  }
  throw new Error("nothing was thrown");
}
