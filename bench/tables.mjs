// Sorted tables, queries and the tree.
import { ms, rate, spread } from "./report.mjs";

const floors = {
  insert: 150_000,
  lookupOne: 20_000,
  lookupMany: 300_000,
  selectMs: 2,
  scan: 1_000_000,
  get: 10_000,
  set: 3_000,
  treeSeconds: 2,
};

const schema =
  "<unique_keys=%true>[{name=k;type=int64;sort_order=ascending};{name=n;type=int64};{name=v;type=string}]";
const path = "//bench/sorted";
const rowCount = 1_000_000;

/** In the order of the table. */
export const tableBenchmarks = {
  "tables-insert": insertRows,
  "tables-lookup": lookupRows,
  "tables-select": selectRows,
  "tables-scan": scan,
  "tables-attributes": attributes,
  "tables-tree": tree,
};

/** Runs a job, and counts the server's processor time for each row or call. */
async function run({ load, server, ...bench }, job) {
  const before = server.cpuSeconds();
  const result = await load.run({
    origin: server.origin,
    warmSeconds: bench.warmSeconds,
    seconds: bench.seconds,
    ...job,
  });
  return { ...result, cpuMicroseconds: ((server.cpuSeconds() - before) * 1e6) / result.allRows };
}

const cpu = ({ cpuMicroseconds }, unit) =>
  `${cpuMicroseconds.toFixed(1)} µs of the server's processor time a ${unit}`;

async function createTable(bench, at) {
  await bench.server.createQueue(at, { partitions: 1, schema });
}

/** The table that lookups and queries read, once a run. */
async function filled(bench) {
  if (!bench.hasSorted) {
    await createTable(bench, path);
    await bench.load.run({
      kind: "insertSorted",
      origin: bench.server.origin,
      path,
      clients: 4,
      rowsPerRequest: 1000,
      firstKey: 0,
      totalRows: rowCount,
    });
    bench.hasSorted = true;
  }
}

async function insertRows(bench) {
  const at = "//bench/sorted-inserts";
  await createTable(bench, at);
  const result = await run(bench, {
    kind: "insertSorted",
    path: at,
    clients: 4,
    rowsPerRequest: 1000,
    firstKey: 0,
  });
  await bench.server.remove(at);
  bench.report.add({
    id: "tables-insert",
    what: "sorted table, insert_rows, batches of 1,000",
    figure: `${rate(result.rowsPerSecond)} rows/s`,
    floor: `${rate(floors.insert)} rows/s`,
    pass: result.rowsPerSecond >= floors.insert,
    conditions: `4 clients, 1 tablet, keys in order, YSON text; ${spread(result.latency)}; ${cpu(result, "row")}`,
    values: result,
  });
}

async function lookupRows(bench) {
  await filled(bench);
  for (const [keysPerRequest, clients, floor] of [
    [1, 16, floors.lookupOne],
    [1000, 4, floors.lookupMany],
  ]) {
    const result = await run(bench, { kind: "lookup", path, clients, keysPerRequest, rowCount });
    bench.report.add({
      id: "tables-lookup",
      what:
        keysPerRequest === 1 ? "lookup_rows, one key" : `lookup_rows, ${rate(keysPerRequest)} keys a call`,
      figure: `${rate(result.rowsPerSecond)} keys/s`,
      floor: `${rate(floor)} keys/s`,
      pass: result.rowsPerSecond >= floor,
      conditions: `${clients} clients, random keys of ${rate(rowCount)}, binary YSON out; ${spread(result.latency)}; ${cpu(result, "key")}`,
      values: result,
    });
  }
}

async function selectRows(bench) {
  await filled(bench);
  const result = await run(bench, { kind: "selectRange", path, clients: 1, rowsPerQuery: 10, rowCount });
  const { p50 } = result.latency;
  bench.report.add({
    id: "tables-select",
    what: `select_rows of 10 rows by key of ${rate(rowCount)}`,
    figure: `p50 ${ms(p50)}`,
    floor: `p50 ${ms(floors.selectMs)}`,
    pass: p50 < floors.selectMs,
    conditions: `1 client, a random range of keys, JSON out; ${spread(result.latency)}; ${cpu(result, "row")}`,
    values: result,
  });
}

async function scan(bench) {
  await filled(bench);
  const rates = [];
  let answer = "";
  for (let round = 0; round < 3; ++round) {
    const result = await bench.load.run({
      kind: "select",
      origin: bench.server.origin,
      query: `sum(n) as s, sum(1) as c from [${path}] where n < 100 group by 1`,
    });
    rates.push(rowCount / result.seconds);
    answer = result.answer.trim();
  }
  const best = Math.max(...rates);
  bench.report.add({
    id: "tables-scan",
    what: `select_rows with a filter over ${rate(rowCount)} rows`,
    figure: `${rate(best)} rows/s`,
    floor: `${rate(floors.scan)} rows/s`,
    pass: best >= floors.scan,
    conditions: `one query at a time, best of ${rates.map(rate).join(", ")}; answer ${answer}`,
    values: { rates },
  });
}

async function attributes(bench) {
  const paths = [];
  for (let index = 0; index < 100; ++index) {
    await bench.server.command(
      "POST",
      "create",
      `{type=map_node;path="//bench/nodes/n${index}";recursive=%true;ignore_existing=%true}`,
    );
    paths.push(`//bench/nodes/n${index}/@value`);
  }
  for (const [command, floor, perBatch, clients] of [
    ["set", floors.set, undefined, 64],
    ["set", floors.set, 100, 4],
    ["get", floors.get, undefined, 64],
    ["get", floors.get, 100, 4],
  ]) {
    const result = await run(bench, { kind: "attributes", command, paths, clients, perBatch });
    bench.report.add({
      id: "tables-attributes",
      what: `${command} of attributes, ${perBatch === undefined ? "one a request" : `${perBatch} an execute_batch`}`,
      figure: `${rate(result.rowsPerSecond)} a second`,
      floor: `${rate(floor)} a second`,
      pass: result.rowsPerSecond >= floor,
      conditions: `${clients} clients, 100 nodes; a request ${spread(result.latency)}; ${cpu(result, "call")}`,
      values: result,
    });
  }
}

async function tree(bench) {
  const { server, load } = bench;
  const count = 200_000;
  await server.stop();
  const before = await server.start();
  const made = await load.run({
    kind: "createTree",
    origin: server.origin,
    path: "//bench/tree",
    count,
    perDirectory: 1000,
  });
  await server.stop();
  const cpuBefore = 0;
  const ready = await server.start();
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  await server.remove("//bench/tree");
  bench.report.add({
    id: "tables-tree",
    what: `ready after restart with a tree of ${rate(count)} nodes`,
    figure: `${(ready / 1000).toFixed(2)} s`,
    floor: `${floors.treeSeconds} s`,
    pass: ready < floors.treeSeconds * 1000,
    conditions: `${(before / 1000).toFixed(2)} s without them; ${cpuSeconds.toFixed(2)} s of processor time; created in ${made.seconds.toFixed(1)} s, 1,000 an execute_batch`,
    values: { ready, before, ...made },
  });
}
