// Rows per second and latencies on queues of moderate size.

import { ms, rate, spread } from "./report.mjs";
import { queueSchema } from "./rows.mjs";

const floors = {
  insert1000: 1_000_000,
  insert100: 400_000,
  insertOne: { p50: 0.8, p99: 5 },
  insertOne16: 8_000,
  pushShare: 0.8,
  pullBinary: 1_200_000,
  pullJson: 500_000,
  consume: 100_000,
  writeToRead: 5,
};

let lastQueue = 0;

async function freshQueue({ server }, partitions) {
  const path = `//bench/queue-${++lastQueue}`;
  await server.createQueue(path, { partitions, schema: queueSchema });
  return path;
}

const origin = ({ server }) => server.origin;

/** Runs a job, and counts the server's processor time for each row that it moved. */
async function run({ load, server }, job) {
  const before = server.cpuSeconds();
  const result = await load.run(job);
  return { ...result, cpuMicrosecondsPerRow: ((server.cpuSeconds() - before) * 1e6) / result.allRows };
}

const cpu = ({ cpuMicrosecondsPerRow }) =>
  `${cpuMicrosecondsPerRow.toFixed(2)} µs of the server's processor time a row`;

async function insertMany(bench, id, rowsPerRequest, clients, floor) {
  const path = await freshQueue(bench, 4);
  const result = await run(bench, {
    kind: "insert",
    origin: origin(bench),
    path,
    clients,
    rowsPerRequest,
    warmSeconds: bench.warmSeconds,
    seconds: bench.seconds,
  });
  await bench.server.remove(path);
  bench.report.add({
    id,
    what: `insert_rows, batches of ${rate(rowsPerRequest)}`,
    figure: `${rate(result.rowsPerSecond)} rows/s`,
    floor: `${rate(floor)} rows/s`,
    pass: result.rowsPerSecond >= floor,
    conditions: `${clients} clients, 4 partitions, YSON text; ${spread(result.latency)}; ${cpu(result)}`,
    values: result,
  });
}

async function insertOne(bench) {
  for (const clients of [1, 16]) {
    const path = await freshQueue(bench, 4);
    const result = await run(bench, {
      kind: "insert",
      origin: origin(bench),
      path,
      clients,
      rowsPerRequest: 1,
      warmSeconds: bench.warmSeconds,
      seconds: bench.seconds,
    });
    await bench.server.remove(path);
    const { p50, p99 } = result.latency;
    bench.report.add({
      id: "insert-1",
      what: `insert_rows, one row, ${clients} client${clients === 1 ? "" : "s"}`,
      figure: clients === 1 ? `p50 ${ms(p50)}, p99 ${ms(p99)}` : `${rate(result.rowsPerSecond)} rows/s`,
      floor:
        clients === 1
          ? `p50 ${ms(floors.insertOne.p50)}, p99 ${ms(floors.insertOne.p99)}`
          : `${rate(floors.insertOne16)} rows/s`,
      pass:
        clients === 1
          ? p50 < floors.insertOne.p50 && p99 < floors.insertOne.p99
          : result.rowsPerSecond >= floors.insertOne16,
      conditions: `4 partitions; ${spread(result.latency)}; ${cpu(result)}`,
      values: result,
    });
  }
}

/** Inserts and pushes take turns, so that both meet the same machine. */
async function push(bench) {
  const path = await freshQueue(bench, 4);
  const producer = "//bench/producer";
  await bench.server.createCompanion("queue_producer", producer);
  const common = {
    origin: origin(bench),
    path,
    clients: 8,
    rowsPerRequest: 1000,
    warmSeconds: bench.warmSeconds / 2,
    seconds: bench.seconds / 2,
  };
  const sums = { insert: 0, insertCpu: 0, push: 0, pushCpu: 0 };
  const rounds = 2;
  for (let round = 0; round < rounds; ++round) {
    const inserted = await run(bench, { kind: "insert", ...common });
    sums.insert += inserted.rowsPerSecond;
    sums.insertCpu += inserted.cpuMicrosecondsPerRow;
    const job = { kind: "push", ...common, producer, sessionPrefix: `round-${round}` };
    const pushed = await run(bench, job);
    sums.push += pushed.rowsPerSecond;
    sums.pushCpu += pushed.cpuMicrosecondsPerRow;
  }
  await bench.server.remove(producer);
  await bench.server.remove(path);
  const share = sums.push / sums.insert;
  bench.report.add({
    id: "push",
    what: "push_queue_producer beside insert_rows",
    figure: `${(share * 100).toFixed(0)} % (${rate(sums.push / rounds)} rows/s)`,
    floor: `${floors.pushShare * 100} %`,
    pass: share >= floors.pushShare,
    conditions: `batches of 1,000, 8 clients with a session each, 4 partitions; ${rounds} turns each; insert_rows ${rate(sums.insert / rounds)} rows/s; processor time of the server a row ${(sums.pushCpu / rounds).toFixed(2)} and ${(sums.insertCpu / rounds).toFixed(2)} µs`,
    values: { share, pushRowsPerSecond: sums.push / rounds, insertRowsPerSecond: sums.insert / rounds },
  });
}

async function pull(bench) {
  const path = await freshQueue(bench, 4);
  const totalRows = 2_000_000;
  await bench.load.run({
    kind: "insert",
    origin: origin(bench),
    path,
    clients: 8,
    rowsPerRequest: 1000,
    totalRows,
  });
  for (const [format, floor, name] of [
    ["binary", floors.pullBinary, "binary YSON"],
    ["text", undefined, "YSON text"],
    ["json", floors.pullJson, "JSON"],
  ]) {
    const result = await run(bench, {
      kind: "pull",
      origin: origin(bench),
      path,
      partitions: 4,
      clients: 4,
      rowsPerCall: 1000,
      format,
      warmSeconds: bench.warmSeconds,
      seconds: bench.seconds,
    });
    bench.report.add({
      id: "pull",
      what: `pull_queue, 1,000 rows a call, ${name}`,
      figure: `${rate(result.rowsPerSecond)} rows/s`,
      ...(floor === undefined ? {} : { floor: `${rate(floor)} rows/s`, pass: result.rowsPerSecond >= floor }),
      conditions: `4 clients, a partition each, of ${rate(totalRows)} rows; all five columns out (the row and its system columns); ${spread(result.latency)}; ${cpu(result)}`,
      values: result,
    });
  }
  await bench.server.remove(path);
}

async function consume(bench) {
  const clients = 8;
  const path = await freshQueue(bench, clients);
  const consumer = "//bench/consumer";
  const { server } = bench;
  await server.createCompanion("queue_consumer", consumer);
  await server.register(path, consumer, false);
  // Enough for the whole time at twice the floor.
  const totalRows = Math.ceil((2 * floors.consume * (bench.seconds + bench.warmSeconds + 1)) / 1000) * 1000;
  await bench.load.run({
    kind: "insert",
    origin: origin(bench),
    path,
    clients: 8,
    rowsPerRequest: 1000,
    totalRows,
  });
  const result = await run(bench, {
    kind: "consume",
    origin: origin(bench),
    path,
    consumer,
    clients,
    rowsPerCall: 100,
    warmSeconds: bench.warmSeconds,
    seconds: bench.seconds,
  });
  await server.unregister(path, consumer);
  await server.remove(consumer);
  await server.remove(path);
  bench.report.add({
    id: "consume",
    what: "pull, process nothing, advance in a transaction",
    figure: `${rate(result.rowsPerSecond)} rows/s`,
    floor: `${rate(floors.consume)} rows/s`,
    pass: result.rowsPerSecond >= floors.consume,
    conditions: `batches of 100, ${clients} clients, a partition each, 4 requests a batch; a batch ${spread(result.latency)}; ${cpu(result)}`,
    values: result,
  });
}

async function writeToRead(bench) {
  const path = await freshQueue(bench, 1);
  const result = await bench.load.run({
    kind: "writeToRead",
    origin: origin(bench),
    path,
    rowsPerSecond: 1000,
    writers: 8,
    warmSeconds: bench.warmSeconds,
    seconds: bench.seconds,
  });
  await bench.server.remove(path);
  bench.report.add({
    id: "latency",
    what: "write to first successful read at 1,000 rows/s",
    figure: spread(result.latency),
    floor: `p99 ${ms(floors.writeToRead)}`,
    pass: result.latency.p99 < floors.writeToRead,
    conditions: `single-row inserts, sent ${rate(result.rowsPerSecond)} rows/s, ${result.late} found no free connection of 8; the reader pulls JSON again at once`,
    values: result,
  });
}

/** In the order of the table. */
export const throughputBenchmarks = {
  "insert-1000": (bench) => insertMany(bench, "insert-1000", 1000, 8, floors.insert1000),
  "insert-100": (bench) => insertMany(bench, "insert-100", 100, 16, floors.insert100),
  "insert-1": insertOne,
  push,
  pull,
  consume,
  latency: writeToRead,
};
