import { emptyMap, YtError } from "@qyt/base";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { column, TableSchema } from "../table-schema.ts";
import {
  type Block,
  createRowWriter,
  type EncodedRows,
  EncodedRowsBuilder,
  maxBlockBytes,
  mergeBlocks,
  packBlocks,
  packBlocksOf,
  RowBlock,
} from "./index.ts";

const data = new TableSchema([column("data", "string")]);

function rowsOf(...texts: (string | null)[]): EncodedRows {
  const builder = new EncodedRowsBuilder(data);
  for (const text of texts) {
    builder.addRow([text === null ? null : Buffer.from(text)]);
  }
  return builder.take();
}

/** Appends batches one after the other, as a tablet does. */
class Tablet {
  readonly blocks: Block[] = [];
  readonly #systemWeight: number;
  #rowCount: number;
  #weight: number;
  #timestamp = 100n;

  constructor(systemWeight: number, weight = 0, firstRow = 0) {
    this.#systemWeight = systemWeight;
    this.#weight = weight;
    this.#rowCount = firstRow;
  }

  insert(rows: EncodedRows): void {
    const blocks = packBlocks(rows, 0, rows.rowCount, {
      firstRowIndex: this.#rowCount,
      baseCumulativeWeight: this.#weight,
      timestamp: this.#timestamp++,
      countSystemWeight: this.#systemWeight,
    });
    this.blocks.push(...blocks);
    this.#rowCount += rows.rowCount;
    this.#weight = blocks.at(-1)?.cumulativeWeight ?? this.#weight;
  }
}

interface StoredRow {
  readonly index: number;
  readonly weight: number;
  readonly cumulativeWeight: number;
  readonly timestamp: bigint;
  /** One character per byte: comparing buffers byte by byte is slow here. */
  readonly cells: string;
}

function storedRows(blocks: readonly Block[]): StoredRow[] {
  return blocks.flatMap(({ bytes }) => {
    const block = RowBlock.parse(bytes);
    return Array.from({ length: block.rowCount }, (_, row) => ({
      index: block.firstRowIndex + row,
      weight: block.weightAt(row),
      cumulativeWeight: block.cumulativeWeightAt(row),
      timestamp: block.timestampAt(row),
      cells: block.bytes.latin1Slice(block.rowStart(row), block.rowEnd(row)),
    }));
  });
}

function weightsOf(blocks: readonly Block[]): number[] {
  return storedRows(blocks).map((row) => row.cumulativeWeight);
}

describe("cumulative weights", () => {
  it("[tables 10] grow as in the queue of the documentation", () => {
    const tablet = new Tablet(16);
    for (let batch = 0; batch < 20; batch++) {
      tablet.insert(rowsOf("foo", "bar", "foobar", "megafoo", "megabar"));
    }
    const weights = weightsOf(tablet.blocks);
    expect(weights.slice(0, 5)).toEqual([20, 40, 63, 87, 111]);
    expect(weights.slice(42, 47)).toEqual([951, 975, 999, 1019, 1039]);
    expect(weights[99]).toBe(2220);
  });

  it("[tables 11] go on with the next transactions", () => {
    const tablet = new Tablet(16, 2220, 100);
    tablet.insert(rowsOf("value1", "value2"));
    tablet.insert(rowsOf("value3"));
    const rows = storedRows(tablet.blocks);
    expect(rows.map((row) => row.cumulativeWeight)).toEqual([2243, 2266, 2289]);
    expect(rows[0]?.timestamp).toBe(rows[1]?.timestamp);
    expect(rows[2]?.timestamp).toBeGreaterThan(rows[1]?.timestamp ?? 0n);
  });

  it("[tables 12] count only the weight column when there is no timestamp", () => {
    const tablet = new Tablet(8);
    tablet.insert(rowsOf("aaa", "bb"));
    tablet.insert(rowsOf("c", "cc", "ccc", "cccc", "ccccc"));
    expect(weightsOf(tablet.blocks)).toEqual([12, 23, 33, 44, 56, 69, 83]);
  });

  it("[tables 15] count nothing for null", () => {
    const tablet = new Tablet(8);
    tablet.insert(rowsOf(null));
    expect(weightsOf(tablet.blocks)).toEqual([9]);
  });

  it("stay exact far beyond 32 bits", () => {
    const tablet = new Tablet(16, 2 ** 50, 2 ** 40);
    tablet.insert(rowsOf("foo"));
    expect(storedRows(tablet.blocks)).toMatchObject([{ index: 2 ** 40, cumulativeWeight: 2 ** 50 + 20 }]);
  });
});

const texts = fc.array(
  fc.option(
    fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.integer({ min: 0, max: 12_000 }).map((length) => "y".repeat(length)),
      fc.constant("z".repeat(70_000)),
    ),
    { freq: 10 },
  ),
  { minLength: 1, maxLength: 40 },
);

describe("blocks", () => {
  it("hold all rows, each block within one record unless it has one row", () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(0, 8, 16), (given, systemWeight) => {
        const rows = rowsOf(...given);
        const tablet = new Tablet(systemWeight, 5, 7);
        tablet.insert(rows);
        let weight = 5;
        const stored = storedRows(tablet.blocks);
        expect(stored.length).toBe(given.length);
        for (const [index, row] of stored.entries()) {
          weight += (rows.weights[index] ?? 0) + systemWeight;
          expect(row.index).toBe(index + 7);
          expect(row.cumulativeWeight).toBe(weight);
          expect(row.cells === rows.bytes.latin1Slice(rows.rowStart(index), rows.rowEnd(index))).toBe(true);
        }
        for (const block of tablet.blocks) {
          expect(block.rowCount === 1 || block.bytes.length <= maxBlockBytes).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("take any rows in any order", () => {
    const rows = rowsOf("a", "bb", "ccc", "dddd");
    const blocks = packBlocksOf(rows, [3, 1], {
      firstRowIndex: 10,
      baseCumulativeWeight: 0,
      timestamp: 1n,
      countSystemWeight: 0,
    });
    expect(storedRows(blocks).map((row) => [row.index, row.cumulativeWeight, row.cells])).toEqual([
      [10, 5, "\x01\x08dddd"],
      [11, 8, "\x01\x04bb"],
    ]);
  });

  it("merge into fewer with the same rows", () => {
    fc.assert(
      fc.property(
        fc.array(texts, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 200, max: 9000 }),
        (batches, limit) => {
          const tablet = new Tablet(16);
          for (const batch of batches) {
            tablet.insert(rowsOf(...batch));
          }
          const merged = mergeBlocks(
            tablet.blocks.map((block) => RowBlock.parse(block.bytes)),
            limit,
          );
          expect(storedRows(merged)).toEqual(storedRows(tablet.blocks));
          for (const block of merged) {
            expect(block.rowCount === 1 || block.bytes.length <= limit).toBe(true);
            expect(RowBlock.parse(block.bytes).lastCumulativeWeight).toBe(block.cumulativeWeight);
          }
          // Merging once more finds nothing to do.
          const again = mergeBlocks(
            merged.map((block) => RowBlock.parse(block.bytes)),
            limit,
          );
          expect(again.length).toBe(merged.length);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("find rows by weight and by time", () => {
    const tablet = new Tablet(0);
    tablet.insert(rowsOf("a", "b"));
    tablet.insert(rowsOf("c", "d"));
    tablet.insert(rowsOf("e"));
    const [merged] = mergeBlocks(tablet.blocks.map((block) => RowBlock.parse(block.bytes)));
    const block = RowBlock.parse(merged?.bytes ?? Buffer.alloc(0));
    expect([0, 2, 3, 4, 10, 11].map((weight) => block.rowAtWeight(weight))).toEqual([0, 0, 1, 1, 4, 5]);
    expect([0n, 100n, 101n, 102n, 103n].map((time) => block.rowAtTimestamp(time))).toEqual([0, 0, 2, 4, 5]);
    const single = RowBlock.parse(tablet.blocks[0]?.bytes ?? Buffer.alloc(0));
    expect([99n, 100n, 101n].map((time) => single.rowAtTimestamp(time))).toEqual([0, 0, 2]);
  });

  it("tell damage instead of reading what is not there", () => {
    const tablet = new Tablet(16);
    for (let batch = 0; batch < 4; batch++) {
      tablet.insert(rowsOf("foo", "x".repeat(300), null));
    }
    const merged = mergeBlocks(tablet.blocks.map((block) => RowBlock.parse(block.bytes)));
    const good = [...merged, ...tablet.blocks].map((block) => block.bytes);
    const columns = [{ name: "data", source: { kind: "column", index: 0 } }] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...good),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat()),
        (bytes, changes, cut) => {
          let broken = Buffer.from(bytes);
          for (const [place, byte] of changes) {
            broken[place % Math.min(broken.length, 120)] = byte;
          }
          broken = cut === null ? broken : broken.subarray(0, cut % (broken.length + 1));
          try {
            const block = RowBlock.parse(broken);
            for (const name of ["yson", "json"] as const) {
              const writer = createRowWriter({ name, attributes: emptyMap }, columns);
              writer.writeBlockRows(block, 0, block.rowCount, 0);
            }
            for (let row = 0; row < block.rowCount; row++) {
              block.timestampAt(row);
              block.rowAtWeight(block.cumulativeWeightAt(row));
            }
          } catch (error) {
            expect(error).toBeInstanceOf(YtError);
          }
        },
      ),
      { numRuns: 1000 },
    );
    for (const bytes of good) {
      const error = (() => {
        try {
          RowBlock.parse(bytes.subarray(0, bytes.length - 1));
          return undefined;
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toMatchObject({ code: 721 });
    }
  });
});
