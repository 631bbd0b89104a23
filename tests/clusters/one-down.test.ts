/**
 * Every queue command of the multi-cluster matrix while the other cluster is down: it works when it needs
 * nothing of that cluster; otherwise it says within its time which cluster did not answer, and nothing of
 * it is done.
 */
import { mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { messagesOf } from "@qyt/testing";
import { toYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterProcess, TwoProcesses } from "./processes.ts";

/** `timeout` of the requests, in milliseconds, and how much later an answer may come on a busy machine. */
const timeoutMs = 700;
const slackMs = 2500;

interface Attempt {
  readonly error: YtError | undefined;
  readonly elapsedMs: number;
}

async function attempt(work: () => Promise<unknown>): Promise<Attempt> {
  const start = performance.now();
  try {
    await work();
    return { error: undefined, elapsedMs: performance.now() - start };
  } catch (thrown) {
    return { error: toYtError(thrown), elapsedMs: performance.now() - start };
  }
}

type Parameters = Readonly<Record<string, YsonValue | undefined>>;

function execute(client: YtClient, command: string, parameters: Parameters): Promise<unknown> {
  return client.execute(command, { ...parameters, timeout: BigInt(timeoutMs) });
}

async function pull(client: YtClient, command: string, parameters: Parameters): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const all = { partition_index: 0n, offset: 0n, output_format: "json", timeout: BigInt(timeoutMs) };
  for await (const chunk of client.streamRows(command, { ...all, ...parameters })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const queue = "//tmp/queue";
const consumer = "//tmp/consumer";
/** Registered for both queues; the ones whose registrations are to be ended. */
const leavingConsumer = "//tmp/leaving-consumer";
/** Not registered for anything. */
const otherConsumer = "//tmp/other-consumer";
const producer = "//tmp/producer";

interface Case {
  readonly title: string;
  /** Whether the other cluster is needed. */
  readonly needsOther: boolean;
  run(client: YtClient): Promise<unknown>;
}

/**
 * The matrix, as asked of the cluster `here` while `there` is down. What needs the registrations needs
 * `there` only where that cluster keeps them.
 */
function matrix(here: string, there: string, keeper: string): Case[] {
  const at = (cluster: string, path: string): string => `<cluster=${cluster}>${path}`;
  const isKeptThere = keeper === there;
  const cases: Case[] = [];
  const add = (title: string, needsOther: boolean, run: Case["run"]): void => {
    cases.push({ title, needsOther, run });
  };
  for (const [where, queueCluster] of [
    ["here", here],
    ["there", there],
  ] as const) {
    const queuePath = at(queueCluster, queue);
    const isThere = queueCluster === there;
    for (const [consumerWhere, consumerCluster] of [
      ["here", here],
      ["there", there],
    ] as const) {
      const pair = `queue ${where}, consumer ${consumerWhere}`;
      const anyThere = isThere || consumerCluster === there || isKeptThere;
      add(`register_queue_consumer, ${pair}`, anyThere, (client) =>
        execute(client, "register_queue_consumer", {
          queue_path: queuePath,
          consumer_path: at(consumerCluster, otherConsumer),
          vital: true,
        }),
      );
      // The right on the one that is here is enough.
      const bothThere = isThere && consumerCluster === there;
      add(`unregister_queue_consumer, ${pair}`, bothThere || isKeptThere, (client) =>
        execute(client, "unregister_queue_consumer", {
          queue_path: queuePath,
          consumer_path: at(consumerCluster, leavingConsumer),
        }),
      );
    }
    add(`list_queue_consumer_registrations, queue ${where}`, isThere || isKeptThere, (client) =>
      client.execute(
        "list_queue_consumer_registrations",
        { queue_path: queuePath, timeout: BigInt(timeoutMs) },
        { method: "GET" },
      ),
    );
    add(`pull_queue_consumer, queue ${where}`, isThere || isKeptThere, (client) =>
      pull(client, "pull_queue_consumer", { queue_path: queuePath, consumer_path: consumer }),
    );
    add(`pull_queue_consumer that would wait, queue ${where}`, isThere || isKeptThere, (client) =>
      pull(client, "pull_queue_consumer", {
        queue_path: queuePath,
        consumer_path: consumer,
        offset: 100n,
        wait_timeout: 600_000n,
      }),
    );
    const advance = {
      queue_path: queuePath,
      consumer_path: consumer,
      partition_index: 0n,
      old_offset: 1n,
      new_offset: 2n,
    };
    add(`advance_queue_consumer, queue ${where}`, isThere || isKeptThere, (client) =>
      execute(client, "advance_queue_consumer", advance),
    );
    add(`advance_queue_consumer in a transaction, queue ${where}`, isThere || isKeptThere, async (client) => {
      const transactionId = await client.startTransaction({ type: "tablet" });
      const { error } = await attempt(() =>
        execute(client, "advance_queue_consumer", {
          ...advance,
          old_offset: undefined,
          transaction_id: transactionId,
        }),
      );
      // The transaction is as it was: what else is in it is committed.
      await client.commitTransaction(transactionId);
      if (error !== undefined) {
        throw error;
      }
    });
    add(`advance_queue_consumer on the client's side, queue ${where}`, false, (client) =>
      execute(client, "advance_queue_consumer", {
        ...advance,
        consumer_path: otherConsumer,
        old_offset: 0n,
        client_side: true,
      }),
    );
  }
  add("list_queue_consumer_registrations of all", isKeptThere, (client) =>
    client.execute("list_queue_consumer_registrations", { timeout: BigInt(timeoutMs) }, { method: "GET" }),
  );
  add("pull_queue", false, (client) => pull(client, "pull_queue", { queue_path: queue }));
  const session = { producer_path: producer, queue_path: queue, session_id: "session" };
  add("create_queue_producer_session", false, (client) =>
    execute(client, "create_queue_producer_session", session),
  );
  add("push_queue_producer", false, (client) =>
    client.execute(
      "push_queue_producer",
      { ...session, epoch: 0n, sequence_number: 1n, input_format: "json", timeout: BigInt(timeoutMs) },
      { body: Buffer.from('{"data":"pushed"}') },
    ),
  );
  add("remove_queue_producer_session", false, (client) =>
    execute(client, "remove_queue_producer_session", session),
  );
  return cases;
}

async function prepare({ client }: ClusterProcess): Promise<void> {
  await client.create("table", queue, {
    attributes: mapOf({ dynamic: true, schema: toYson([{ name: "data", type: "string" }]) }),
  });
  await client.mountTable(queue);
  await client.create("queue_consumer", consumer);
  await client.create("queue_consumer", leavingConsumer);
  await client.create("queue_consumer", otherConsumer);
  await client.create("queue_producer", producer);
  await client.insertRows(queue, [{ data: "a" }, { data: "b" }, { data: "c" }]);
}

interface State {
  readonly registrations: readonly Record<string, unknown>[];
  readonly [what: string]: unknown;
}

/** What the two clusters keep: registrations, offsets and rows. */
async function stateOf({ first, second }: TwoProcesses): Promise<State> {
  const registrations = await first.client.selectRows("* from [//sys/queue_agents/consumer_registrations]");
  const state: { registrations: State["registrations"]; [what: string]: unknown } = { registrations };
  for (const { name, client } of [first, second]) {
    state[`offsets of ${name}`] = await client.selectRows(`* from [${consumer}]`);
    state[`rows of ${name}`] = (await client.pullQueue(queue, 0n, 0)).length;
  }
  return state;
}

/**
 * What must not change while requests fail. A cluster that was frozen finds in its sockets what was sent to
 * it meanwhile, and may still do it, so there only the registrations count that no request was about.
 */
function unchanging(state: State, how: "stopped" | "frozen"): unknown {
  const isUntouched = (registration: Record<string, unknown>): boolean =>
    registration["consumer_path"] === consumer;
  return how === "stopped" ? state : { ...state, registrations: state.registrations.filter(isUntouched) };
}

async function setUp(both: TwoProcesses): Promise<void> {
  await prepare(both.first);
  await prepare(both.second);
  for (const queueCluster of [both.first.name, both.second.name]) {
    for (const { name, client } of [both.first, both.second]) {
      const path = `<cluster=${queueCluster}>${queue}`;
      await client.registerQueueConsumer(path, consumer, { vital: false });
      await client.registerQueueConsumer(path, leavingConsumer, { vital: false });
      await client.advanceQueueConsumer(consumer, path, 0, { oldOffset: 0n, newOffset: 1n });
      expect((await client.pullQueueConsumer(consumer, path, null, 0)).length, `${name} reads`).toBe(2);
    }
  }
}

interface Scenario {
  readonly title: string;
  readonly down: "first" | "second";
  readonly how: "stopped" | "frozen";
}

const scenarios: readonly Scenario[] = [
  { title: "the registrations' cluster is stopped", down: "first", how: "stopped" },
  { title: "the registrations' cluster is frozen", down: "first", how: "frozen" },
  { title: "the other cluster is stopped", down: "second", how: "stopped" },
  { title: "the other cluster is frozen", down: "second", how: "frozen" },
];

describe.each(scenarios)("$title", ({ down, how }) => {
  let both: TwoProcesses;
  let here: ClusterProcess;
  let there: ClusterProcess;
  let before: State;

  beforeAll(async () => {
    both = await TwoProcesses.start("pythia", "freud");
    [here, there] = down === "first" ? [both.second, both.first] : [both.first, both.second];
    await setUp(both);
    before = await stateOf(both);
    if (how === "stopped") {
      await there.stop();
    } else {
      there.freeze();
    }
  });
  afterAll(() => both?.close());

  const names = { first: "pythia", second: "freud" };
  const thereName = names[down];
  const cases = matrix(down === "first" ? "freud" : "pythia", thereName, "pythia");

  it.each(cases.filter(({ needsOther }) => needsOther))(
    "$title: says that it did not answer",
    async ({ run }) => {
      const { error, elapsedMs } = await attempt(() => run(here.client));
      expect(error).toBeInstanceOf(YtError);
      expect(messagesOf(error ?? new YtError("")).join("\n")).toMatch(
        new RegExp(`cluster "${thereName}"[^\n]* did not answer`, "i"),
      );
      // On top too: not everybody prints the errors inside.
      expect(error?.message).toContain(thereName);
      expect(error?.has(how === "stopped" ? "TransportError" : "Timeout")).toBe(true);
      expect(elapsedMs).toBeLessThan(timeoutMs + slackMs);
    },
  );

  it.runIf(down === "second" && how === "frozen")(
    "a request without a time of its own ends after ten seconds",
    { timeout: 60_000 },
    async () => {
      const { error, elapsedMs } = await attempt(() =>
        here.client.registerQueueConsumer(`${thereName}:${queue}`, otherConsumer, { vital: true }),
      );
      expect(error?.message).toContain(`Cluster "${thereName}" did not answer within 10000 ms`);
      expect(elapsedMs).toBeLessThan(10_000 + slackMs);
    },
  );

  it("nothing of it is done", async () => {
    if (how === "stopped") {
      await there.start();
    } else {
      there.thaw();
    }
    const after = await stateOf(both);
    expect(unchanging(after, how)).toEqual(unchanging(before, how));
    // Whole or not at all.
    for (const registration of after.registrations) {
      expect([true, false]).toContain(registration["vital"]);
    }
    if (how === "stopped") {
      await there.stop();
    } else {
      there.freeze();
    }
  });

  it.each(cases.filter(({ needsOther }) => !needsOther))("$title: works", async ({ run }) => {
    const { error, elapsedMs } = await attempt(() => run(here.client));
    expect(error === undefined ? "" : messagesOf(error).join("\n")).toBe("");
    expect(elapsedMs).toBeLessThan(timeoutMs + slackMs);
  });

  it("all of it works when the cluster is back", async () => {
    if (how === "stopped") {
      await there.start();
    } else {
      there.thaw();
    }
    await here.client.registerQueueConsumer(`${thereName}:${queue}`, otherConsumer, { vital: true });
    const rows = await here.client.pullQueueConsumer(otherConsumer, `${thereName}:${queue}`, 0n, 0);
    expect(rows.length).toBeGreaterThan(0);
  });
});
