// `npm run demo`: two clusters on free ports in a temporary directory, the listing of the Queue API
// documentation step by step with the Queue Agent's statuses and trimming, then 20,000 real records through a
// producer session into a queue of three partitions and through a consumer on the other cluster, and as static
// tables that the Queue Agent exports, every one compared with what went in.
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, decodeRows } from "@qyt/client";
import { toYson, withAttributes, writeYson, writeYsonText } from "@qyt/yson";

const root = fileURLToPath(new URL("../", import.meta.url));

/** What is started is stopped again, in reverse order, however the demo ends. */
const cleanups = [];

async function main() {
  const clusters = await startClusters("pythia", "freud");
  await playListing(clusters);
  await carryFlights(clusters);
}

// The clusters

async function startClusters(...names) {
  const folder = await mkdtemp(join(tmpdir(), "qyt-demo-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  heading(`Two clusters, ${names.join(" and ")}, in ${folder}`);
  const child = spawn(
    process.execPath,
    [
      join(root, "packages/cli/bin/qyt.js"),
      ...["up", "--data-dir", folder],
      ...names.flatMap((name) => ["--cluster", `${name}=127.0.0.1:0`]),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exit = new Promise((resolve) => child.once("close", (code, signal) => resolve(signal ?? code)));
  cleanups.push(async () => {
    child.kill("SIGTERM");
    const how = await exit;
    assert.equal(how, 0, `The clusters ended with ${how} instead of 0`);
    console.log("\nThe clusters have stopped.");
  });
  let output = "";
  await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      process.stdout.write(text);
      if (/^qyt is ready$/m.test(output)) {
        resolve();
      }
    });
    void exit.then((how) => reject(new Error(`qyt up ended with ${how} before it was ready`)));
  });
  return Object.fromEntries(
    names.map((name) => {
      const url = new RegExp(`^cluster ${name} +(\\S+)`, "m").exec(output)?.[1];
      const client = createClient({ proxy: url });
      cleanups.push(() => client.close());
      return [name, client];
    }),
  );
}

// The listing

const queueSchema = [
  { name: "data", type: "string" },
  { name: "$timestamp", type: "uint64" },
  { name: "$cumulative_data_weight", type: "int64" },
];

async function playListing({ pythia, freud }) {
  heading("The listing of the documentation");
  const queue = "//tmp/bob-test-queue";
  const consumer = "//tmp/bob-test-consumer";
  const producer = "//tmp/bob-test-producer";
  const queueFromFreud = withAttributes(queue, toYson({ cluster: "pythia" }));
  const consumerFromPythia = withAttributes(consumer, toYson({ cluster: "freud" }));

  await step("pythia: create the queue", () =>
    pythia.create("table", queue, { attributes: toYson({ dynamic: true, schema: queueSchema }) }),
  );
  await step("freud: create the consumer", () => freud.create("queue_consumer", consumer));
  await step("pythia: register the consumer as vital", () =>
    pythia.registerQueueConsumer(queue, consumerFromPythia, { vital: true }),
  );
  const registrations = await step("pythia: list the registrations of the queue", () =>
    pythia.listQueueConsumerRegistrations({ queuePath: queue }),
  );
  assert.equal(registrations.length, 1, "One registration is due");
  await statusStep(
    "pythia: the Queue Agent's status of the queue",
    pythia,
    `${queue}/@queue_status`,
    (status) => status.get("registrations")?.length === 1,
  );
  await statusStep(
    "pythia: its partition is not mounted yet",
    pythia,
    `${queue}/@queue_partitions`,
    ([partition]) => partition.get("error")?.get("attributes").get("state") === "unmounted",
  );
  await step("pythia: mount the queue", () => mount(pythia, queue));
  await step("freud: mount the consumer", () => mount(freud, consumer));
  await statusStep(
    "pythia: now it is, and empty",
    pythia,
    `${queue}/@queue_partitions`,
    ([partition]) => partition.get("upper_row_index") === 0n,
  );
  const queueName = `pythia:${queue}`;
  await statusStep(
    "freud: the status of the consumer",
    freud,
    `${consumer}/@queue_consumer_status`,
    (status) => status.get("queues").get(queueName)?.get("partition_count") === 1n,
  );
  await step("pythia: turn automatic trimming on", () =>
    pythia.set(`${queue}/@auto_trim_config`, Buffer.from("{enable=true}")),
  );
  const words = ["foo", "bar", "foobar", "megafoo", "megabar"];
  await step("pythia: insert five rows, twenty times", async () => {
    for (let i = 0; i < 20; ++i) {
      await pythia.insertRows(
        queue,
        words.map((data) => ({ data })),
      );
    }
  });
  await statusStep(
    "pythia: the rates of writing",
    pythia,
    `${queue}/@queue_status/write_row_count_rate`,
    (rates) => rates.get("1m_raw") > 0,
  );
  const pullConsumer = () =>
    rowsOf(freud, "pull_queue_consumer", {
      consumer_path: consumer,
      queue_path: queueFromFreud,
      offset: 0n,
      partition_index: 0n,
      max_row_count: 5n,
    });
  await stepRows("freud: pull five rows through the consumer", pullConsumer, [20, 40, 63, 87, 111]);
  await step("freud: advance the consumer from 0 to 42", () =>
    freud.advanceQueueConsumer(consumer, queueFromFreud, 0, { oldOffset: 0n, newOffset: 42n }),
  );
  await statusStep(
    "freud: the lag of the consumer",
    freud,
    `${consumer}/@queue_consumer_partitions`,
    (queues) => queues.get(queueName)?.[0]?.get("unread_row_count") === 58n,
  );
  await statusStep(
    "pythia: the Queue Agent has trimmed what the only vital consumer has read",
    pythia,
    `${queue}/@queue_partitions/0/lower_row_index`,
    (index) => index === 42n,
  );
  const trimmed = await stepRows(
    "freud: pull at offset 0 again: the next rows there are",
    pullConsumer,
    [951, 975, 999, 1019, 1039],
  );
  assert.equal(trimmed[0].$row_index, 42n, "The first row left is 42");
  await step("pythia: create the producer", () => pythia.create("queue_producer", producer));
  const session = await step("pythia: create a session of the producer", () =>
    pythia.createQueueProducerSession(producer, queue, "session_123"),
  );
  assert.deepEqual([session.epoch, session.sequenceNumber], [0n, -1n]);
  const push = (...rows) =>
    pythia.pushQueueProducer(
      producer,
      queue,
      "session_123",
      0n,
      rows.map(([data, number]) => ({ data, $sequence_number: number })),
    );
  const pullWritten = () =>
    rowsOf(pythia, "pull_queue", { queue_path: queue, offset: 100n, partition_index: 0n });
  const first = await step("pythia: push two rows", () => push(["value1", 1], ["value2", 2]));
  assert.deepEqual(first, { lastSequenceNumber: 2n, skippedRowCount: 0n });
  await stepRows("pythia: pull the written rows", pullWritten, [2243, 2266]);
  const second = await step("pythia: push one of them again, and a new one", () =>
    push(["value2", 2], ["value3", 10]),
  );
  assert.deepEqual(second, { lastSequenceNumber: 10n, skippedRowCount: 1n });
  await stepRows("pythia: pull again: no duplicate", pullWritten, [2243, 2266, 2289]);
}

/** Runs a step and prints it with its answer. */
async function step(title, action) {
  console.log(`\n# ${title}`);
  const answer = await action();
  if (answer !== undefined) {
    console.log(pretty(answer));
  }
  return answer;
}

/** A step that asks the Queue Agent, who needs a moment after each change. */
function statusStep(title, client, path, isDue) {
  return step(`${title}: @${path.split("/@")[1]}`, () => agentAnswer(client, path, isDue));
}

/** Asks until the answer is due; resolve errors are those of objects that the agent has not seen yet. */
async function agentAnswer(client, path, isDue) {
  for (let tries = 0; ; ++tries) {
    let answer;
    try {
      answer = await client.get(path);
    } catch (error) {
      if (error.code !== 500) {
        throw error;
      }
    }
    if (answer !== undefined && isDue(answer)) {
      return answer;
    }
    assert.ok(
      tries < 600,
      `${path} did not become what it must be within a minute; it is ${answer === undefined ? "not there" : pretty(answer)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stepRows(title, action, weights) {
  console.log(`\n# ${title}`);
  const bytes = await action();
  process.stdout.write(bytes);
  const rows = decodeRows(bytes);
  assert.deepEqual(
    rows.map((row) => row.$cumulative_data_weight),
    weights.map((weight) => BigInt(weight)),
    `${title}: the cumulative weights differ from the documentation`,
  );
  return rows;
}

async function rowsOf(client, command, parameters) {
  const format = withAttributes("yson", toYson({ format: "text" }));
  const chunks = [];
  for await (const chunk of client.streamRows(command, { ...parameters, output_format: format })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function pretty(answer) {
  if (typeof answer === "string" || typeof answer === "bigint") {
    return String(answer);
  }
  const value =
    answer instanceof Map || Array.isArray(answer)
      ? answer
      : new Map(Object.entries(answer).map(([name, field]) => [snakeCase(name), field]));
  return writeYson(value, "pretty").toString("latin1");
}

/** As the command answers it; the client's names are in camel case. */
function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

async function mount(client, path) {
  await client.mountTable(path);
  for (let tries = 0; (await client.get(`${path}/@tablet_state`)) !== "mounted"; ++tries) {
    assert.ok(tries < 600, `${path} was not mounted within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// The flights

const partitionCount = 3;
/** Records in a push, and how many of the push before it repeats. */
const batchSize = 500;
const overlap = 60;
/** Each push of that number is sent twice, as after an answer that was lost. */
const repeatEvery = 4;
/** Where the producer "crashes" and begins a new epoch. */
const crashAfterBatch = 20;
const pullSize = 700n;

async function carryFlights({ pythia, freud }) {
  const flights = JSON.parse(
    await readFile(join(root, "node_modules/vega-datasets/data/flights-20k.json"), "utf8"),
  );
  heading(`${flights.length} flight records through a queue of ${partitionCount} partitions`);
  await createFlightTables(pythia, freud);
  await configureExport(pythia);
  const sent = await produce(pythia, flights);
  console.log(
    `Sent ${sent.rowCount} rows in ${sent.pushCount} pushes; the session skipped ${sent.skippedCount} that it had already.`,
  );
  assert.equal(
    sent.rowCount - sent.skippedCount,
    flights.length,
    "The rows sent without those skipped are the records",
  );
  const received = await consume(freud);
  compareFlights(flights, received.records);
  await checkExport(pythia, flights);
  const [counted] = await freud.selectRows(
    "sum(row_count) as row_count, sum(1) as batch_count from [//tmp/flight-batches] group by 1 as all",
  );
  assert.equal(
    counted?.row_count,
    BigInt(flights.length),
    "The table written beside the offsets counts every record",
  );
  assert.equal(counted?.batch_count, BigInt(received.batchCount), "One row of it for each batch");
  console.log(
    `Read ${received.records.length} rows in ${received.batchCount} batches: every record once, none missing, none changed.`,
  );
}

async function createFlightTables(pythia, freud) {
  const schema = [
    { name: "record", type: "int64" },
    { name: "date", type: "string" },
    { name: "delay", type: "int64" },
    { name: "distance", type: "int64" },
    { name: "origin", type: "string" },
    { name: "destination", type: "string" },
    { name: "$timestamp", type: "uint64" },
    { name: "$cumulative_data_weight", type: "int64" },
  ];
  await pythia.create("table", "//tmp/flights", {
    attributes: toYson({ dynamic: true, tablet_count: partitionCount, schema }),
  });
  await mount(pythia, "//tmp/flights");
  await pythia.create("queue_producer", "//tmp/flight-producer");
  await mount(pythia, "//tmp/flight-producer");
  await freud.create("queue_consumer", "//tmp/flight-consumer");
  await mount(freud, "//tmp/flight-consumer");
  await freud.create("table", "//tmp/flight-batches", {
    attributes: toYson({
      dynamic: true,
      schema: [
        { name: "partition_index", type: "int64", sort_order: "ascending" },
        { name: "offset", type: "int64", sort_order: "ascending" },
        { name: "row_count", type: "int64" },
      ],
    }),
  });
  await mount(freud, "//tmp/flight-batches");
  await pythia.registerQueueConsumer("//tmp/flights", "<cluster=freud>//tmp/flight-consumer", {
    vital: true,
  });
}

const exportDirectory = "//tmp/flight-export";

/** The flights go into static tables too, every second whatever was flushed, and then from the queue. */
async function configureExport(pythia) {
  await pythia.create("map_node", exportDirectory);
  const id = await pythia.get("//tmp/flights/@id");
  const set = (path, value) => pythia.set(path, writeYson(toYson(value), "text"));
  await set(`${exportDirectory}/@queue_static_export_destination`, { originating_queue_id: id });
  await set("//tmp/flights/@static_export_config", {
    default: { export_directory: exportDirectory, export_period: 1000n },
  });
  await set("//tmp/flights/@auto_trim_config", { enable: true });
}

/** What was exported is the records, each once; what was read and exported has gone from the queue. */
async function checkExport(pythia, flights) {
  await agentAnswer(
    pythia,
    "//tmp/flights/@queue_partitions",
    (partitions) =>
      partitions.reduce((sum, partition) => sum + partition.get("upper_row_index"), 0n) ===
      BigInt(flights.length),
  );
  // Only flushed rows are exported.
  await pythia.unmountTable("//tmp/flights");
  for (let tries = 0; (await pythia.get("//tmp/flights/@tablet_state")) !== "unmounted"; ++tries) {
    assert.ok(tries < 600, "//tmp/flights was not unmounted within a minute");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await mount(pythia, "//tmp/flights");
  await agentAnswer(pythia, "//tmp/flights/@queue_partitions", (partitions) =>
    partitions.every((partition) => partition.get("available_row_count") === 0n),
  );
  const records = [];
  const names = await pythia.list(exportDirectory);
  for (const name of names) {
    const rows = await rowsOf(pythia, "read_table", { path: `${exportDirectory}/${name}` });
    records.push(...decodeRows(rows).map((row) => Number(row.record)));
  }
  assert.deepEqual(
    records.sort((left, right) => left - right),
    flights.map((_, index) => index),
    "Every record is in one exported table",
  );
  console.log(
    `The Queue Agent exported ${records.length} rows into ${names.length} static tables, each row once, and trimmed them from the queue.`,
  );
}

async function produce(pythia, flights) {
  const open = () =>
    pythia.createQueueProducerSession("//tmp/flight-producer", "//tmp/flights", "flights-20k");
  let session = await open();
  const total = { pushCount: 0, rowCount: 0, skippedCount: 0 };
  const push = async (epoch, from, to) => {
    const rows = flights.slice(from, to).map((flight, index) => ({
      $tablet_index: (from + index) % partitionCount,
      $sequence_number: from + index,
      record: from + index,
      ...flight,
    }));
    const answer = await pythia.pushQueueProducer(
      "//tmp/flight-producer",
      "//tmp/flights",
      "flights-20k",
      epoch,
      rows,
    );
    total.pushCount += 1;
    total.rowCount += rows.length;
    total.skippedCount += Number(answer.skippedRowCount);
    assert.equal(answer.lastSequenceNumber, BigInt(to - 1), "The answer names the last sequence number");
    return Number(answer.skippedRowCount);
  };
  let batch = 0;
  for (let from = 0; from < flights.length; from += batchSize) {
    const to = Math.min(from + batchSize, flights.length);
    const start = Math.max(0, from - overlap);
    assert.equal(await push(session.epoch, start, to), from - start, "The overlap is skipped");
    batch += 1;
    if (batch % repeatEvery === 0) {
      assert.equal(await push(session.epoch, start, to), to - start, "A repeated push is skipped whole");
    }
    if (batch === crashAfterBatch) {
      const old = session.epoch;
      session = await open();
      assert.equal(session.sequenceNumber, BigInt(to - 1), "A new session knows how far the old one came");
      await assert.rejects(push(old, to - 1, to + 1), { code: 3102 }, "The old epoch is refused as a zombie");
      note(
        `\nThe producer begins again with epoch ${session.epoch} after record ${session.sequenceNumber}; the old one is refused.`,
      );
    }
    progress("sent", to, flights.length);
  }
  return total;
}

async function consume(freud) {
  const queue = withAttributes("//tmp/flights", toYson({ cluster: "pythia" }));
  const records = [];
  let batchCount = 0;
  for (let partition = 0; partition < partitionCount; ++partition) {
    for (let offset = 0n; ; ) {
      // No offset: the stored one is used, as after a restart of the reader.
      const rows = await freud.pullQueueConsumer("//tmp/flight-consumer", queue, null, partition, {
        maxRowCount: pullSize,
      });
      if (rows.length === 0) {
        break;
      }
      assert.equal(rows[0].$row_index, offset, "The rows go on where the offset stands");
      const next = rows.at(-1).$row_index + 1n;
      await inTransaction(freud, async (transactionId) => {
        await freud.insertRows(
          "//tmp/flight-batches",
          [{ partition_index: partition, offset, row_count: rows.length }],
          { transactionId },
        );
        await freud.advanceQueueConsumer(
          "//tmp/flight-consumer",
          queue,
          partition,
          { oldOffset: offset, newOffset: next },
          {
            transactionId,
          },
        );
      });
      records.push(...rows);
      offset = next;
      batchCount += 1;
      progress("read", records.length, 20_000);
    }
  }
  return { records, batchCount };
}

/** The result of the work and the offset are committed together or not at all. */
async function inTransaction(client, work) {
  const transactionId = await client.startTransaction({ type: "tablet" });
  try {
    await work(transactionId);
  } catch (error) {
    await client.abortTransaction(transactionId).catch(() => {});
    throw error;
  }
  await client.commitTransaction(transactionId);
}

function compareFlights(flights, records) {
  assert.equal(records.length, flights.length, "As many rows come out as went in");
  const seen = new Set();
  const columns = ["date", "delay", "distance", "origin", "destination"];
  for (const row of records) {
    const index = Number(row.record);
    assert.ok(!seen.has(index), `Record ${index} came twice`);
    seen.add(index);
    assert.equal(Number(row.$tablet_index), index % partitionCount, `Record ${index} is in its partition`);
    for (const column of columns) {
      const value = row[column];
      assert.equal(
        typeof value === "bigint" ? Number(value) : value,
        flights[index][column],
        `Record ${index}, ${column}`,
      );
    }
  }
}

// Output

function heading(text) {
  console.log(`\n${"=".repeat(text.length)}\n${text}\n${"=".repeat(text.length)}`);
}

let lastShown = 0;

/** On a terminal one line that counts up; elsewhere a line at every quarter. */
function progress(word, done, total) {
  if (process.stdout.isTTY) {
    const filled = Math.round((done / total) * 40);
    process.stdout.write(
      `\r${word} [${"#".repeat(filled).padEnd(40)}] ${done}/${total}${done === total ? "\n" : ""}`,
    );
    return;
  }
  const quarter = Math.floor((4 * done) / total);
  if (quarter !== lastShown) {
    lastShown = quarter;
    if (quarter > 0) {
      console.log(`${word} ${done} of ${total}`);
    }
  }
}

function note(text) {
  console.log(process.stdout.isTTY ? text : text.trimStart());
}

// The whole

let failure;
try {
  await main();
} catch (error) {
  failure = error;
}
for (const cleanup of cleanups.reverse()) {
  try {
    await cleanup();
  } catch (error) {
    failure ??= error;
  }
}
if (failure === undefined) {
  console.log("The demo has passed.");
} else {
  console.error(`\nThe demo failed: ${failure.message}`);
  if (failure.attributes?.size > 0) {
    console.error(writeYsonText(failure.attributes));
  }
  for (const inner of failure.innerErrors ?? []) {
    console.error(`  ${inner.code}: ${inner.message}`);
  }
  process.exitCode = 1;
}
