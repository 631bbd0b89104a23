/**
 * Runs generated histories against a cluster and the model. The seed of every run is printed; a run is
 * repeated with `QYT_TEST_SEED`, and a failure is shrunk to its shortest history.
 */
import fc from "fast-check";
import { changeTablets, history, historyWithRestarts } from "./commands.ts";
import { QueueModel, queueNames } from "./queue-model.ts";
import { type ClusterKind, RealCluster } from "./real-cluster.ts";
import { World } from "./world.ts";

export interface HistoriesOptions extends ClusterKind {
  readonly count: number;
  /** So many go on side by side in one cluster, each with its own queues. A restart would end the others. */
  readonly sideBySide: number;
  readonly hasRestarts: boolean;
}

export async function runHistories(options: HistoriesOptions): Promise<RealCluster> {
  const { count, sideBySide, hasRestarts, store, door } = options;
  const given = process.env["QYT_TEST_SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 0x7fff_ffff) : Number(given);
  console.info(`${count} histories, ${store}, ${door}: QYT_TEST_SEED=${seed}`);
  const cluster = await RealCluster.start({ store, door });
  const one = hasRestarts ? historyWithRestarts : history;
  const group = fc.array(one, { minLength: sideBySide, maxLength: sideBySide });
  try {
    await fc.assert(
      fc.asyncProperty(group, async (commands) => {
        await Promise.all(commands.map((each) => runHistory(cluster, each)));
      }),
      { numRuns: Math.ceil(count / sideBySide), seed, endOnFailure: false },
    );
  } finally {
    await cluster.close();
  }
  return cluster;
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
    await world.compareAll(model);
  } finally {
    await world.remove();
  }
}
