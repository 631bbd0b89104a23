/** Histories through the commands, rows on disk. */
import { expect, it } from "vitest";
import { expectedOutcomes, runHistories } from "./histories.ts";

it("any history gives what the model gives, on disk", async () => {
  const { outcomes } = await runHistories({
    store: "lmdb",
    door: "driver",
    count: 900,
    // A flush to disk takes all of them along.
    sideBySide: 30,
    hasRestarts: false,
  });
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(expectedOutcomes));
}, 600_000);

it("so does a history with restarts, on disk", async () => {
  const { restarts } = await runHistories({
    store: "lmdb",
    door: "driver",
    count: 100,
    sideBySide: 1,
    hasRestarts: true,
  });
  expect(restarts).toBeGreaterThan(0);
}, 600_000);
