// Many at once: pulls that wait for a row, and the listing of many registrations.
import { countBinaryRows } from "../rows.mjs";
import { Connection } from "./connection.mjs";
import { latencies } from "./measure.mjs";

/**
 * Pulls that wait at the ends of the partitions, each on a connection of its own, until the signal; then a row
 * is written to each partition at once. Latencies are from that request to each answer.
 * @param job `{origin, path, partitions, count, round}`; `round` rows are in each partition already
 */
export async function wait(job, signal) {
  const latency = latencies();
  const state = { written: undefined, early: 0, woken: 0 };
  const connections = Array.from({ length: job.count }, () => new Connection(job.origin));
  const pulls = connections.map(async (connection, index) => {
    const parameters = `{queue_path="${job.path}";partition_index=${index % job.partitions};offset=${job.round};wait_timeout=120000;output_format=<format=binary>yson}`;
    const bytes = await connection.send("GET", "pull_queue", parameters);
    if (state.written === undefined) {
      state.early++;
      return;
    }
    latency.record(performance.now() - state.written);
    state.woken += countBinaryRows(bytes) === 1 ? 1 : 0;
  });
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  const writer = new Connection(job.origin);
  const rows = Array.from({ length: job.partitions }, (_, index) => `{data=x;"$tablet_index"=${index}};`);
  state.written = performance.now();
  await writer.send("PUT", "insert_rows", `{path="${job.path}";input_format=yson}`, rows.join(""));
  await Promise.all(pulls);
  await Promise.all([writer, ...connections].map((connection) => connection.close()));
  return { early: state.early, woken: state.woken, latency: latency.summary() };
}

/** @param job `{origin, count, registration, registrationsPath}`: a row of the table, written before each call */
export async function list(job) {
  const latency = latencies();
  const connection = new Connection(job.origin);
  const call = async () => {
    const start = performance.now();
    const bytes = await connection.send("GET", "list_queue_consumer_registrations", "{output_format=json}");
    return { bytes, elapsed: performance.now() - start };
  };
  const first = await call();
  for (let turn = 0; turn < job.count; ++turn) {
    await connection.send(
      "PUT",
      "insert_rows",
      `{path="${job.registrationsPath}";input_format=yson}`,
      job.registration,
    );
    latency.record((await call()).elapsed);
  }
  await connection.close();
  return { firstMs: first.elapsed, latency: latency.summary(), listed: JSON.parse(first.bytes).length };
}
