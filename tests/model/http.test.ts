/** Histories over HTTP. */
import { it } from "vitest";
import { runHistories } from "./histories.ts";

it("any history gives what the model gives, over HTTP", async () => {
  await runHistories({ store: "memory", door: "http", count: 100, sideBySide: 2, hasRestarts: false });
}, 60_000);
