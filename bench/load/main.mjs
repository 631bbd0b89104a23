// The load generator: a process of its own. Takes jobs from its parent, one message each, and answers with
// the figures. `{stop: id}` ends a running job early; its figures are those until then.
import { insert, push } from "./insert.mjs";
import { writeToRead } from "./latency.mjs";
import { list, wait } from "./many.mjs";
import { consume, pull, select } from "./read.mjs";
import * as tables from "./tables.mjs";

const jobs = { insert, push, pull, consume, select, writeToRead, wait, list, ...tables };
const running = new Map();

process.on("message", async (message) => {
  if (message.stop !== undefined) {
    running.get(message.stop)?.abort();
    return;
  }
  const { id, job } = message;
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const result = await jobs[job.kind](job, controller.signal);
    process.send({ id, result });
  } catch (error) {
    process.send({ id, error: error.stack ?? String(error) });
  }
  running.delete(id);
});
process.on("disconnect", () => process.exit());
