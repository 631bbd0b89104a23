// One queue agent that leads a thousand queues and two thousand consumers: how long its passes take, and what
// the process costs.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { queueSchema } from "./rows.mjs";

const script = fileURLToPath(new URL("../packages/cli/bin/qyt.js", import.meta.url));
const floors = { passMs: 1000, processorShare: 0.3, anonymousMb: 300 };
const queueCount = 1000;
const partitions = 4;
const consumersPerQueue = 2;
const instances = "//sys/queue_agents/instances";

export const queueAgentBenchmarks = { agent };

async function agent(bench) {
  const { server } = bench;
  await makeObjects(server);
  const child = spawn(process.execPath, [script, "queue-agent", "--proxy", server.origin], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  try {
    await untilAllAreSeen(server);
    const before = cpuSeconds(child.pid);
    const start = performance.now();
    const passes = [];
    let anonymous = 0;
    for (let second = 0; second < bench.seconds * 2; second++) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      passes.push(Number(await orchid(server, "/queue_agent/controller_pass_duration")));
      anonymous = Math.max(anonymous, anonymousMb(child.pid));
    }
    const seconds = (performance.now() - start) / 1000;
    const share = (cpuSeconds(child.pid) - before) / seconds;
    const sorted = passes.toSorted((left, right) => left - right);
    const median = sorted[Math.floor(sorted.length / 2)];
    bench.report.add({
      id: "agent",
      what: `queue agent with ${queueCount} queues of ${partitions} partitions and ${queueCount * consumersPerQueue} consumers`,
      figure: `a pass ${median} ms, ${(share * 100).toFixed(0)} % of a core, RssAnon ${anonymous.toFixed(0)} MB`,
      floor: `${floors.passMs} ms, ${floors.processorShare * 100} %, ${floors.anonymousMb} MB`,
      pass: median < floors.passMs && share < floors.processorShare && anonymous < floors.anonymousMb,
      conditions: `a pass of every object each second, ${passes.length} passes seen, the longest ${sorted.at(-1)} ms; nothing is written meanwhile`,
      values: { passes, share, anonymous },
    });
  } finally {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
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
    await new Promise((resolve) => setTimeout(resolve, 500));
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

function anonymousMb(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
