/**
 * The surface of the command line: for each command a handful of invocations, by the real `yt` and by `qyt`, on
 * twin clusters. Both print the same bytes, end with the same exit code and tell the same messages.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment } from "../clients/real-yt.ts";
import { surface } from "./yt-lines.ts";
import { Twins } from "./yt-twins.ts";

describe.skipIf(!hasEnvironment("full"))("qyt beside yt", () => {
  let twins: Twins;
  beforeAll(async () => {
    twins = await Twins.start();
  });
  afterAll(() => twins?.stop());

  // The lines of a family build on one another, so one test plays them all.
  it.each(Object.entries(surface))("%s", { timeout: 180_000 }, async (_family, lines) => {
    const differences: unknown[] = [];
    for (const line of lines) {
      const [yt, qyt] = await twins.run(line);
      if (JSON.stringify(yt) !== JSON.stringify(qyt)) {
        differences.push({ line: line.text, yt, qyt });
      }
    }
    expect(differences).toEqual([]);
  });
});
