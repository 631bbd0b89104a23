/** Links to queues and consumers, on this cluster and on others, and the long form of cluster names. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { plain, startClusters, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let remote: TestCluster;

beforeAll(async () => {
  const [first, second] = await startClusters("primary", "remote_0");
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  primary = first;
  remote = second;
  for (const cluster of [primary, remote]) {
    for (const name of ["q1", "q2"]) {
      await cluster.createQueue(`//tmp/${name}`);
      await cluster.link(`//tmp/${name}`, `//tmp/links/${name}`);
    }
    for (const name of ["c1", "c2"]) {
      await cluster.createConsumer(`//tmp/${name}`);
      await cluster.link(`//tmp/${name}`, `//tmp/links/${name}`);
    }
  }
});

beforeEach(async () => {
  for (const [queue, consumer] of await primary.listed()) {
    await primary.root.unregisterQueueConsumer(queue, consumer);
  }
});

afterAll(async () => {
  await remote?.close();
  await primary?.close();
});

describe("links", () => {
  it("[queue-api 26] registrations through links are of the real tables", async () => {
    await primary.root.registerQueueConsumer("//tmp/links/q1", "//tmp/links/c1", { vital: true });
    expect(await primary.storedRegistrations()).toEqual([
      {
        queue_cluster: "primary",
        queue_path: "//tmp/q1",
        consumer_cluster: "primary",
        consumer_path: "//tmp/c1",
        vital: true,
        partitions: null,
      },
    ]);
  });

  it("[queue-api 27] [queue-api 28] a filter by link is a filter by the real path", async () => {
    const pairs = [
      ["q1", "c1"],
      ["q1", "c2"],
      ["q2", "c1"],
    ] as const;
    for (const [queue, consumer] of pairs) {
      await primary.root.registerQueueConsumer(`//tmp/links/${queue}`, `//tmp/${consumer}`, { vital: false });
    }
    for (const prefix of ["", "primary:"]) {
      for (const filter of [{ queue: "q1" }, { consumer: "c1" }, { queue: "q1", consumer: "c1" }]) {
        const at = (folder: string) =>
          primary.listed(
            Object.fromEntries(
              Object.entries(filter).map(([key, name]) => [key, `${prefix}${folder}${name}`]),
            ),
          );
        const real = await at("//tmp/");
        expect(real.length).toBeGreaterThan(0);
        expect(await at("//tmp/links/")).toEqual(real);
      }
    }
    expect(await primary.listed({ queue: "remote_0://tmp/links/q1" })).toEqual([]);
  });

  it.each([
    ["//tmp/links/q1", "//tmp/c1"],
    ["//tmp/q1", "//tmp/links/c1"],
    ["//tmp/links/q1", "//tmp/links/c1"],
  ])("[queue-api 29] [queue-api 30] %s and %s mean the real pair", async (queue, consumer) => {
    await primary.root.registerQueueConsumer(queue, consumer, { vital: false });
    expect(await primary.listed()).toEqual([["primary://tmp/q1", "primary://tmp/c1", false, null]]);
    await primary.root.unregisterQueueConsumer("//tmp/q1", "//tmp/c1");
    expect(await primary.listed()).toEqual([]);
    await primary.root.registerQueueConsumer("//tmp/q1", "//tmp/c1", { vital: false });
    await primary.root.unregisterQueueConsumer(queue, consumer);
    expect(await primary.listed()).toEqual([]);
  });

  it("[queue-api 31] links on another cluster are followed there", async () => {
    // Here the same link leads elsewhere.
    await primary.link("//tmp/q2", "//tmp/links/crossed");
    await remote.link("//tmp/q1", "//tmp/links/crossed");
    await primary.root.registerQueueConsumer("remote_0://tmp/links/crossed", "//tmp/links/c1", {
      vital: true,
    });
    expect(await primary.listed()).toEqual([["remote_0://tmp/q1", "primary://tmp/c1", true, null]]);
    expect(await remote.listed({ queue: "//tmp/links/crossed" })).toHaveLength(1);
    await remote.root.unregisterQueueConsumer("//tmp/links/crossed", "primary://tmp/links/c1");
    expect(await primary.listed()).toEqual([]);
  });

  it("a pull and an advance through links of another cluster use its real queue", async () => {
    await remote.root.insertRows("//tmp/q1", [{ data: "a" }, { data: "b" }]);
    const queue = "remote_0://tmp/links/q1";
    await primary.root.registerQueueConsumer(queue, "//tmp/c1", { vital: false });
    await primary.root.advanceQueueConsumer("//tmp/links/c1", queue, 0, { oldOffset: 0n, newOffset: 1n });
    const rows = await primary.root.pullQueueConsumer("//tmp/links/c1", queue, null, 0);
    expect(plain(rows)).toEqual([{ $tablet_index: 0n, $row_index: 1n, data: "b" }]);
    expect(await primary.root.selectRows("queue_cluster, queue_path, [offset] from [//tmp/c1]")).toEqual([
      { queue_cluster: "remote_0", queue_path: "//tmp/q1", offset: 1n },
    ]);
  });
});

describe("cluster names", () => {
  it("[queue-api 32] lose the suffix that large installations add", async () => {
    await primary.root.registerQueueConsumer(
      '<cluster="remote_0.yt.yandex.net">//tmp/q1',
      '<cluster="primary.yt.yandex.net">//tmp/c1',
      { vital: false },
    );
    expect(await primary.listed()).toEqual([["remote_0://tmp/q1", "primary://tmp/c1", false, null]]);
    expect(await primary.listed({ queue: '<cluster="remote_0.yt.yandex.net">//tmp/q1' })).toHaveLength(1);
  });

  it("[queue-api 32] also those of clusters that are not known", async () => {
    await primary.root.registerQueueConsumer(
      '<cluster="cluster.yt.yandex.net">//tmp/q1',
      '<cluster="cluster.yt.yandex.net">//tmp/c1',
      { vital: false },
    );
    expect(await primary.listed()).toEqual([["cluster://tmp/q1", "cluster://tmp/c1", false, null]]);
  });
});
