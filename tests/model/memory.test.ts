/** Histories through the commands, rows in memory. */
import { expect, it } from "vitest";
import { runHistories } from "./histories.ts";

it("any history gives what the model gives, in memory", async () => {
  await runHistories({ store: "memory", door: "driver", count: 1900, sideBySide: 1, hasRestarts: false });
}, 60_000);

it("so does a history with restarts", async () => {
  const { restarts } = await runHistories({
    store: "memory",
    door: "driver",
    count: 100,
    sideBySide: 1,
    hasRestarts: true,
  });
  expect(restarts).toBeGreaterThan(0);
}, 60_000);
