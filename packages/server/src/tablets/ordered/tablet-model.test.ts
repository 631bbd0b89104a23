/**
 * Random appends, flushes, trims, merges and restarts, with a disk that fails now and then, compared with
 * arrays.
 */
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryStore } from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { collectRows, plainFormat, TabletFixture } from "./tablet-fixture.ts";

interface Model {
  rows: { value: string; weight: number }[];
  trimmed: number;
  flushed: number;
}

type Step =
  | { readonly kind: "append"; readonly lengths: readonly number[] }
  | { readonly kind: "trim"; readonly share: number }
  | { readonly kind: "read"; readonly share: number; readonly count: number }
  | { readonly kind: "flush" | "merge" | "restart" | "break" };

const length = fc.oneof(
  { weight: 8, arbitrary: fc.nat(40) },
  { weight: 2, arbitrary: fc.integer({ min: 500, max: 9000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 8000, max: 40_000 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      lengths: fc.array(length, { maxLength: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      lengths: fc.array(length, { minLength: 1, maxLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("trim" as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      count: fc.nat(20),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("flush" as const, "merge" as const, "restart" as const, "break" as const),
    }),
  },
);

class Run {
  readonly #clock: FakeClock;
  readonly #model: Model = { rows: [], trimmed: 0, flushed: 0 };
  #store: ForgetfulStore;
  #fixture: TabletFixture;
  #tablet: OrderedTablet;
  #isBroken = false;
  #serial = 0;

  private constructor(
    fixture: TabletFixture,
    tablet: OrderedTablet,
    store: ForgetfulStore,
    clock: FakeClock,
  ) {
    this.#fixture = fixture;
    this.#tablet = tablet;
    this.#store = store;
    this.#clock = clock;
  }

  static async start(): Promise<Run> {
    const store = new ForgetfulStore(new MemoryStore());
    const clock = new FakeClock();
    const fixture = await TabletFixture.open({ store, clock, mergeSettings });
    const tablet = await fixture.createTablet({ format: { ...plainFormat, hasCumulativeDataWeight: true } });
    return new Run(fixture, tablet, store, clock);
  }

  async take(step: Step): Promise<void> {
    const model = this.#model;
    switch (step.kind) {
      case "append": {
        const values = step.lengths.map((size) => `${this.#serial++}`.padEnd(size, "x"));
        await this.#change(
          () => this.#fixture.append(this.#tablet, values),
          () => {
            for (const value of values) {
              model.rows.push({ value, weight: (model.rows.at(-1)?.weight ?? 0) + value.length + 9 });
            }
          },
        );
        break;
      }
      case "trim": {
        const count = Math.floor(step.share * model.rows.length);
        await this.#change(
          () => this.#fixture.trim(this.#tablet, count),
          () => {
            model.trimmed = Math.max(model.trimmed, count);
          },
        );
        break;
      }
      case "flush":
        await this.#change(
          () => this.#fixture.flush(this.#tablet),
          () => {
            model.flushed = model.rows.length;
          },
        );
        break;
      case "merge":
        await this.#fixture.merger.idle();
        break;
      case "restart":
        await this.#restart();
        break;
      case "break":
        this.#isBroken = true;
        break;
      case "read":
        this.#compareRange(Math.floor(step.share * model.rows.length), step.count);
        break;
    }
    this.#compareCounts();
  }

  compareAll(): void {
    this.#compareRange(0, this.#model.rows.length);
  }

  async #change(act: () => Promise<unknown>, model: () => void): Promise<void> {
    if (!this.#isBroken) {
      await act();
      model();
      return;
    }
    this.#isBroken = false;
    await this.#fixture.merger.idle();
    await this.#fixture.chunks.settled();
    await this.#clock.advance(5000);
    this.#store.failAt(1);
    await expect(act()).rejects.toThrow("Disk is broken");
    expect(this.#tablet.pending).toBe(this.#tablet.visible);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #restart(): Promise<void> {
    this.#store = await this.#store.crash();
    this.#fixture = await TabletFixture.open({ store: this.#store, clock: this.#clock, mergeSettings });
    this.#tablet = await this.#fixture.openTablet(this.#tablet);
  }

  #compareCounts(): void {
    const { rows, trimmed, flushed } = this.#model;
    expect(this.#tablet.statistics()).toMatchObject({
      totalRowCount: rows.length,
      trimmedRowCount: trimmed,
      flushedRowCount: flushed,
      cumulativeDataWeight: rows.at(-1)?.weight ?? 0,
    });
    const { chunkDataWeight, dynamicDataWeight } = this.#tablet.statistics();
    expect(this.#tablet.retainedDataWeight).toBe(chunkDataWeight + dynamicDataWeight);
  }

  #compareRange(from: number, count: number): void {
    const { rows, trimmed } = this.#model;
    const start = Math.max(from, trimmed);
    const expected = rows.slice(start, start + count).map((row, i) => ({ index: start + i, ...row }));
    const seen = collectRows(this.#tablet.read(from, { maxRowCount: count }));
    expect(seen.map(({ index, value, weight }) => ({ index, value, weight }))).toEqual(expected);
    const first = expected[0];
    if (first !== undefined) {
      expect(this.#tablet.findRowByCumulativeWeight(first.weight)).toBe(first.index);
    }
  }
}

const mergeSettings = { smallBlockBytes: 2041, minRunLength: 2, maxRunLength: 4, maxRunBytes: 65_536 };

test("a tablet is an array of rows whatever happens to it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const run = await Run.start();
      for (const step of steps) {
        await run.take(step);
      }
      run.compareAll();
    }),
    { numRuns: 60 },
  );
}, 60_000);
