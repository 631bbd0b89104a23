/** Histories through the commands, rows in LMDB. */
import { expect, it } from "vitest";
import { expectedOutcomes, runHistories } from "./histories.ts";

it("any history gives what the model gives, in LMDB", async () => {
  const { outcomes } = await runHistories({
    store: "lmdb",
    door: "driver",
    count: 1900,
    // Their commits share groups, as those of many clients do.
    sideBySide: 30,
    hasRestarts: false,
  });
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(expectedOutcomes));
}, 600_000);

it("so does a history with restarts, in LMDB", async () => {
  const { restarts } = await runHistories({
    store: "lmdb",
    door: "driver",
    count: 100,
    sideBySide: 1,
    hasRestarts: true,
  });
  expect(restarts).toBeGreaterThan(0);
}, 600_000);
