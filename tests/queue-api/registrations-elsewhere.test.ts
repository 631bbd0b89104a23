/** Registrations whose other half is on a cluster that is down, or that keeps its registrations elsewhere. */
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { failureOf, startClusters, startClustersWith, type TestCluster } from "./fixture.ts";

let clusters: TestCluster[] = [];

afterEach(async () => {
  await Promise.all(clusters.toReversed().map((cluster) => cluster.close()));
  clusters = [];
});

const queue = "//tmp/queue";
const consumer = "//tmp/consumer";

async function two(start: Promise<TestCluster[]>): Promise<[TestCluster, TestCluster]> {
  clusters = await start;
  const [first, second] = clusters;
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  for (const cluster of [first, second]) {
    await cluster.createQueue(queue);
    await cluster.createConsumer(consumer);
  }
  return [first, second];
}

async function stop(cluster: TestCluster): Promise<void> {
  clusters = clusters.filter((each) => each !== cluster);
  await cluster.close();
}

describe("a registration whose other half is on a cluster that is down", () => {
  it.each([
    ["the consumer's", `here:${queue}`, `there:${consumer}`, queue],
    ["the queue's", `there:${queue}`, `here:${consumer}`, consumer],
  ])(
    "ends by the right on the one that is here: %s is down",
    async (_title, queuePath, consumerPath, local) => {
      const [here, there] = await two(startClusters("here", "there"));
      await here.root.registerQueueConsumer(queuePath, consumerPath, { vital: false });
      const holder = await here.user("holder");
      await here.set(`${local}/@inherit_acl`, false);
      await here.allow(local, "holder", ["write"]);
      const stranger = await here.user("stranger");
      await stop(there);

      const denied = await failureOf(stranger.unregisterQueueConsumer(queuePath, consumerPath));
      expect(denied.text).toContain('Cluster "there" did not answer');
      expect(await here.listed()).toHaveLength(1);
      await holder.unregisterQueueConsumer(queuePath, consumerPath);
      expect(await here.listed()).toEqual([]);
    },
  );

  it("is not taken for another one: what may be a link there has to be named as it is registered", async () => {
    const [here, there] = await two(startClusters("here", "there"));
    await there.link(consumer, "//tmp/link");
    await here.root.registerQueueConsumer(queue, "there://tmp/link", { vital: false });
    await stop(there);
    const failure = await failureOf(here.root.unregisterQueueConsumer(queue, "there://tmp/link"));
    expect(failure.text).toContain("name the paths that list_queue_consumer_registrations tells");
    expect(failure.text).toContain('Cluster "there" did not answer');
    expect(await here.listed()).toHaveLength(1);
    await here.root.unregisterQueueConsumer(queue, `there:${consumer}`);
    expect(await here.listed()).toEqual([]);
  });
});

describe("clusters that do not agree on who keeps the registrations", () => {
  const logged: string[] = [];

  async function disagreeing(keepers: Readonly<Record<string, string>>): Promise<[TestCluster, TestCluster]> {
    logged.length = 0;
    const logger = pino({ level: "error" }, { write: (line: string) => logged.push(line) });
    return two(
      startClustersWith(["here", "there"], (name) => ({
        registrationsCluster: keepers[name] ?? name,
        logger,
      })),
    );
  }

  const sentence =
    'Clusters "here" and "there" do not share their queue consumer registrations: cluster "here" is configured to keep them on';

  it("refuse registrations that only one of them would see, and say why, also in the log, once", async () => {
    const [here, there] = await disagreeing({ here: "here", there: "there" });
    for (const [queuePath, consumerPath] of [
      [`there:${queue}`, consumer],
      [queue, `there:${consumer}`],
    ] as const) {
      const failure = await failureOf(
        here.root.registerQueueConsumer(queuePath, consumerPath, { vital: true }),
      );
      expect(failure.text).toContain(`${sentence} "here", cluster "there" on "there"`);
      expect(failure.text).toContain('set "registrations_cluster" to the same cluster');
    }
    expect(logged.filter((line) => line.includes("do not share"))).toHaveLength(1);
    expect(await here.listed()).toEqual([]);
    // What stays on one cluster is nobody else's business.
    await here.root.registerQueueConsumer(queue, consumer, { vital: true });
    await there.root.registerQueueConsumer(queue, consumer, { vital: true });
    expect(await here.listed()).toHaveLength(1);
  });

  it("say so to who looks for a registration that was made at the other one", async () => {
    const [here, there] = await disagreeing({ here: "here", there: "there" });
    await there.root.registerQueueConsumer(queue, consumer, { vital: true });
    const failure = await failureOf(here.root.pullQueueConsumer(consumer, `there:${queue}`, 0n, 0));
    expect(failure.codes).toContain(901);
    expect(failure.text).toContain(sentence);
  });

  it("do not send requests round in circles", async () => {
    const [here, there] = await disagreeing({ here: "there", there: "here" });
    for (const [cluster, other] of [
      [here, there],
      [there, here],
    ] as const) {
      const failure = await failureOf(cluster.root.listQueueConsumerRegistrations());
      expect(failure.text).toContain(
        `cluster "${cluster.name}" is configured to keep them on "${other.name}", cluster "${other.name}" on "${cluster.name}"`,
      );
    }
  });
});

describe("a consumer of another cluster", () => {
  it("is not read or advanced here: the message says where to send it", async () => {
    const [here] = await two(startClusters("here", "there"));
    await here.root.registerQueueConsumer(queue, `there:${consumer}`, { vital: false });
    for (const call of [
      here.root.pullQueueConsumer(`there:${consumer}`, queue, 0n, 0),
      here.root.advanceQueueConsumer(`there:${consumer}`, queue, 0, { oldOffset: null, newOffset: 1n }),
      here.root.advanceQueueConsumer(
        `there:${consumer}`,
        queue,
        0,
        { oldOffset: null, newOffset: 1n },
        { clientSide: true },
      ),
    ]) {
      const failure = await failureOf(call);
      expect(failure.text).toContain('names cluster "there", but this command works on cluster "here" only');
      expect(failure.text).toContain("to the cluster of the consumer");
    }
    expect(await here.root.selectRows(`* from [${consumer}]`)).toEqual([]);
  });
});
