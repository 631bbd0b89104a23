/** Transactions of the SDK against a cluster, over a line that loses requests and answers where told. */
import { mapOf, YtError } from "@qyt/base";
import { createClient, type Transaction, TransactionOutcomeUnknown, type YtClient } from "@qyt/client";
import type { Cluster } from "@qyt/server";
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";
import { LossyLine } from "./lossy-line.ts";

let cluster: Cluster;
let plain: YtClient;
let line: LossyLine;
let client: YtClient;

beforeAll(async () => {
  cluster = await startTestCluster();
  plain = createClient({ proxy: `${cluster.address}` });
  line = new LossyLine();
  client = createClient({
    proxy: `${cluster.address}`,
    transport: line,
    retries: { attempts: 3, minDelayMs: 1, maxDelayMs: 2 },
  });
  const schema = [
    mapOf({ name: "k", type: "int64", sort_order: "ascending" }),
    mapOf({ name: "v", type: "string" }),
  ];
  await plain.create("table", "//tmp/t", { attributes: { dynamic: true, schema } });
  await plain.mountTable("//tmp/t");
});

afterAll(async () => {
  await line.close();
  await plain.close();
  await cluster.close(0);
});

async function storedValue(key: bigint): Promise<unknown> {
  const [row] = await plain.lookupRows("//tmp/t", [{ k: key }]);
  return row?.["v"];
}

const tablet = { type: "tablet" } as const;

describe("a transaction of rows", () => {
  it("is committed when the work is done, and aborted when it throws", async () => {
    const answer = await client.transaction(async (tx) => {
      await tx.insertRows("//tmp/t", [{ k: 1n, v: "done" }]);
      return tx.id;
    }, tablet);
    expect(answer).toMatch(/-/);
    expect(await storedValue(1n)).toBe("done");
    const failing = client.transaction(async (tx) => {
      await tx.insertRows("//tmp/t", [{ k: 1n, v: "undone" }]);
      throw new Error("changed my mind");
    }, tablet);
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await storedValue(1n)).toBe("done");
  });

  it("conflicts with one that committed the same row meanwhile", async () => {
    const work = client.transaction(async (tx) => {
      await tx.lookupRows("//tmp/t", [{ k: 2n }]);
      await plain.insertRows("//tmp/t", [{ k: 2n, v: "first" }]);
      await tx.insertRows("//tmp/t", [{ k: 2n, v: "second" }]);
    }, tablet);
    await expect(work).rejects.toMatchObject({ code: 1700 });
    expect(await storedValue(2n)).toBe("first");
  });

  it("has no nested transactions", async () => {
    const work = client.transaction(async (tx) => tx.transaction(async () => undefined), tablet);
    await expect(work).rejects.toThrow("nested");
  });
});

describe("a transaction of nodes", () => {
  it("shows its changes to its commands alone until it is committed", async () => {
    await client.transaction(async (tx) => {
      await tx.create("map_node", "//tmp/made");
      expect(await tx.exists("//tmp/made")).toBe(true);
      expect(await plain.exists("//tmp/made")).toBe(false);
    });
    expect(await plain.exists("//tmp/made")).toBe(true);
  });

  it("has nested transactions that are committed into it", async () => {
    await client.transaction(async (tx) => {
      await tx.transaction((inner) => inner.create("map_node", "//tmp/kept"));
      await tx
        .transaction((inner) =>
          inner.create("map_node", "//tmp/dropped").then(() => Promise.reject(new Error("no"))),
        )
        .catch(() => undefined);
      expect(await tx.exists("//tmp/kept")).toBe(true);
      expect(await plain.exists("//tmp/kept")).toBe(false);
    });
    expect(await plain.exists("//tmp/kept")).toBe(true);
    expect(await plain.exists("//tmp/dropped")).toBe(false);
  });

  it("ends its work and is aborted when the signal aborts", async () => {
    const controller = new AbortController();
    const work = client.transaction(
      async (tx) => {
        await tx.create("map_node", "//tmp/canceled");
        controller.abort(new Error("enough"));
        await tx.exists("//tmp/canceled");
      },
      { signal: controller.signal },
    );
    await expect(work).rejects.toThrow();
    expect(await plain.exists("//tmp/canceled")).toBe(false);
  });

  it("is not committed when its deadline passed during the work", async () => {
    const clock = new FakeClock();
    const timed = createClient({ proxy: `${cluster.address}`, clock });
    const work = timed.transaction(
      async (tx) => {
        await tx.create("map_node", "//tmp/late");
        await clock.advance(1_000);
      },
      { deadlineMs: 900 },
    );
    await expect(work).rejects.toMatchObject({ code: 3 });
    expect(await plain.exists("//tmp/late")).toBe(false);
    await timed.close();
  });
});

describe.each(["tablet", "master"] as const)(
  "the answer to the commit of a %s transaction is lost",
  (type) => {
    const change = async (tx: Transaction, name: string): Promise<void> => {
      await (type === "tablet"
        ? tx.insertRows("//tmp/t", [{ k: 100n, v: name }])
        : tx.set("//tmp/@last", name));
    };
    const last = (): Promise<unknown> => (type === "tablet" ? storedValue(100n) : plain.get("//tmp/@last"));

    it("asks again and learns that it was done", async () => {
      line.loseAnswers("commit_transaction", 2);
      await client.transaction((tx) => change(tx, "answered again"), { type });
      expect(await last()).toBe("answered again");
    });

    it("does it when the request was lost", async () => {
      line.loseRequests("commit_transaction", 2);
      await client.transaction((tx) => change(tx, "sent again"), { type });
      expect(await last()).toBe("sent again");
    });

    it("leaves it open when nobody answers any more, and ends the transaction", async () => {
      line.loseRequests("commit_transaction", 1_000);
      const work = client.transaction((tx) => change(tx, "never"), { type, commitTimeoutMs: 50 });
      const error = await work.catch((thrown: unknown) => thrown);
      line.mend();
      expect(error).toBeInstanceOf(TransactionOutcomeUnknown);
      expect(error).toMatchObject({ code: 100 });
      const id = error instanceof TransactionOutcomeUnknown ? error.transactionId : "";
      await expect(plain.commitTransaction(id), "a commit that arrives late").rejects.toMatchObject({
        code: 11000,
      });
      expect(await last()).not.toBe("never");
    });

    it("asks the user's check where the cluster cannot tell", async () => {
      line.loseAnswers("commit_transaction", 1_000);
      const verify = async (): Promise<boolean> => (await last()) === "verified";
      await client.transaction((tx) => change(tx, "verified"), { type, commitTimeoutMs: 50, verify });
      line.mend();
      expect(await last()).toBe("verified");
    });
  },
);

it("is not committed after it was aborted by somebody else", async () => {
  const work = client.transaction(async (tx) => {
    await tx.insertRows("//tmp/t", [{ k: 3n, v: "never" }]);
    await plain.abortTransaction(tx.id);
  }, tablet);
  await expect(work).rejects.toMatchObject({ code: 11000 });
  await expect(work).rejects.not.toBeInstanceOf(TransactionOutcomeUnknown);
});

it("is lost, and not committed, after a pause longer than its timeout", async () => {
  const clock = new FakeClock();
  const timed = createClient({ proxy: `${cluster.address}`, clock, transport: line, retries: false });
  line.loseRequests("ping_transaction", 1_000);
  const work = timed.transaction(
    async (tx) => {
      await clock.advanceUntil(() => tx.signal.aborted, 500);
      expect(tx.isAlive).toBe(false);
    },
    { transactionTimeoutMs: 10_000 },
  );
  await expect(work).rejects.toMatchObject({ code: 11000 });
  line.mend();
});

it("knows an error from one that is certain", () => {
  const last = new YtError("gone", { code: "TransportError" });
  expect(new TransactionOutcomeUnknown("1-2-3-4", last)).toMatchObject({
    transactionId: "1-2-3-4",
    code: 100,
  });
});
