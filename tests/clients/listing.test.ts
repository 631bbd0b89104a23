/** The listing's text is read as the document means it. */
import { describe, expect, it } from "vitest";
import { belongsTo, comesAfterTrimming, masked, needsQueueAgent, readListing } from "./listing.ts";

const steps = readListing();

describe("the listing", () => {
  it("has its 24 commands, of which 6 ask the Queue Agent", () => {
    expect(steps).toHaveLength(24);
    expect(steps.filter(needsQueueAgent)).toHaveLength(6);
    expect(steps.filter(comesAfterTrimming).map(({ command }) => command)).toEqual([
      expect.stringContaining("pull-queue-consumer"),
    ]);
  });

  it("creates the consumer once in each of its two ways", () => {
    for (const creation of ["queue_consumer alias", "explicit schema"] as const) {
      const creations = steps.filter(
        (step) => belongsTo(step, creation) && / create .*test-consumer/.test(step.command),
      );
      expect(creations).toHaveLength(1);
    }
  });

  it("keeps the answers whole", () => {
    const answers = steps.map(({ answer }) => answer).join("\n");
    for (const weight of [20, 40, 63, 87, 111, 951, 2243, 2266, 2289]) {
      expect(answers).toContain(`"$cumulative_data_weight"${weight < 2000 ? "=" : " = "}${weight};`);
    }
  });
});

describe("masked", () => {
  it("hides ids and tells timestamps apart", () => {
    expect(masked("2826e-2b1e4-3f30191-dcd2013e\n")).toBe("ID\n");
    expect(masked("1865777485011069884u 1865777486084785133u 1865777485011069884u 951")).toBe(
      "TIMESTAMP-1 TIMESTAMP-2 TIMESTAMP-1 951",
    );
  });
});
