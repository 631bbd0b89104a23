/**
 * Flips single bits in values and in the store's own tree pages. Whoever reads is told, or the process ends;
 * never is a wrong row answered, nor one row fewer.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defined, type Random, systemClock } from "@qyt/base";
import { between, pick, type TemporaryDirectory, temporaryDirectory, testRandom } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLmdbStore } from "../../packages/server/src/cell/index.ts";
import { defaultMergeSettings } from "../../packages/server/src/tablets/ordered/index.ts";
import { TabletFixture } from "../../packages/server/src/tablets/ordered/tablet-fixture.ts";
import { type UsedBytes, usedBytes } from "./lmdb-pages.ts";

const flipsPerKind = 25;
const program = fileURLToPath(new URL("read-rows.mjs", import.meta.url));

interface Answer {
  readonly rows?: number;
  readonly digest?: string;
  readonly error?: string;
  readonly code?: number;
}

describe("single flipped bits", () => {
  let directory: TemporaryDirectory;
  let pristine: string;
  let tabletId: string;
  let expected: Answer;

  beforeAll(async () => {
    directory = await temporaryDirectory("damage");
    pristine = join(directory.path, "pristine");
    tabletId = await writeRows(pristine);
    expected = defined(read(pristine, tabletId).answer, "the answer from a sound file");
    expect(expected.rows).toBe(21_000);
  }, 60_000);

  afterAll(() => directory.remove());

  for (const kind of ["value", "leaf", "branch"] as const) {
    it(`in ${kind} pages`, { timeout: 120_000 }, () => {
      const random = testRandom(`damage in ${kind} pages`);
      const file = readFileSync(join(pristine, "data.mdb"));
      const ranges = usedBytes(file)[kind];
      expect(ranges.length).toBeGreaterThan(0);
      const copy = join(directory.path, kind);
      mkdirSync(copy);
      const outcomes: Record<string, number> = {};
      for (let flip = 0; flip < flipsPerKind; ++flip) {
        const { offset, mask } = flipBit(file, join(copy, "data.mdb"), ranges, random);
        const { answer, end } = read(copy, tabletId);
        const outcome =
          answer === undefined
            ? `ended by ${end}`
            : answer.error === undefined
              ? "read"
              : `code ${answer.code}`;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (outcome === "read") {
          expect(answer, `bit ${mask} of byte ${offset}`).toEqual(expected);
        }
      }
      console.info(`damage in ${kind} pages: ${JSON.stringify(outcomes)}`);
      // What nobody reads does no harm, but most bits are read.
      expect(outcomes.read ?? 0).toBeLessThan(flipsPerKind);
    });
  }
});

/** Full blocks, single rows inside leaf pages, chunks and a dynamic store. */
async function writeRows(path: string): Promise<string> {
  const store = await openLmdbStore(path);
  const fixture = await TabletFixture.open({
    store,
    clock: systemClock,
    // Nothing is merged: single rows stay in leaf pages.
    mergeSettings: { ...defaultMergeSettings, minRunLength: Number.POSITIVE_INFINITY },
  });
  const tablet = await fixture.createTablet();
  const row = (i: number) => `row ${i} `.padEnd(100, String.fromCharCode(97 + (i % 26)));
  for (let batch = 0; batch < 20; ++batch) {
    await fixture.append(
      tablet,
      Array.from({ length: 1000 }, (_, i) => row(batch * 1000 + i)),
    );
    if (batch % 7 === 6) {
      await fixture.flush(tablet);
    }
  }
  await Promise.all(Array.from({ length: 1000 }, (_, i) => fixture.append(tablet, [row(20_000 + i)])));
  await fixture.cell.close();
  return tablet.tabletId;
}

function flipBit(
  file: Buffer,
  path: string,
  ranges: readonly UsedBytes[],
  random: Random,
): { offset: number; mask: number } {
  const { start, end } = pick(random, ranges);
  const offset = between(random, start, end);
  const mask = 1 << random.below(8);
  const damaged = Buffer.from(file);
  damaged[offset] = (damaged[offset] ?? 0) ^ mask;
  writeFileSync(path, damaged);
  return { offset, mask };
}

/** Another process reads all: damage in tree pages can end it. */
function read(path: string, tabletId: string): { answer: Answer | undefined; end: string } {
  const { stdout, status, signal, error } = spawnSync(process.execPath, [program, path, tabletId], {
    encoding: "utf8",
    timeout: 30_000,
  });
  expect(error, "reading does not hang").toBeUndefined();
  const end = signal ?? `exit code ${status}`;
  return { answer: status === 0 ? (JSON.parse(stdout) as Answer) : undefined, end };
}
