/** Random values for property tests of codecs: every type, edge integers, strings that are not UTF-8. */
import { Attributed, type BareYsonValue, Uint64, type YsonValue } from "@qyt/base";
import fc from "fast-check";
import { bytesToString } from "../bytes.ts";

const edges = [
  0n,
  1n,
  -1n,
  63n,
  64n,
  127n,
  128n,
  1n << 31n,
  1n << 32n,
  1n << 53n,
  (1n << 53n) + 1n,
  1n << 62n,
];
const maxInt64 = (1n << 63n) - 1n;

export const int64Arbitrary = fc.oneof(
  fc.bigInt({ min: -maxInt64 - 1n, max: maxInt64 }),
  fc.constantFrom(...edges, ...edges.map((edge) => -edge), maxInt64, -maxInt64 - 1n),
  fc.integer({ min: -100, max: 100 }).map(BigInt),
);

export const uint64Arbitrary = fc
  .oneof(
    fc.bigInt({ min: 0n, max: 2n * maxInt64 + 1n }),
    fc.constantFrom(0n, maxInt64, maxInt64 + 1n, 2n * maxInt64 + 1n, 1n << 53n),
  )
  .map((value) => new Uint64(value));

export const byteStringArbitrary = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => bytesToString(bytes)),
  fc.constantFrom("", "$", "$value", "$$a", "a\\x1", "\u0001\u00017", "\udcff\udc801"),
);

const doubleArbitrary = fc.oneof(fc.double(), fc.constantFrom(0, -0, 1, 1e21, 5e-324, 2 ** 53));

/** Any value; nested up to about `maxDepth` levels. */
export function valueArbitrary(options: { finite: boolean } = { finite: false }): fc.Arbitrary<YsonValue> {
  const double = options.finite ? doubleArbitrary.filter(Number.isFinite) : doubleArbitrary;
  const { value } = fc.letrec<{ value: YsonValue; bare: BareYsonValue; map: ReadonlyMap<string, YsonValue> }>(
    (tie) => ({
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        tie("bare"),
        attributed(tie("map"), tie("bare")),
      ),
      bare: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constant(null),
        fc.boolean(),
        int64Arbitrary,
        uint64Arbitrary,
        double,
        byteStringArbitrary,
        fc.array(tie("value"), { maxLength: 5 }),
        tie("map"),
      ),
      map: fc
        .array(fc.tuple(byteStringArbitrary, tie("value")), { maxLength: 5 })
        .map((pairs) => new Map(pairs)),
    }),
  );
  return value;
}

function attributed(
  map: fc.Arbitrary<ReadonlyMap<string, YsonValue>>,
  bare: fc.Arbitrary<BareYsonValue>,
): fc.Arbitrary<YsonValue> {
  return fc
    .tuple(map, bare)
    .map(([attributes, value]) => (attributes.size === 0 ? value : new Attributed(attributes, value)));
}
