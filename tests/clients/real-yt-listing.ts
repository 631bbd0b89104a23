/**
 * Plays the listing with the real `yt`, line by line, and compares every answer with the printed one. The Queue
 * Agent that `qyt up` starts needs a moment after each change: its attributes are asked until they answer as printed.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { comparable, expectedAnswer, parseAnswer, ratesOf, withAnyError } from "./agent-answers.ts";
import {
  belongsTo,
  type ConsumerCreation,
  comesAfterTrimming,
  type ListingStep,
  masked,
  needsQueueAgent,
  readListing,
} from "./listing.ts";
import { ClustersForYt, type Environment, hasEnvironment, soon } from "./real-yt.ts";

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
    let isMounted = false;
    for (const step of steps) {
      isMounted ||= step.command.includes("mount-table");
      if (step.command.includes("insert-rows")) {
        await Promise.all([
          expectAnswer(clusters, environment, step),
          expectGrowingRates(clusters, environment),
        ]);
      } else if (comesAfterTrimming(step)) {
        await soon(() => expectAnswer(clusters, environment, step));
      } else if (needsQueueAgent(step)) {
        await soon(async () => {
          const { stdout, stderr, exit } = await clusters.bash(environment, step.command);
          expect({ command: step.command, exit, stderr }).toEqual({
            command: step.command,
            exit: 0,
            stderr: "",
          });
          expectStatus(step, stdout, isMounted ? "mounted" : creation);
        });
      } else {
        await expectAnswer(clusters, environment, withCreatedId(step));
      }
    }
    await expectMissingSnapshot(clusters, environment);
  });
}

/** `create` prints the id of what it made; the listing leaves one of them out. */
function withCreatedId(step: ListingStep): ListingStep {
  return / create /.test(step.command) ? { ...step, answer: "ID" } : step;
}

function expectStatus(step: ListingStep, answer: string, state: "mounted" | ConsumerCreation): void {
  if (step.command.includes("/write_row_count_rate")) {
    // On a slow machine the last insert may be more than a pass ago by now, and then the current rate is none.
    const rates = ratesOf(answer);
    expect(Object.keys(rates).sort()).toEqual(Object.keys(ratesOf(step.answer)).sort());
    expect(rates["1m_raw"]).toBeGreaterThan(0);
    return;
  }
  const status = comparable(parseAnswer(answer));
  if (step.command.includes("@queue_consumer_status") && state !== "mounted") {
    // The alias mounts what it creates, so that then the consumer can be read before the listing mounts it.
    const printed = state === "explicit schema" ? step : mountedConsumerStatus();
    expect(withAnyError(status)).toEqual(withAnyError(expectedAnswer(printed.answer)));
    return;
  }
  expect(status).toEqual(expectedAnswer(step.answer));
}

/** While rows are written all five rates are above zero. */
async function expectGrowingRates(clusters: ClustersForYt, environment: Environment): Promise<void> {
  const program = `
import time, yt.wrapper as yt
for _ in range(2000):
    rates = yt.get("//tmp/bob-test-queue/@queue_status/write_row_count_rate")
    if len(rates) == 5 and all(rate > 0 for rate in rates.values()):
        break
    time.sleep(0.05)
print(sorted(rate > 0 for rate in rates.values()))
`;
  const { stdout, stderr, exit } = await clusters.bash(environment, `YT_PROXY=pythia python -c '${program}'`);
  expect({ stdout, stderr, exit }).toEqual({
    stdout: "[True, True, True, True, True]\n",
    stderr: "",
    exit: 0,
  });
}

/** The second of the two times that the listing asks for it. */
function mountedConsumerStatus(): ListingStep {
  const step = readListing().findLast(({ command }) => command.includes("@queue_consumer_status"));
  if (step === undefined) {
    throw new Error("The listing asks for the status of the consumer");
  }
  return step;
}

/** What the document shows for a queue that the agent does not know: here one that is there no more. */
async function expectMissingSnapshot(clusters: ClustersForYt, environment: Environment): Promise<void> {
  const consumer = "//tmp/bob-test-consumer";
  const lines = `set -e; export YT_PROXY=pythia
yt create table //tmp/bob-unknown --attributes '{dynamic=true;schema=[{name=data;type=string}]}' > /dev/null
yt register-queue-consumer //tmp/bob-unknown "<cluster=freud>${consumer}" --non-vital
yt remove //tmp/bob-unknown`;
  expect(await clusters.bash(environment, lines)).toEqual({ stdout: "", stderr: "", exit: 0 });
  const message = `Queue "pythia://tmp/bob-unknown" snapshot is missing`;
  await soon(async () => {
    const { stdout } = await clusters.bash(
      environment,
      `yt --proxy freud get ${consumer}/@queue_consumer_status/queues`,
    );
    expect(comparable(parseAnswer(stdout))).toMatchObject({
      "pythia://tmp/bob-unknown": { error: { code: 1n, message } },
      "pythia://tmp/bob-test-queue": { partition_count: 1n },
    });
  });
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
