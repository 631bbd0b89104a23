// What happens at ten million rows: memory, restart, and one-row commits beside the heavy work.

import { ms, rate, spread } from "./report.mjs";
import { queueSchema } from "./rows.mjs";

const floors = { anonymousMb: 300, heapMb: 200, commitP99: 20, readyMs: 2000 };
const bigQueue = "//bench/big";
const sideQueue = "//bench/side";
const partitions = 8;

export const largeBenchmarks = { memory, scan, restart, removal, interleaved };

/** Fills the big queue once; the benchmarks that need it share it. */
async function fill(bench) {
  if (bench.isFilled) {
    return;
  }
  const { server, load, report, bigRows } = bench;
  await server.createQueue(bigQueue, { partitions, schema: queueSchema });
  await server.createQueue(sideQueue, { partitions: 1, schema: queueSchema });
  const written = await load.run({
    kind: "insert",
    origin: server.origin,
    path: bigQueue,
    clients: 8,
    rowsPerRequest: 1000,
    totalRows: bigRows,
  });
  bench.isFilled = true;
  report.add({
    id: "fill",
    what: `writing ${rate(bigRows)} rows`,
    figure: `${rate(written.rowsPerSecond)} rows/s`,
    conditions: `${written.seconds.toFixed(1)} s, batches of 1,000, 8 clients, ${partitions} partitions`,
    values: written,
  });
}

async function memory(bench) {
  const { server, load, report, bigRows } = bench;
  const peak = { anonymous: 0 };
  const sampler = setInterval(() => {
    peak.anonymous = Math.max(peak.anonymous, server.memory().anonymous);
  }, 100);
  await fill(bench);
  const afterWriting = server.memory();
  const read = await load.run({
    kind: "pull",
    origin: server.origin,
    path: bigQueue,
    partitions,
    clients: 4,
    rowsPerCall: 1000,
    format: "binary",
    once: true,
  });
  clearInterval(sampler);
  if (read.rows !== bigRows) {
    throw new Error(`${read.rows} rows came back of ${bigRows}`);
  }
  const after = server.memory();
  const heap = await server.heap();
  report.add({
    id: "memory",
    what: `memory with ${rate(bigRows)} rows, after writing and reading them all`,
    figure: `RssAnon ${after.anonymous.toFixed(0)} MB, heap ${heap.heapUsed.toFixed(0)} MB`,
    floor: `${floors.anonymousMb} MB, ${floors.heapMb} MB`,
    pass: after.anonymous < floors.anonymousMb && heap.heapTotal < floors.heapMb,
    conditions: `RssAnon at its highest ${peak.anonymous.toFixed(0)} MB, after writing ${afterWriting.anonymous.toFixed(0)} MB; heap reserved ${heap.heapTotal.toFixed(0)} MB; mapped file pages ${after.file.toFixed(0)} MB; all ${rate(read.rows)} rows read at ${rate(read.rowsPerSecond)} rows/s`,
    values: { after, peak, afterWriting, heap, read },
  });
}

/** One-row commits, one client, from before the work until after it. */
async function beside(bench, { id, what, work, conditions }) {
  const { server, load, report } = bench;
  const job = { kind: "insert", origin: server.origin, path: sideQueue, clients: 1, rowsPerRequest: 1 };
  const before = await load.run({ ...job, warmSeconds: 1, seconds: 3 });
  const running = load.begin(job);
  const start = performance.now();
  const note = await work();
  const seconds = (performance.now() - start) / 1000;
  const during = await running.end();
  const after = await load.run({ ...job, seconds: 3 });
  const worst = Math.max(before.latency.p99, during.latency.p99, after.latency.p99);
  report.add({
    id,
    what: `one-row commit beside ${what}`,
    figure: `p99 ${ms(before.latency.p99)} before, ${ms(during.latency.p99)} during, ${ms(after.latency.p99)} after`,
    floor: `p99 ${ms(floors.commitP99)} throughout`,
    pass: worst < floors.commitP99,
    conditions: `${conditions}; ${seconds.toFixed(1)} s${note === undefined ? "" : `, ${note}`}; p50 ${ms(before.latency.p50)}, ${ms(during.latency.p50)}, ${ms(after.latency.p50)}; max during ${ms(during.latency.max)}`,
    values: { before, during, after, seconds },
  });
}

async function scan(bench) {
  await fill(bench);
  const { server, load, bigRows } = bench;
  await beside(bench, {
    id: "scan",
    what: `a full scan of ${rate(bigRows)} rows`,
    conditions: "select_rows sum(1) over the whole queue",
    work: async () => {
      const query = `sum(1) as n from [${bigQueue}] where data != '' group by 1`;
      const { answer, seconds } = await load.run({ kind: "select", origin: server.origin, query });
      const counted = Number(JSON.parse(answer.split("\n")[0] || "{}").n);
      if (counted !== bigRows) {
        throw new Error(`The scan counted ${counted} rows of ${bigRows}: ${answer}`);
      }
      return `${rate(bigRows / seconds)} rows/s`;
    },
  });
}

async function restart(bench) {
  await fill(bench);
  const { server, report, bigRows } = bench;
  const times = [];
  for (const signal of ["SIGKILL", "SIGTERM"]) {
    await server.stop(signal);
    const readyMs = await server.start();
    const start = performance.now();
    await server.command(
      "GET",
      "pull_queue",
      `{queue_path="${bigQueue}";partition_index=0;offset=${Math.floor(bigRows / partitions / 2)};max_row_count=1;output_format=json}`,
    );
    times.push({ signal, readyMs, firstPullMs: performance.now() - start });
  }
  const worst = Math.max(...times.map(({ readyMs }) => readyMs));
  report.add({
    id: "restart",
    what: `ready after restart with ${rate(bigRows)} rows`,
    figure: `${(worst / 1000).toFixed(2)} s`,
    floor: `${floors.readyMs / 1000} s`,
    pass: worst < floors.readyMs,
    conditions: times
      .map(
        ({ signal, readyMs, firstPullMs }) =>
          `after ${signal} ${(readyMs / 1000).toFixed(2)} s and first pull ${ms(firstPullMs)}`,
      )
      .join("; "),
    values: { times },
  });
}

async function removal(bench) {
  await fill(bench);
  const { server, bigRows } = bench;
  await beside(bench, {
    id: "removal",
    what: `the removal of a queue of ${((bigRows * 100) / 1e9).toFixed(1)} GB`,
    conditions: `remove, then ${bench.removalSeconds} s of the background's work`,
    work: async () => {
      const start = performance.now();
      await server.remove(bigQueue);
      bench.isFilled = false;
      const answered = performance.now() - start;
      await new Promise((resolve) => setTimeout(resolve, bench.removalSeconds * 1000));
      return `the command answered in ${ms(answered)}`;
    },
  });
  await server.remove(sideQueue);
}

/** Two queues of four partitions, written side by side so that their blocks interleave; one is dropped. */
async function interleaved(bench) {
  const { server, load, report, interleavedBytes } = bench;
  await server.createQueue(sideQueue, { partitions: 1, schema: queueSchema });
  const queues = ["//bench/left", "//bench/right"];
  for (const path of queues) {
    await server.createQueue(path, { partitions: 4, schema: queueSchema });
  }
  const size = `8 tablets interleaved to ${(interleavedBytes / 1e9).toFixed(1)} GB`;
  const oneRow = { kind: "insert", origin: server.origin, path: sideQueue, clients: 1, rowsPerRequest: 1 };
  const running = load.begin(oneRow);
  const totalRows = interleavedBytes / 100 / queues.length;
  const writes = await Promise.all(
    queues.map((path) =>
      load.run({ kind: "insert", origin: server.origin, path, clients: 4, rowsPerRequest: 1000, totalRows }),
    ),
  );
  const meanwhile = await running.end();
  report.add({
    id: "interleaved",
    what: `writing ${size}`,
    figure: `${rate(writes.reduce((sum, { rowsPerSecond }) => sum + rowsPerSecond, 0))} rows/s`,
    conditions: `4 clients a queue, batches of 1,000; one-row commits beside it ${spread(meanwhile.latency)}`,
    values: { writes, meanwhile },
  });
  await beside(bench, {
    id: "interleaved",
    what: `${size}, 4 of them dropped`,
    conditions: `remove, then ${bench.removalSeconds} s of the background's work`,
    work: async () => {
      await server.remove(queues[0]);
      await new Promise((resolve) => setTimeout(resolve, bench.removalSeconds * 1000));
    },
  });
  await server.remove(queues[1]);
  await server.remove(sideQueue);
}
