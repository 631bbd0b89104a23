/** Histories through the commands, rows in memory. */
import { expect, it } from "vitest";
import { expectedOutcomes, runHistories } from "./histories.ts";

it("any history gives what the model gives, in memory", async () => {
  const { outcomes } = await runHistories({
    store: "memory",
    door: "driver",
    count: 1900,
    sideBySide: 1,
    hasRestarts: false,
  });
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(expectedOutcomes));
}, 600_000);

it("so does a history with restarts, in memory", async () => {
  const { restarts } = await runHistories({
    store: "memory",
    door: "driver",
    count: 100,
    sideBySide: 1,
    hasRestarts: true,
  });
  expect(restarts).toBeGreaterThan(0);
}, 600_000);
