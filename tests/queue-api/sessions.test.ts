/** Producers and their sessions: epochs, numbers and what a session remembers. */
import { limits, mapOf, type YsonValue } from "@qyt/base";
import { producerSchema } from "@qyt/schema";
import { toYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, type Row, startOne, type TestCluster } from "./fixture.ts";

let primary: TestCluster;

beforeAll(async () => {
  primary = await startOne();
  await primary.createQueue("//tmp/q1");
  await primary.createQueue("//tmp/q2");
});

afterAll(() => primary?.close());

const create = (producer: string, queue: string, session: string, userMeta?: YsonValue) =>
  primary.root.createQueueProducerSession(
    producer,
    queue,
    session,
    userMeta === undefined ? {} : { userMeta },
  );

async function sessions(producer: string): Promise<Row[]> {
  const columns = "queue_cluster, queue_path, session_id, sequence_number, epoch, user_meta";
  return primary.root.selectRows(`${columns} from [${producer}]`);
}

describe("create queue_producer and queue_consumer", () => {
  it("[queue-api 90] makes a mounted table with the schema of producers", async () => {
    await primary.root.create("queue_producer", "//tmp/created/p", {
      recursive: true,
      // What the type says wins over what the caller says.
      attributes: mapOf({ dynamic: false, schema: [mapOf({ name: "x", type: "int64" })] }),
    });
    const get = (name: string) => primary.root.get(`//tmp/created/p/@${name}`);
    expect(await get("type")).toBe("table");
    expect(await get("dynamic")).toBe(true);
    expect(await get("treat_as_queue_producer")).toBe(true);
    expect(await get("schema")).toEqual(producerSchema.toYson());
    expect(await get("tablet_state")).toBe("mounted");
    expect(await sessions("//tmp/created/p")).toEqual([]);
  });

  it("makes a consumer that takes offsets at once", async () => {
    await primary.root.create("queue_consumer", "//tmp/created/c", { recursive: true });
    expect(await primary.root.get("//tmp/created/c/@treat_as_queue_consumer")).toBe(true);
    await primary.root.registerQueueConsumer("//tmp/q1", "//tmp/created/c", { vital: false });
    await primary.root.advanceQueueConsumer("//tmp/created/c", "//tmp/q1", 0, {
      oldOffset: 0n,
      newOffset: 1n,
    });
  });
});

describe("a producer session", () => {
  const p = "//tmp/session/p";

  beforeAll(() => primary.createProducer(p));

  it("[queue-api 91] begins at epoch 0 before the first number", async () => {
    const userMeta = toYson({ a: 1, b: "x" });
    expect(await create(p, "//tmp/q1", "s", userMeta)).toEqual({ epoch: 0n, sequenceNumber: -1n, userMeta });
    expect(await sessions(p)).toEqual([
      {
        queue_cluster: "primary",
        queue_path: "//tmp/q1",
        session_id: "s",
        sequence_number: -1n,
        epoch: 0n,
        user_meta: { a: 1n, b: "x" },
      },
    ]);
  });

  it("is not taken over by a call whose answer could not be told: NaN is not JSON, alone and in a batch", async () => {
    const session = `{producer_path="${p}";queue_path="//tmp/q2";session_id=nan;user_meta=%nan}`;
    const call = async (command: string, parameters: string, format: string): Promise<string> => {
      const response = await fetch(`http://${primary.cluster.address}/api/v4/${command}`, {
        method: "POST",
        headers: {
          "X-YT-Header-Format": "<format=text>yson",
          "X-YT-Parameters": parameters,
          "X-YT-Output-Format": format,
        },
      });
      return `${response.status} ${await response.text()}`;
    };
    const nan = "create_queue_producer_session";
    expect(await call(nan, session, "json")).toMatch(/^400 .*NaN/is);
    const batch = `{requests=[{command=${nan};parameters=${session}}]}`;
    expect(await call("execute_batch", batch, "json")).toMatch(/^200 .*"error".*NaN/is);
    expect((await sessions(p)).filter((row) => row["session_id"] === "nan")).toEqual([]);
    expect(await call(nan, session, "<format=text>yson")).toMatch(/^200 .*"epoch"=0;/s);
    // What is kept from an earlier call is told too.
    expect(await call(nan, session.replace("user_meta=%nan", ""), "json")).toMatch(/^400 .*NaN/is);
    expect((await sessions(p)).find((row) => row["session_id"] === "nan")?.["epoch"]).toBe(0n);
    await primary.root.removeQueueProducerSession(p, "//tmp/q2", "nan");
  });

  it("[queue-api 92] is taken over with the next epoch and another user meta", async () => {
    await primary.root.insertRows(
      p,
      [
        {
          queue_cluster: "primary",
          queue_path: "//tmp/q1",
          session_id: "s",
          sequence_number: 100n,
          epoch: 200n,
        },
      ],
      { update: true },
    );
    expect(await create(p, "//tmp/q1", "s", [1n, "two"])).toEqual({
      epoch: 201n,
      sequenceNumber: 100n,
      userMeta: [1n, "two"],
    });
  });

  it("[queue-api 93] keeps the user meta when none is given", async () => {
    expect(await create(p, "//tmp/q1", "s")).toEqual({
      epoch: 202n,
      sequenceNumber: 100n,
      userMeta: [1n, "two"],
    });
  });

  it("[queue-api 94] begins anew after it was removed", async () => {
    await primary.root.removeQueueProducerSession(p, "//tmp/q1", "s");
    expect(await sessions(p)).toEqual([]);
    await primary.root.removeQueueProducerSession(p, "//tmp/q1", "s");
    expect(await create(p, "//tmp/q1", "s")).toEqual({ epoch: 0n, sequenceNumber: -1n, userMeta: null });
  });

  it("takes any value as user meta, and a queue that is not there", async () => {
    for (const [index, userMeta] of [5n, "text", true, toYson({ a: [1.5] })].entries()) {
      expect((await create(p, "//tmp/none", `any-${index}`, userMeta)).userMeta).toEqual(userMeta);
    }
  });

  it("refuses a user meta that is longer than a value of a row may be, and stays as it was", async () => {
    await primary.root.create("queue_producer", "//tmp/long-meta");
    await create("//tmp/long-meta", "//tmp/q1", "s", "short");
    const long = "x".repeat(limits.maxStringValueBytes);
    expect((await failureOf(create("//tmp/long-meta", "//tmp/q1", "s", long))).codes).toContain(326);
    const [session] = await sessions("//tmp/long-meta");
    expect(session).toMatchObject({ epoch: 0n, user_meta: "short" });
  });

  it("[queue-api 95] [queue-api 96] is one per producer, queue and id", async () => {
    const many = "//tmp/session/many";
    await primary.createProducer(many);
    for (const epoch of [0n, 1n, 2n, 3n]) {
      expect((await create(many, "//tmp/q1", "a", "meta a")).epoch).toBe(epoch);
    }
    for (const epoch of [0n, 1n, 2n]) {
      expect((await create(many, "//tmp/q2", "a", "meta of q2")).epoch).toBe(epoch);
    }
    for (const epoch of [0n, 1n]) {
      expect((await create(many, "//tmp/q1", "b")).epoch).toBe(epoch);
    }
    expect((await create(many, "//tmp/q1", "a")).userMeta).toBe("meta a");
    expect((await create(many, "//tmp/q2", "a")).userMeta).toBe("meta of q2");
    const keys = async () =>
      (await sessions(many)).map((row) => `${String(row["queue_path"])} ${String(row["session_id"])}`);
    expect(await keys()).toEqual(["//tmp/q1 a", "//tmp/q1 b", "//tmp/q2 a"]);
    await primary.root.removeQueueProducerSession(many, "//tmp/q1", "a");
    expect(await keys()).toEqual(["//tmp/q1 b", "//tmp/q2 a"]);
    await primary.root.removeQueueProducerSession(many, "//tmp/q2", "a");
    expect(await keys()).toEqual(["//tmp/q1 b"]);
  });

  it("concurrent takeovers never share an epoch", async () => {
    await create(p, "//tmp/q1", "race");
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => create(p, "//tmp/q1", "race")));
    const epochs = outcomes.flatMap((outcome) =>
      outcome.status === "fulfilled" ? [outcome.value.epoch] : [],
    );
    expect(epochs.length).toBeGreaterThan(0);
    expect(new Set(epochs).size).toBe(epochs.length);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect((await failureOf(Promise.reject(outcome.reason))).codes).toContain(1700);
      }
    }
  });
});

describe("mutation ids of create_queue_producer_session", () => {
  const p = "//tmp/mutation/p";
  const epochOf = async (mutationId: string, client = primary.root): Promise<unknown> => {
    const answer = await client.requester.receiveValue({
      command: "create_queue_producer_session",
      method: "POST",
      // The client would put an id of its own in front.
      isVolatile: false,
      parameters: { producer_path: p, queue_path: "//tmp/q1", session_id: "s", mutation_id: mutationId },
    });
    return answer instanceof Map ? answer.get("epoch") : undefined;
  };

  it("[queue-api 97] a repeat answers as the first call did, another call takes over", async () => {
    await primary.createProducer(p);
    await create(p, "//tmp/q1", "s");
    expect(await epochOf("1-2-3-4")).toBe(1n);
    expect(await epochOf("1-2-3-4")).toBe(1n);
    expect(await epochOf("1-2-3-5")).toBe(2n);
  });

  it("[queue-api 97] the session itself knows the id, when no proxy remembers the answer", async () => {
    // Answers are remembered by user, so another one comes to the session.
    await primary.user("other");
    await primary.allow("//tmp/mutation", "other", ["read", "write"]);
    const other = primary.client({ user: "other" });
    expect(await epochOf("1-2-3-6")).toBe(3n);
    expect(await epochOf("1-2-3-6", other)).toBe(3n);
  });

  it("a repeat that comes after another takeover does not share its epoch", async () => {
    const other = primary.client({ user: "other" });
    expect(await epochOf("1-2-3-7")).toBe(4n);
    const taken = await primary.root.requester.receiveValue({
      command: "create_queue_producer_session",
      method: "POST",
      isVolatile: false,
      parameters: { producer_path: p, queue_path: "//tmp/q1", session_id: "s" },
    });
    expect(taken instanceof Map ? taken.get("epoch") : undefined).toBe(5n);
    expect(await epochOf("1-2-3-7", other)).toBe(6n);
  });
});

describe("rights and places of sessions", () => {
  it("need write on the producer only", async () => {
    const frank = await primary.user("frank");
    const p = "//tmp/rights/p";
    await primary.createProducer(p);
    await primary.set(`${p}/@inherit_acl`, false);
    await primary.createQueue("//tmp/rights/q", { attributes: { inherit_acl: false } });
    const open = () => frank.createQueueProducerSession(p, "//tmp/rights/q", "s");
    const failure = await failureOf(open());
    expect(failure.codes).toContain(901);
    expect(failure.text).toContain(`No Write permission for ${p}`);
    expect((await failureOf(frank.removeQueueProducerSession(p, "//tmp/rights/q", "s"))).codes).toContain(
      901,
    );
    await primary.allow(p, "frank", ["write"]);
    expect((await open()).epoch).toBe(0n);
    await frank.removeQueueProducerSession(p, "//tmp/rights/q", "s");
  });

  it("a missing producer is not found, any other table is none", async () => {
    expect((await failureOf(create("//tmp/none", "//tmp/q1", "s"))).codes).toContain(500);
    await primary.createConsumer("//tmp/no-producer");
    expect((await failureOf(create("//tmp/no-producer", "//tmp/q1", "s"))).text).toContain("queue producer");
  });

  it("are refused on another cluster, with the commands to send there", async () => {
    await primary.createProducer("//tmp/places/p");
    for (const [producer, queue] of [
      ["//tmp/places/p", "freud://tmp/q1"],
      ["freud://tmp/places/p", "//tmp/q1"],
    ] as const) {
      expect((await failureOf(create(producer, queue, "s"))).text).toContain("create_queue_producer_session");
      const push = primary.root.pushQueueProducer(producer, queue, "s", 0n, [{ data: "a" }]);
      expect((await failureOf(push)).text).toContain("push_queue_producer");
      const remove = primary.root.removeQueueProducerSession(producer, queue, "s");
      expect((await failureOf(remove)).text).toContain("remove_queue_producer_session");
    }
  });
});
