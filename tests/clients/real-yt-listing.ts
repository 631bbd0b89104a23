/** Plays the listing with the real `yt`, line by line, and compares every answer with the printed one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  belongsTo,
  type ConsumerCreation,
  comesAfterTrimming,
  type ListingStep,
  masked,
  needsQueueAgent,
  readListing,
} from "./listing.ts";
import { ClustersForYt, type Environment, hasEnvironment } from "./real-yt.ts";

/** The clusters that the listing is played on; by default as `qyt up` starts them. */
export interface Stage {
  /** For the title. */
  readonly name: string;
  start(): Promise<ClustersForYt>;
}

const plainStage: Stage = { name: "", start: () => ClustersForYt.start(["pythia", "freud"]) };

export function playListing(environment: Environment, stage: Stage = plainStage): void {
  for (const creation of ["queue_consumer alias", "explicit schema"] as const) {
    describe.skipIf(!hasEnvironment(environment))(
      `the listing, ${environment} client, ${creation}${stage.name}`,
      () => playOnce(environment, creation, stage),
    );
  }
}

function playOnce(environment: Environment, creation: ConsumerCreation, stage: Stage): void {
  let clusters: ClustersForYt;
  beforeAll(async () => {
    clusters = await stage.start();
  });
  afterAll(() => clusters?.stop());

  const steps = readListing().filter((step) => belongsTo(step, creation));
  // The lines build on one another, so one test plays them all.
  it("answers every line as printed", { timeout: 600_000 }, async () => {
    for (const step of steps) {
      if (comesAfterTrimming(step)) {
        await expectAnswer(clusters, environment, {
          comment: "what the Queue Agent would do",
          command: "yt --proxy pythia trim-rows //tmp/$USER-test-queue 0 42",
          answer: "",
        });
      }
      if (needsQueueAgent(step)) {
        continue;
      }
      await expectAnswer(clusters, environment, withCreatedId(step));
    }
    await expectAgentRefusal(clusters, environment, steps);
  });
}

/** `create` prints the id of what it made; the listing leaves one of them out. */
function withCreatedId(step: ListingStep): ListingStep {
  return / create /.test(step.command) ? { ...step, answer: "ID" } : step;
}

/**
 * The client prints parsed answers itself. Without the bindings its own YSON writer, which leaves out the
 * space after attributes, does that; the bytes of the server are the same.
 */
function asPrintedBy(environment: Environment, answer: string): string {
  return environment === "plain" ? answer.replaceAll('> "', '>"') : answer;
}

async function expectAnswer(
  clusters: ClustersForYt,
  environment: Environment,
  step: ListingStep,
): Promise<void> {
  const { stdout, stderr, exit } = await clusters.bash(environment, step.command);
  expect({ command: step.command, exit, stderr, answer: masked(stdout.trimEnd()) }).toEqual({
    command: step.command,
    exit: 0,
    stderr: "",
    answer: asPrintedBy(environment, masked(step.answer)),
  });
}

/** Where no queue agent runs, its attributes say so. */
async function expectAgentRefusal(
  clusters: ClustersForYt,
  environment: Environment,
  steps: readonly ListingStep[],
): Promise<void> {
  const step = steps.find(needsQueueAgent);
  const { stderr, exit } = await clusters.bash(environment, step?.command ?? "");
  expect(exit).toBe(1);
  expect(stderr).toContain('Queue agent stage "production" is not found');
}
