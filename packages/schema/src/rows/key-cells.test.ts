/** Cells made of keys. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeKeyPrefix } from "../key-codec.ts";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import { decodeCell } from "./encoded-rows.ts";
import { writeKeyCells } from "./key-cells.ts";
import { RowOutput } from "./row-output.ts";

const limit = 1n << 63n;
const bytes = fc.uint8Array({ maxLength: 9 }).map((value) => Buffer.from(value));
const keyColumn: fc.Arbitrary<readonly [PhysicalType, RowValue]> = fc.oneof(
  fc.tuple(fc.constant<PhysicalType>("int64"), fc.bigInt({ min: -limit, max: limit - 1n })),
  fc.tuple(fc.constant<PhysicalType>("uint64"), fc.bigInt({ min: 0n, max: 2n * limit - 1n })),
  fc.tuple(
    fc.constant<PhysicalType>("double"),
    fc.double({ noNaN: true }).map((value) => value + 0),
  ),
  fc.tuple(fc.constant<PhysicalType>("boolean"), fc.boolean()),
  fc.tuple(fc.constant<PhysicalType>("string"), bytes),
  fc.tuple(
    fc.constant<PhysicalType>("any"),
    bytes.map((value) => new YsonAny(value)),
  ),
  fc.tuple(fc.constant<PhysicalType>("int64"), fc.constant(null)),
);

test("have the values of the key, and null for those that it does not have", () => {
  fc.assert(
    fc.property(fc.array(keyColumn, { minLength: 1, maxLength: 3 }), fc.nat(3), (columns, missing) => {
      const types = columns.map(([type]) => type);
      const values = columns.map(([, value], index) => (index < columns.length - missing ? value : null));
      const present = values.slice(0, Math.max(0, columns.length - missing));
      const key = Buffer.concat([encodeKeyPrefix(present, types), Buffer.of(0x01)]);
      const output = new RowOutput(64);
      output.ascii("before");
      const starts = new Int32Array(types.length);
      const ends = new Int32Array(types.length);
      writeKeyCells(key, key.length - 1, types, output, starts, ends);
      const cells = types.map((_, index) => decodeCell(output.bytes, starts[index] ?? 0, ends[index] ?? 0));
      expect(cells).toEqual(values);
    }),
  );
});
