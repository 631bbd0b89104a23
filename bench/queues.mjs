// What many cost: producer sessions, pulls that wait, consumers and registrations.
import { setTimeout as sleep } from "node:timers/promises";
import { ms, rate, spread } from "./report.mjs";
import { queueSchema } from "./rows.mjs";

const floors = { sessionShare: 0.9, listing: 50, wakeMs: 1000, waitingCpuMs: 10, pullShare: 0.95 };
const partitions = 8;
const registrationsPath = "//sys/queue_agents/consumer_registrations";

/** In the order of the table. */
export const queueBenchmarks = { sessions, waiting, registrations, listing };

let lastQueue = 0;

async function freshQueue({ server }) {
  const path = `//bench/many-${++lastQueue}`;
  await server.createQueue(path, { partitions, schema: queueSchema });
  return path;
}

/** One session and two hundred take turns, so that both meet the same machine. */
async function sessions(bench) {
  const { server, load } = bench;
  const path = await freshQueue(bench);
  const producer = "//bench/sessions-producer";
  await server.createCompanion("queue_producer", producer);
  const many = 200;
  const rounds = 2;
  const sums = { one: 0, eight: 0, many: 0, small: 0 };
  for (let round = 0; round < rounds; ++round) {
    for (const [name, clients, rowsPerRequest] of [
      ["one", 1, 1000],
      ["eight", 8, 1000],
      ["many", many, 1000],
      ["small", many, 100],
    ]) {
      const result = await load.run({
        kind: "push",
        origin: server.origin,
        path,
        producer,
        sessionPrefix: `${name}-${round}`,
        clients,
        rowsPerRequest,
        warmSeconds: bench.warmSeconds / 2,
        seconds: bench.seconds / 2,
      });
      sums[name] += result.rowsPerSecond / rounds;
    }
  }
  await server.remove(producer);
  await server.remove(path);
  const share = sums.many / sums.one;
  bench.report.add({
    id: "sessions",
    what: `${many} producer sessions beside one`,
    figure: `${(share * 100).toFixed(0)} % (${rate(sums.many)} rows/s)`,
    floor: `${floors.sessionShare * 100} %`,
    pass: share >= floors.sessionShare,
    conditions: `batches of 1,000, a connection a session, ${partitions} partitions, ${rounds} turns each; one session ${rate(sums.one)} rows/s, eight ${rate(sums.eight)}; ${many} sessions with batches of 100 ${rate(sums.small)} rows/s`,
    values: { share, ...sums },
  });
}

/** Processor time of the server while a thousand pulls wait, beside the same time with none. */
async function waiting(bench) {
  const { server, load } = bench;
  const path = await freshQueue(bench);
  const count = 1000;
  const seconds = Math.max(5, bench.seconds);
  const cpuWhile = async (work) => {
    const before = server.cpuSeconds();
    await work();
    return ((server.cpuSeconds() - before) * 1000) / seconds;
  };
  // Once unmeasured: the first thousand connections and requests make code hot and heaps grow.
  let idle = 0;
  let cpu = 0;
  let result;
  for (let round = 0; round < 2; ++round) {
    await sleep(2_000);
    idle = await cpuWhile(() => sleep(seconds * 1_000));
    const running = load.begin({ kind: "wait", origin: server.origin, path, partitions, count, round });
    await sleep(3_000);
    cpu = await cpuWhile(() => sleep(seconds * 1_000));
    result = await running.end();
  }
  await server.remove(path);
  if (result.early > 0 || result.woken !== count) {
    throw new Error(`${result.early} answered before there was a row, ${result.woken} of ${count} with one`);
  }
  const pass = cpu <= idle + floors.waitingCpuMs && result.latency.max < floors.wakeMs;
  bench.report.add({
    id: "waiting",
    what: `${rate(count)} pulls that wait`,
    figure: `${cpu.toFixed(1)} ms of processor time a second, ${idle.toFixed(1)} ms without them`,
    floor: `${floors.waitingCpuMs} ms more`,
    pass,
    conditions: `each on a connection of its own, ${partitions} partitions, over ${seconds} s; then one row for each partition at once: all answered with it, after ${spread(result.latency)}`,
    values: { cpu, idle, ...result },
  });
}

/** Pulls through one consumer, before others are there, beside a thousand of them, and after. */
async function registrations(bench) {
  const { server, load } = bench;
  const path = await freshQueue(bench);
  const consumer = "//bench/many/pulling";
  await server.createCompanion("queue_consumer", consumer);
  await server.register(path, consumer, false);
  await load.run({
    kind: "insert",
    origin: server.origin,
    path,
    clients: 8,
    rowsPerRequest: 1000,
    totalRows: 400_000,
  });
  const pull = async () => {
    const before = server.cpuSeconds();
    const result = await load.run({
      kind: "pull",
      origin: server.origin,
      path,
      consumer,
      partitions,
      clients: 4,
      rowsPerCall: 100,
      format: "binary",
      warmSeconds: bench.warmSeconds,
      seconds: bench.seconds,
    });
    const cpu = ((server.cpuSeconds() - before) * 1e6) / (result.allRows / 100);
    return { ...result, cpu };
  };
  const count = 1000;
  const before = await pull();
  const names = Array.from({ length: count - 1 }, (_, index) => `//bench/many/consumer-${index}`);
  await inParallel(8, names, async (name) => {
    await server.command("POST", "create", `{type=queue_consumer;path="${name}"}`);
    await server.register(path, name, true);
  });
  const beside = await pull();
  await inParallel(8, names, async (name) => {
    await server.unregister(path, name);
    await server.remove(name);
  });
  const after = await pull();
  await server.unregister(path, consumer);
  await server.remove(consumer);
  await server.remove(path);
  const alone = (before.rowsPerSecond + after.rowsPerSecond) / 2;
  const share = beside.rowsPerSecond / alone;
  const calls = (result) => `${rate(result.rowsPerSecond / 100)} calls/s, ${result.cpu.toFixed(0)} µs`;
  bench.report.add({
    id: "registrations",
    what: `pull_queue_consumer with ${rate(count)} consumers and registrations, beside one`,
    figure: `${(share * 100).toFixed(0)} %`,
    floor: `${floors.pullShare * 100} %`,
    pass: share >= floors.pullShare,
    conditions: `100 rows a call, 4 clients; calls and the server's processor time each: before ${calls(before)}, with ${rate(count)} ${calls(beside)}, after their removal ${calls(after)}`,
    values: { share, before, beside, after },
  });
}

async function listing(bench) {
  const { server, load } = bench;
  const count = 10_000;
  const rows = Array.from(
    { length: count },
    (_, index) =>
      `{queue_cluster=bench;queue_path="//home/project/queues/queue-${index % (count / 10)}";consumer_cluster=bench;consumer_path="//home/project/consumers/consumer-${index}";vital=%true};`,
  );
  const portion = 1000;
  for (let at = 0; at < count; at += portion) {
    await server.command(
      "PUT",
      "insert_rows",
      `{path="${registrationsPath}";input_format=yson}`,
      rows.slice(at, at + portion).join(""),
    );
  }
  const result = await load.run({
    kind: "list",
    origin: server.origin,
    count: 50,
    registration: rows[0],
    registrationsPath,
  });
  for (let at = 0; at < count; at += portion) {
    const keys = rows.slice(at, at + portion).map((row) => row.replace(";vital=%true", ""));
    await server.command(
      "PUT",
      "delete_rows",
      `{path="${registrationsPath}";input_format=yson}`,
      keys.join(""),
    );
  }
  if (result.listed < count) {
    throw new Error(`${result.listed} registrations were listed of ${count}`);
  }
  bench.report.add({
    id: "listing",
    what: `list_queue_consumer_registrations of ${rate(count)}`,
    figure: `p50 ${ms(result.latency.p50)}`,
    floor: ms(floors.listing),
    pass: result.latency.p50 < floors.listing,
    conditions: `JSON, one client, a registration written before each call; ${spread(result.latency)}; the first call after all of them were written reads the table: ${ms(result.firstMs)}`,
    values: result,
  });
}

async function inParallel(lanes, items, work) {
  const left = items.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of left) {
        await work(item);
      }
    }),
  );
}
