/** The tour of the README, pasted as it is printed there. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseGuide } from "../guides/guide.ts";
import { ClustersForYt, hasEnvironment } from "./real-yt.ts";

const guide = parseGuide(readFileSync(new URL("../../README.md", import.meta.url), "utf8"));

describe.skipIf(!hasEnvironment("full"))("the README", () => {
  let clusters: ClustersForYt;
  beforeAll(async () => {
    clusters = await ClustersForYt.start(["pythia", "freud"]);
  });
  afterAll(() => clusters?.stop());

  it("shows queue, consumer, queue agent and producer at work", { timeout: 240_000 }, async () => {
    const tour = guide.snippets.find(({ text }) => text.includes("yt --proxy"))?.text ?? "";
    const { stdout, stderr, exit } = await clusters.bash("full", `set -eo pipefail\n${tour}`);
    expect({ stderr, exit }).toEqual({ stderr: "", exit: 0 });
    expect(stdout).toContain('"$row_index"=1;"data"="bar"');
    expect(stdout).toContain('"family" = "ordered_dynamic_table"');
    expect(stdout).toContain('"disposition" = ');
    expect(stdout).toContain('"skipped_row_count" = 1;');
  });
});
