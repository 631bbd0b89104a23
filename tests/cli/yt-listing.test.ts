/**
 * The listing of the documentation with `qyt` in place of `yt`: each line is run with both, on twin clusters, and the
 * answers are the same to the byte once ids, times and addresses are replaced. Of what queue agents tell, numbers are
 * replaced as well, and the answer is asked for until it is the same.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  belongsTo,
  comesAfterTrimming,
  type ListingStep,
  needsQueueAgent,
  readListing,
} from "../clients/listing.ts";
import { ClustersForYt, hasEnvironment, soon } from "../clients/real-yt.ts";
import { masked } from "./yt-twins.ts";

const script = join(fileURLToPath(new URL("../../", import.meta.url)), "packages/cli/bin/qyt.js");

describe.skipIf(!hasEnvironment("full"))("the listing with qyt in place of yt", () => {
  let twins: readonly ClustersForYt[] = [];
  beforeAll(async () => {
    const start = (): Promise<ClustersForYt> => ClustersForYt.start(["pythia", "freud"]);
    const [withYt, withQyt] = await Promise.all([start(), start()]);
    withQyt.prelude = `yt() { '${process.execPath}' '${script}' "$@"; }`;
    twins = [withYt, withQyt];
  });
  afterAll(() => Promise.all(twins.map((clusters) => clusters.stop())));

  const expectSame = async (step: ListingStep, normalised: (text: string) => string): Promise<void> => {
    const [yt, qyt] = await Promise.all(
      twins.map(async (clusters) => {
        const { exit, stdout, stderr } = await clusters.bash("full", step.command);
        return { exit, stderr, stdout: normalised(masked(stdout)) };
      }),
    );
    expect({ command: step.command, ...qyt }).toEqual({ command: step.command, ...yt });
    expect(yt).toMatchObject({ exit: 0, stderr: "" });
  };

  // The lines build on one another, so one test plays them all.
  it("answers every line as yt does", { timeout: 300_000 }, async () => {
    for (const step of readListing().filter((each) => belongsTo(each, "queue_consumer alias"))) {
      if (needsQueueAgent(step)) {
        await soon(() => expectSame(step, withoutNumbers));
      } else if (comesAfterTrimming(step)) {
        await soon(() => expectSame(step, String));
      } else {
        await expectSame(step, String);
      }
    }
  });
});

/** Rates and times differ from cluster to cluster; where a number stands does not. */
function withoutNumbers(text: string): string {
  return text.replace(/-?\d+(\.\d*)?(e[-+]?\d+)?u?/g, "N");
}
