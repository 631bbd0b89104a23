/**
 * Runs generated histories against a cluster and the model. The seed of every run is printed; a run is
 * repeated with `QYT_TEST_SEED`, and a failure is shrunk to its shortest history. `QYT_MODEL_FACTOR=10` runs
 * ten times as many.
 */
import fc from "fast-check";
import { changeTablets, history, historyWithRestarts } from "./commands.ts";
import { QueueModel, queueNames } from "./queue-model.ts";
import { type ClusterKind, RealCluster } from "./real-cluster.ts";
import { compareAll } from "./stored-state.ts";
import { World } from "./world.ts";

export interface HistoriesOptions extends ClusterKind {
  readonly count: number;
  /** So many go on side by side in one cluster, each with its own queues. A restart would end the others. */
  readonly sideBySide: number;
  readonly hasRestarts: boolean;
}

export async function runHistories(options: HistoriesOptions): Promise<RealCluster> {
  const { sideBySide, hasRestarts, store, door } = options;
  const count = options.count * testFactor();
  const seed = testSeed(`${count} histories, ${store}, ${door}`);
  const cluster = await RealCluster.start({ store, door });
  const one = hasRestarts ? historyWithRestarts : history;
  const group = fc.array(one, { minLength: sideBySide, maxLength: sideBySide });
  try {
    await fc.assert(
      fc.asyncProperty(group, async (commands) => {
        await Promise.all(commands.map((each) => runHistory(cluster, each)));
      }),
      { numRuns: Math.ceil(count / sideBySide), seed },
    );
  } finally {
    await cluster.close();
  }
  return cluster;
}

/** How many times as much as usual to run. */
export function testFactor(): number {
  return Number(process.env.QYT_MODEL_FACTOR ?? 1);
}

/** The seed of one run, printed; taken from the environment to repeat a run. */
export function testSeed(label: string): number {
  const given = process.env.QYT_TEST_SEED;
  const seed = given === undefined ? Math.floor(Math.random() * 0x7fff_ffff) : Number(given);
  console.info(`${label}: QYT_TEST_SEED=${seed}`);
  return seed;
}

async function runHistory(
  cluster: RealCluster,
  commands: Iterable<fc.AsyncCommand<QueueModel, World>>,
): Promise<void> {
  const model = new QueueModel();
  const world = await World.create(cluster);
  try {
    await fc.asyncModelRun(() => ({ model, real: world }), commands);
    for (const queue of queueNames) {
      for (const [index, { state }] of model.partitions(queue).entries()) {
        if (state === "unmounted") {
          await changeTablets(queue, index, "mount", model, world);
        }
      }
    }
    await compareAll(world, model);
  } finally {
    await world.remove();
  }
}

/** What a long run must have met, so that the histories cannot become dull unnoticed. */
export const expectedOutcomes = [
  "insert_rows 1702",
  "insert_rows 1704",
  "push_queue_producer 1",
  "push_queue_producer 1702",
  "push_queue_producer 1704",
  "push_queue_producer 3101",
  "push_queue_producer 3102",
  "push_queue_producer 3103",
  "advance_queue_consumer 3100",
  "commit_transaction 1700",
  "commit_transaction 1702",
  "commit_transaction 1704",
  "pull_queue 1702",
  "trim_rows 1",
  "trim_rows 1702",
  "freeze_table 1706",
];
