/**
 * Two agents and the server, real processes, killed and paused at random while producers write, a vital consumer
 * reads, and two exports and trimming are on. `QYT_KILLS` says how many (default 30), `QYT_TEST_SEED` repeats a
 * run's choices.
 *
 * Row n of tablet t holds `t/n`, written exactly once by a producer session, so that every reader can tell what it
 * must find: the consumer never meets a gap, no export has a row twice or lacks one, and no trimmed row was still
 * needed by any of them.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, type Random, type YsonValue, YtError } from "@qyt/base";
import { createClient, type YtClient } from "@qyt/client";
import {
  between,
  freePort,
  ProgramProcess,
  pick,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
  testRandom,
} from "@qyt/testing";
import { expect, it } from "vitest";
import { eventually } from "./agent-fixture.ts";
import {
  agentConfig,
  createExportedQueue,
  exportedData,
  exports,
  kills,
  queue,
  tablets,
  trimAutomatically,
} from "./kills-fixture.ts";

const consumer = "//tmp/consumer";
const producer = "//tmp/producer";

/** The processes, each of which may be gone or stopped at any moment. */
class Cast {
  readonly client: YtClient;
  readonly #random: Random;
  readonly #folder: TemporaryDirectory;
  readonly #address: string;
  #server: ProgramProcess | undefined;
  readonly #agents: ProgramProcess[] = [];

  constructor(random: Random, folder: TemporaryDirectory, address: string) {
    this.#random = random;
    this.#folder = folder;
    this.#address = address;
    this.client = createClient({ proxy: address, retries: false });
  }

  async start(): Promise<void> {
    await this.#startServer();
    for (const index of [0, 1]) {
      await this.#startAgent(index);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents, this.#server].map((program) => program?.kill()));
    await this.client.close();
  }

  get output(): string {
    const [first, second] = this.#agents;
    return `--- agents:\n${first?.output}\n${second?.output}\n--- server:\n${this.#server?.output}`;
  }

  /** One of the things that happen to processes; all of them run when it is over. */
  async disrupt(): Promise<void> {
    const index = between(this.#random, 0, 1);
    const agent = this.#agents[index];
    switch (pick(this.#random, ["kill agent", "kill server", "pause agent", "pause server", "kill both"])) {
      case "kill agent":
        await agent?.kill();
        return this.#startAgent(index);
      case "kill server":
        await this.#server?.kill();
        return this.#startServer();
      case "pause agent":
        // Longer than its membership holds, or not.
        return pause(agent, between(this.#random, 100, 2_500));
      case "pause server":
        return pause(this.#server, between(this.#random, 100, 2_500));
      default:
        await Promise.all([agent?.kill(), this.#server?.kill()]);
        await Promise.all([this.#startServer(), this.#startAgent(index)]);
    }
  }

  async #startServer(): Promise<void> {
    const data = join(this.#folder.path, "data");
    this.#server = await startProcess({
      args: ["--data-dir", data, "--cluster", `primary=${this.#address}`, "--no-queue-agent"],
      timeoutMs: 60_000,
    });
  }

  async #startAgent(index: number): Promise<void> {
    const file = join(this.#folder.path, `agent-${index}.yson`);
    await writeFile(file, agentConfig(this.#random));
    const args = ["queue-agent", "--config", file, "--proxy", this.#address];
    const agent = ProgramProcess.spawn({ args, timeoutMs: 60_000 });
    this.#agents[index] = agent;
    await agent.waitForOutput("qyt queue-agent is ready");
  }
}

async function pause(program: ProgramProcess | undefined, ms: number): Promise<void> {
  if (program !== undefined) {
    process.kill(program.pid, "SIGSTOP");
    await delay(ms);
    process.kill(program.pid, "SIGCONT");
  }
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A loop that goes on over whatever fails because of a process that is away; any other failure ends the test. */
class Loop {
  readonly #done: Promise<void>;
  #isStopped = false;

  constructor(step: () => Promise<void>) {
    this.#done = this.#run(step);
    this.#done.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(step: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await step();
      } catch (thrown) {
        if (!(thrown instanceof YtError)) {
          throw thrown;
        }
        await delay(50);
      }
    }
  }
}

/** Writes the next rows of one tablet, exactly once. */
function writing(client: YtClient, tablet: number, random: Random): Loop {
  const session = `writer-${tablet}`;
  let opened: { epoch: bigint; next: bigint } | undefined;
  return new Loop(async () => {
    try {
      if (opened === undefined) {
        const { epoch, sequenceNumber } = await client.createQueueProducerSession(producer, queue, session);
        opened = { epoch, next: sequenceNumber + 1n };
      }
      const { epoch, next } = opened;
      const rows = Array.from({ length: between(random, 1, 20) }, (_, index) => ({
        $tablet_index: BigInt(tablet),
        $sequence_number: next + BigInt(index),
        data: `${tablet}/${next + BigInt(index)}`,
      }));
      await client.pushQueueProducer(producer, queue, session, epoch, rows);
      opened = { epoch, next: next + BigInt(rows.length) };
      await delay(between(random, 0, 40));
    } catch (thrown) {
      opened = undefined;
      throw thrown;
    }
  });
}

/** Reads one tablet from the stored offset on. @throws Error when a row that was not yet read is gone */
function reading(client: YtClient, tablet: number): Loop {
  return new Loop(async () => {
    const offset = await storedOffset(client, tablet);
    const rows = await client.pullQueueConsumer(consumer, queue, offset, tablet, { maxRowCount: 50n });
    for (const [index, row] of rows.entries()) {
      const expected = offset + BigInt(index);
      if (row["$row_index"] !== expected || row["data"] !== `${tablet}/${expected}`) {
        throw new Error(
          `Tablet ${tablet}: row ${expected} was due, came ${row["$row_index"]}: ${row["data"]}`,
        );
      }
    }
    if (rows.length > 0) {
      const newOffset = offset + BigInt(rows.length);
      await client.advanceQueueConsumer(consumer, queue, tablet, { oldOffset: offset, newOffset });
    } else {
      await delay(50);
    }
  });
}

async function storedOffset(client: YtClient, tablet: number): Promise<bigint> {
  const [row] = await client.lookupRows(consumer, [
    { queue_cluster: "primary", queue_path: queue, partition_index: BigInt(tablet) },
  ]);
  const offset = row?.["offset"] ?? 0n;
  return typeof offset === "bigint" ? offset : -1n;
}

async function tabletInfos(client: YtClient, field: string): Promise<bigint[]> {
  const infos = await client.getTabletInfos(queue, tablets);
  return (Array.isArray(infos) ? infos : []).map((info) =>
    BigInt(isMap(info) ? String(info.get(field)) : -1),
  );
}

/** How far an export has come, by tablet. */
async function exportedCounts(client: YtClient, directory: string): Promise<bigint[]> {
  const progress: YsonValue = await client.get(`${directory}/@queue_static_export_progress`);
  const byTablet = isMap(progress) ? progress.get("tablets") : undefined;
  return tablets.map((tablet) => {
    const entry = isMap(byTablet) ? byTablet.get(String(tablet)) : undefined;
    return isMap(entry) ? BigInt(Object(entry.get("row_count") ?? 0n)) : 0n;
  });
}

/** As soon as it can be read. The boundary is read first: what is needed only grows away from it. */
async function expectNothingNeededTrimmed(client: YtClient): Promise<void> {
  const { trimmed, all } = await eventually(async () => {
    const trimmed = await tabletInfos(client, "trimmed_row_count");
    const offsets = await Promise.all(tablets.map((tablet) => storedOffset(client, tablet)));
    const exported = await Promise.all(Object.values(exports).map((path) => exportedCounts(client, path)));
    return { trimmed, all: [offsets, ...exported] };
  }, 60_000);
  for (const needed of all) {
    expect(trimmed.filter((count, tablet) => count > (needed[tablet] ?? 0n))).toEqual([]);
  }
}

async function expectStatuses(client: YtClient): Promise<void> {
  const status = await client.get(`${queue}/@queue_status`);
  expect(isMap(status) ? [status.get("partition_count"), status.get("error")] : status).toEqual([
    BigInt(tablets.length),
    undefined,
  ]);
  const sub = await client.get(`${consumer}/@queue_consumer_status/queues/primary:\\/\\/tmp\\/queue`);
  expect(isMap(sub) ? sub.get("partition_count") : sub).toBe(BigInt(tablets.length));
}

/** What all tables of a directory hold, in the order of their names: the rows of each tablet. */
async function exportedRows(client: YtClient, directory: string): Promise<string[][]> {
  const rows: string[][] = tablets.map(() => []);
  for (const data of await exportedData(client, directory)) {
    const [tablet, row = ""] = data.split("/");
    rows[Number(tablet)]?.push(row);
  }
  return rows;
}

async function prepare(client: YtClient): Promise<void> {
  await createExportedQueue(client);
  await client.create("queue_consumer", consumer);
  await client.create("queue_producer", producer);
  await client.registerQueueConsumer(queue, consumer, { vital: true });
  await trimAutomatically(client);
}

it(`trims nothing needed and exports each row once over ${kills} kills and pauses`, {
  timeout: 180_000 + kills * 20_000,
}, async () => {
  const random = testRandom("kills of agents and server");
  const folder = await temporaryDirectory("agent-kills");
  const cast = new Cast(random, folder, `127.0.0.1:${await freePort()}`);
  const { client } = cast;
  try {
    await cast.start();
    await prepare(client);
    const writers = tablets.map((tablet) => writing(client, tablet, random));
    const readers = tablets.map((tablet) => reading(client, tablet));
    await expectNothingNeededTrimmed(client);
    for (let kill = 0; kill < kills; ++kill) {
      await delay(between(random, 0, 800));
      await cast.disrupt();
      await expectNothingNeededTrimmed(client);
    }
    await Promise.all(writers.map((writer) => writer.stop()));

    const written = await tabletInfos(client, "total_row_count");
    expect(written.filter((count) => count === 0n)).toEqual([]);
    await eventually(() => expectStatuses(client), 60_000);
    // All read and all exported, so that all is trimmed: nothing holds anything back for ever.
    await eventually(async () => {
      expect(await Promise.all(tablets.map((tablet) => storedOffset(client, tablet)))).toEqual(written);
      expect(await tabletInfos(client, "trimmed_row_count")).toEqual(written);
    }, 90_000);
    await Promise.all(readers.map((reader) => reader.stop()));
    const due = written.map((count) => Array.from({ length: Number(count) }, (_, row) => String(row)));
    for (const directory of Object.values(exports)) {
      expect(await exportedRows(client, directory)).toEqual(due);
    }
  } catch (thrown) {
    throw new Error(`${String(thrown)}\n${cast.output}`, { cause: thrown });
  } finally {
    await cast.stop();
    await folder.remove();
  }
});
