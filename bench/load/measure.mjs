// What all jobs share: clients that run side by side, a warm-up that does not count, latencies.
import { build } from "hdr-histogram-js";

/**
 * Runs `job.clients` clients until `job.seconds` have passed after `job.warmSeconds`, or the step of a client
 * has nothing left to do, or the signal aborts. A step returns how many rows it moved, or undefined at the end.
 */
export async function measure(job, signal, client) {
  const warmMs = (job.warmSeconds ?? 0) * 1000;
  const limitMs = (job.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const state = { allRows: 0, rows: 0, requests: 0, isWarm: warmMs === 0, start: performance.now(), end: 0 };
  let isOver = false;
  const run = async (step, latency) => {
    while (!isOver && !signal.aborted) {
      const rows = await step();
      const now = performance.now();
      if (rows === undefined) {
        state.end = now;
        return;
      }
      state.allRows += rows;
      if (!state.isWarm && now - state.start >= warmMs) {
        Object.assign(state, { rows: 0, requests: 0, isWarm: true, start: now });
        latency?.reset();
        continue;
      }
      state.rows += rows;
      state.requests += 1;
      state.end = now;
      isOver = state.isWarm && now - state.start >= limitMs;
    }
  };
  const clients = [];
  for (let i = 0; i < (job.clients ?? 1); ++i) {
    clients.push(client(i, run));
  }
  await Promise.all(clients);
  const seconds = (state.end - state.start) / 1000;
  return {
    allRows: state.allRows,
    rows: state.rows,
    requests: state.requests,
    seconds,
    rowsPerSecond: state.rows / seconds,
  };
}

/** A histogram of milliseconds, kept in microseconds. */
export function latencies() {
  const histogram = build({ lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000 });
  const ms = (percentile) => histogram.getValueAtPercentile(percentile) / 1000;
  return {
    record: (milliseconds) => histogram.recordValue(Math.max(1, Math.round(milliseconds * 1000))),
    reset: () => histogram.reset(),
    summary: () => ({
      count: histogram.totalCount,
      p50: ms(50),
      p90: ms(90),
      p99: ms(99),
      p999: ms(99.9),
      max: histogram.totalCount === 0 ? 0 : histogram.maxValue / 1000,
    }),
  };
}
