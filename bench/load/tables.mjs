// Sorted tables and the tree: rows written and read by key, queries, attributes. Rows are {k; n; v}: about 100
// bytes of YSON text each, and in storage.
import { countBinaryRows, countJsonRows } from "../rows.mjs";
import { Connection } from "./connection.mjs";
import { latencies, measure } from "./measure.mjs";

const filler = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Every client with a connection of its own and one request in flight. */
async function requests(job, signal, begin) {
  const latency = latencies();
  const result = await measure(job, signal, async (client, run) => {
    const connection = new Connection(job.origin);
    const next = begin(client);
    await run(async () => {
      const request = next();
      if (request === undefined) {
        return undefined;
      }
      const { method, command, parameters, body, count } = request;
      const start = performance.now();
      const bytes = await connection.send(method, command, parameters, body);
      latency.record(performance.now() - start);
      return count(bytes);
    }, latency);
    await connection.close();
  });
  return { ...result, latency: latency.summary() };
}

/**
 * Rows with keys from `firstKey` on, in the order of keys.
 * @param job `{origin, path, clients, rowsPerRequest, firstKey, totalRows | seconds, warmSeconds?}`
 */
export function insertSorted(job, signal) {
  let key = job.firstKey;
  const end = job.totalRows === undefined ? Number.POSITIVE_INFINITY : job.firstKey + job.totalRows;
  const parameters = `{path="${job.path}";input_format=<format=text>yson}`;
  return requests(job, signal, () => () => {
    if (key >= end) {
      return undefined;
    }
    let body = "";
    for (let row = 0; row < job.rowsPerRequest; ++row, ++key) {
      body += `{k=${key};n=${key % 1000};v="${String(key).padStart(12, "0")}${filler}"};`;
    }
    return { method: "PUT", command: "insert_rows", parameters, body, count: () => job.rowsPerRequest };
  });
}

/** @param job `{origin, path, clients, keysPerRequest, rowCount, seconds, warmSeconds?}`: keys are random, each is there */
export function lookup(job, signal) {
  const parameters = `{path="${job.path}";input_format=<format=text>yson;output_format=<format=binary>yson}`;
  return requests(job, signal, () => () => {
    let body = "";
    for (let index = 0; index < job.keysPerRequest; ++index) {
      body += `{k=${Math.floor(Math.random() * job.rowCount)}};`;
    }
    return {
      method: "PUT",
      command: "lookup_rows",
      parameters,
      body,
      count(bytes) {
        const found = countBinaryRows(bytes);
        if (found !== job.keysPerRequest) {
          throw new Error(`${found} of ${job.keysPerRequest} rows were found`);
        }
        return found;
      },
    };
  });
}

/** @param job `{origin, path, clients, rowsPerQuery, rowCount, seconds, warmSeconds?}`: a random range of keys */
export function selectRange(job, signal) {
  return requests(job, signal, () => () => {
    const from = Math.floor(Math.random() * (job.rowCount - job.rowsPerQuery));
    const query = `* from [${job.path}] where k >= ${from} and k < ${from + job.rowsPerQuery}`;
    return {
      method: "GET",
      command: "select_rows",
      parameters: `{query="${query}";output_format=json}`,
      count(bytes) {
        const found = countJsonRows(bytes);
        if (found !== job.rowsPerQuery) {
          throw new Error(`${found} of ${job.rowsPerQuery} rows were found`);
        }
        return found;
      },
    };
  });
}

/**
 * Attributes read or written, one a request, or many in an `execute_batch`.
 * @param job `{origin, command, paths, clients, perBatch?, seconds, warmSeconds?}`: paths of attributes
 */
export function attributes(job, signal) {
  let turn = 0;
  const path = () => job.paths[turn++ % job.paths.length];
  const isSet = job.command === "set";
  const single = () => ({
    method: isSet ? "PUT" : "GET",
    command: job.command,
    parameters: isSet ? `{path="${path()}";input_format=json}` : `{path="${path()}";output_format=json}`,
    ...(isSet ? { body: String(turn) } : {}),
    count: () => 1,
  });
  const batch = () => {
    const parts = [];
    for (let index = 0; index < job.perBatch; ++index) {
      const input = isSet ? `;input=${turn}` : "";
      parts.push(`{command=${job.command};parameters={path="${path()}"}${input}}`);
    }
    return {
      method: "POST",
      command: "execute_batch",
      parameters: "{input_format=yson;output_format=json}",
      body: `{requests=[${parts.join(";")}]}`,
      count(bytes) {
        if (bytes.includes('"error"')) {
          throw new Error(bytes.toString("utf8", 0, 500));
        }
        return job.perBatch;
      },
    };
  };
  return requests(job, signal, () => (job.perBatch === undefined ? single : batch));
}

/** Documents in directories of `perDirectory`. @param job `{origin, path, count, perDirectory}` */
export async function createTree(job) {
  const connection = new Connection(job.origin);
  const perBatch = 1000;
  const paths = Array.from(
    { length: job.count },
    (_, index) => `${job.path}/d${Math.floor(index / job.perDirectory)}/n${index}`,
  );
  const start = performance.now();
  for (let from = 0; from < paths.length; from += perBatch) {
    const parts = paths
      .slice(from, from + perBatch)
      .map(
        (path) =>
          `{command=create;parameters={type=int64_node;path="${path}";recursive=%true;attributes={owner_name=bench}}}`,
      );
    await connection.send(
      "POST",
      "execute_batch",
      "{input_format=yson;output_format=json}",
      `{requests=[${parts.join(";")}]}`,
    );
  }
  const seconds = (performance.now() - start) / 1000;
  await connection.close();
  return { seconds };
}
