// From write to read: rows written one by one at a steady rate, and a reader that asks for what is new as
// soon as it has its last answer.
import { idDigits, idOffset, RowBody } from "../rows.mjs";
import { Connection } from "./connection.mjs";
import { latencies } from "./measure.mjs";

/** @param job `{origin, path (one partition), rowsPerSecond, writers, seconds, warmSeconds}` */
export async function writeToRead(job, signal) {
  const latency = latencies();
  const sentAt = new Map();
  const parameters = `{path="${job.path}";input_format=<format=text>yson}`;
  const writers = Array.from({ length: job.writers }, () => ({
    connection: new Connection(job.origin),
    body: new RowBody(1),
  }));
  const idle = [...writers];
  const start = performance.now();
  const endMs = start + (job.warmSeconds + job.seconds) * 1000;
  const countFrom = start + job.warmSeconds * 1000;
  let sent = 0;
  let late = 0;
  let failure;
  let inFlight = 0;
  const send = async (writer) => {
    const body = writer.body.next();
    sentAt.set(idOf(body), performance.now());
    ++inFlight;
    try {
      await writer.connection.send("PUT", "insert_rows", parameters, body);
    } catch (error) {
      failure ??= error;
    }
    --inFlight;
    idle.push(writer);
  };
  const writing = (async () => {
    for (let now = start; now < endMs && !signal.aborted && failure === undefined; now = performance.now()) {
      const due = Math.floor(((now - start) * job.rowsPerSecond) / 1000);
      while (sent < due) {
        const writer = idle.pop();
        if (writer === undefined) {
          ++late;
          break;
        }
        ++sent;
        void send(writer);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();

  const reader = new Connection(job.origin);
  let isWriting = true;
  const writingDone = writing.then(() => {
    isWriting = false;
  });
  let offset = 0;
  let emptyPulls = 0;
  while (isWriting || inFlight > 0 || sentAt.size > 0) {
    if (failure !== undefined || signal.aborted) {
      break;
    }
    const bytes = await reader.send(
      "GET",
      "pull_queue",
      `{queue_path="${job.path}";partition_index=0;offset=${offset};max_row_count=1000;output_format=json}`,
    );
    const now = performance.now();
    if (bytes.length === 0) {
      ++emptyPulls;
      continue;
    }
    for (const line of bytes.toString("latin1").trimEnd().split("\n")) {
      const id = Number(JSON.parse(line).data.slice(0, idDigits));
      const at = sentAt.get(id);
      sentAt.delete(id);
      ++offset;
      if (at !== undefined && at >= countFrom) {
        latency.record(now - at);
      }
    }
  }
  await writingDone;
  await Promise.all([reader, ...writers.map(({ connection }) => connection)].map((each) => each.close()));
  if (failure !== undefined) {
    throw failure;
  }
  return {
    rows: sent,
    late,
    emptyPulls,
    rowsPerSecond: sent / (job.warmSeconds + job.seconds),
    latency: latency.summary(),
  };
}

function idOf(body) {
  return Number(body.toString("latin1", idOffset, idOffset + idDigits));
}
