// Writers: `insert_rows` and `push_queue_producer` from several clients at once, each on a connection of its
// own and with one request in flight.
import { RowBody } from "../rows.mjs";
import { Connection } from "./connection.mjs";
import { latencies, measure } from "./measure.mjs";

/**
 * @param job `{origin, path, clients, rowsPerRequest, warmSeconds?, seconds? | totalRows?}`; the server spreads
 *   the requests over the partitions
 */
export async function insert(job, signal) {
  const parameters = `{path="${job.path}";input_format=<format=text>yson}`;
  return write(job, signal, () => ({
    send: (connection, body) => connection.send("PUT", "insert_rows", parameters, body),
  }));
}

/** @param job as for `insert`, and `producer`: its path; every client has a session of its own */
export async function push(job, signal) {
  const common = `producer_path="${job.producer}";queue_path="${job.path}"`;
  return write(job, signal, async (connection, client) => {
    const session = `session_id="${job.sessionPrefix}-${client}"`;
    const opened = await connection.send(
      "POST",
      "create_queue_producer_session",
      `{${common};${session};output_format=json}`,
    );
    const { epoch } = JSON.parse(opened);
    let sequenceNumber = 0;
    return {
      send: (on, body) => {
        const first = sequenceNumber;
        sequenceNumber += job.rowsPerRequest;
        const parameters = `{${common};${session};epoch=${epoch};sequence_number=${first};input_format=<format=text>yson}`;
        return on.send("PUT", "push_queue_producer", parameters, body);
      },
    };
  });
}

async function write(job, signal, open) {
  const latency = latencies();
  let rowsLeft = job.totalRows ?? Number.POSITIVE_INFINITY;
  const result = await measure(job, signal, async (client, run) => {
    const connection = new Connection(job.origin);
    const body = new RowBody(job.rowsPerRequest);
    const { send } = await open(connection, client);
    await run(async () => {
      if (rowsLeft <= 0) {
        return undefined;
      }
      rowsLeft -= job.rowsPerRequest;
      const start = performance.now();
      await send(connection, body.next());
      latency.record(performance.now() - start);
      return job.rowsPerRequest;
    }, latency);
    await connection.close();
  });
  return { ...result, latency: latency.summary() };
}
