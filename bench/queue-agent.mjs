// One queue agent that leads a thousand queues and two thousand consumers: how long its passes take, and what
// the process costs.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cpuSecondsOf, memoryOf } from "./processes.mjs";
import { queueSchema } from "./rows.mjs";

const script = fileURLToPath(new URL("../packages/cli/bin/qyt.js", import.meta.url));
const floors = { passMs: 1000, processorShare: 0.3, anonymousMb: 300 };
const queueCount = 1000;
const partitions = 4;
const consumersPerQueue = 2;
const instances = "//sys/queue_agents/instances";

export const queueAgentBenchmarks = { agent };

/** Of the queues so many are written to and read from in each second of work. */
const busyQueues = 100;
const scrapePeriodMs = 5_000;

async function agent(bench) {
  const { server } = bench;
  await makeObjects(server);
  const agent = await AgentProcess.start(server);
  try {
    await untilAllAreSeen(server);
    const quiet = await agent.measure(bench.seconds);
    const work = beginWork(server);
    const busy = await agent.measure(bench.seconds);
    const scrape = await agent.scrape();
    const scraped = await agent.measure(bench.seconds, scrapePeriodMs);
    await work.end();
    addLines(bench.report, { quiet, busy, scraped, scrape });
  } finally {
    await agent.stop();
  }
}

function addLines(report, { quiet, busy, scraped, scrape }) {
  const add = (id, what, figures, conditions) =>
    report.add({
      id,
      what,
      figure: `a pass ${figures.median} ms, ${(figures.share * 100).toFixed(0)} % of a core, RssAnon ${figures.anonymous.toFixed(0)} MB`,
      floor: `${floors.passMs} ms, ${floors.processorShare * 100} %, ${floors.anonymousMb} MB`,
      pass:
        figures.median < floors.passMs &&
        figures.share < floors.processorShare &&
        figures.anonymous < floors.anonymousMb,
      conditions: `${conditions}; ${figures.passes.length} passes seen, the longest ${Math.max(...figures.passes)} ms`,
      values: figures,
    });
  add(
    "agent",
    `queue agent with ${queueCount} queues of ${partitions} partitions and ${queueCount * consumersPerQueue} consumers`,
    quiet,
    "a pass of every object each second; nothing is written meanwhile",
  );
  add(
    "agent-busy",
    "the same at work",
    busy,
    `rows written to ${busyQueues} of the queues each second, and a consumer of each advanced, so rows are trimmed`,
  );
  add(
    "agent-scraped",
    "the same at work, scraped",
    scraped,
    `and GET /metrics every ${scrapePeriodMs / 1000} s: ${scrape.lines.toLocaleString("en-US")} lines, ${(scrape.bytes / 1e6).toFixed(1)} MB, the first in ${scrape.elapsedMs.toFixed(0)} ms`,
  );
}

/** Writes to other queues each second, and advances a consumer of each. */
function beginWork(server) {
  let isOver = false;
  const run = async () => {
    for (let round = 0; !isOver; ++round) {
      const start = performance.now();
      for (let index = 0; index < busyQueues && !isOver; ++index) {
        const path = `//bench/agent/queue-${(round * busyQueues + index) % queueCount}`;
        const rows = Array.from(
          { length: partitions },
          (_, tablet) => `{"$tablet_index"=${tablet};data=row};`,
        );
        await server.command("PUT", "insert_rows", `{path="${path}";input_format=yson}`, rows.join(""));
        const offset = 1 + Math.floor((round * busyQueues) / queueCount);
        await server.command(
          "POST",
          "advance_queue_consumer",
          `{consumer_path="${path}-consumer-0";queue_path="${path}";partition_index=0;new_offset=${offset}}`,
        );
      }
      await sleep(Math.max(0, 1000 - (performance.now() - start)));
    }
  };
  const ended = run();
  return {
    end() {
      isOver = true;
      return ended;
    },
  };
}

/** `qyt queue-agent` in a process of its own. */
class AgentProcess {
  #server;
  #child;
  #address;

  constructor(server, child, address) {
    this.#server = server;
    this.#child = child;
    this.#address = address;
  }

  static async start(server) {
    const child = spawn(process.execPath, [script, "queue-agent", "--proxy", server.origin], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_ENV: "production" },
    });
    const address = await new Promise((resolve, reject) => {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text) => {
        output += text;
        const found = /^listening on (\S+)$/m.exec(output)?.[1];
        if (found !== undefined) {
          resolve(found);
        }
      });
      child.once("exit", (code, signal) => reject(new Error(`The agent ended with ${signal ?? code}`)));
    });
    return new AgentProcess(server, child, address);
  }

  async stop() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
  }

  async scrape() {
    const start = performance.now();
    const text = await (await fetch(`http://${this.#address}/metrics`)).text();
    return {
      lines: text.split("\n").length - 1,
      bytes: Buffer.byteLength(text),
      elapsedMs: performance.now() - start,
    };
  }

  /** Twice as many seconds; memory is the highest of looks ten times a second. */
  async measure(seconds, scrapeEveryMs = Number.POSITIVE_INFINITY) {
    const { pid } = this.#child;
    const before = cpuSecondsOf(pid);
    const start = performance.now();
    const passes = [];
    let anonymous = 0;
    let nextScrapeMs = start;
    for (let look = 1; look <= seconds * 20; look++) {
      await sleep(100);
      anonymous = Math.max(anonymous, memoryOf(pid).anonymous);
      if (look % 10 === 0) {
        passes.push(Number(await orchid(this.#server, "/queue_agent/controller_pass_duration")));
      }
      if (performance.now() >= nextScrapeMs && scrapeEveryMs < Number.POSITIVE_INFINITY) {
        nextScrapeMs += scrapeEveryMs;
        await this.scrape();
      }
    }
    const share = (cpuSecondsOf(pid) - before) / ((performance.now() - start) / 1000);
    const sorted = passes.toSorted((left, right) => left - right);
    return { passes, median: sorted[Math.floor(sorted.length / 2)], share, anonymous };
  }
}

async function makeObjects(server) {
  const queues = Array.from({ length: queueCount }, (_, index) => `//bench/agent/queue-${index}`);
  const consumers = queues.flatMap((queue) =>
    Array.from({ length: consumersPerQueue }, (_, index) => ({ queue, path: `${queue}-consumer-${index}` })),
  );
  const attributes = `{dynamic=%true;tablet_count=${partitions};schema=${queueSchema}}`;
  await batch(
    server,
    queues.map(
      (path) =>
        `{command=create;parameters={type=table;path="${path}";recursive=%true;attributes=${attributes}}}`,
    ),
  );
  await batch(
    server,
    queues.map((path) => `{command=mount_table;parameters={path="${path}"}}`),
  );
  await batch(
    server,
    consumers.map(({ path }) => `{command=create;parameters={type=queue_consumer;path="${path}"}}`),
  );
  await batch(
    server,
    consumers.map(
      ({ path, queue }) =>
        `{command=register_queue_consumer;parameters={queue_path="${queue}";consumer_path="${path}";vital=%true}}`,
    ),
  );
  for (const path of queues) {
    await server.waitMounted(path);
    const rows = Array.from({ length: partitions }, (_, index) => `{"$tablet_index"=${index};data=row}`);
    await server.command("PUT", "insert_rows", `{path="${path}";input_format=yson}`, `${rows.join(";")};`);
  }
}

/** Sends the sub-requests in portions. */
async function batch(server, requests) {
  const portion = 100;
  for (let at = 0; at < requests.length; at += portion) {
    const list = requests.slice(at, at + portion).join(";");
    const answer = await server.command("POST", "execute_batch", `{requests=[${list}];output_format=json}`);
    const failed = JSON.parse(answer).results.find((result) => result.error !== undefined);
    if (failed !== undefined) {
      throw new Error(failed.error.message);
    }
  }
}

/** Until every object has had its first passes, and the last of them is quiet. */
async function untilAllAreSeen(server) {
  const limitMs = 120_000;
  const lastQueue = `bench:\\\\/\\\\/bench\\\\/agent\\\\/queue-${queueCount - 1}`;
  const lastConsumer = `${lastQueue}-consumer-${consumersPerQueue - 1}`;
  for (const start = performance.now(); ; ) {
    try {
      const indexes = await Promise.all([
        orchid(server, `/queue_agent/queues/${lastQueue}/pass_index`),
        orchid(server, `/queue_agent/consumers/${lastConsumer}/pass_index`),
      ]);
      if (indexes.every((index) => Number(index) >= 5)) {
        return;
      }
    } catch (error) {
      if (performance.now() - start > limitMs) {
        throw error;
      }
    }
    await sleep(500);
  }
}

async function orchid(server, path) {
  const listed = await server.command("GET", "list", `{path="${instances}";output_format=json}`);
  const [name] = JSON.parse(listed).value;
  const answer = await server.command(
    "GET",
    "get",
    `{path="${instances}/${name}/orchid${path}";output_format=json}`,
  );
  return JSON.parse(answer).value;
}
