/** Figures of `qyt bench`: rates, and latencies corrected for coordinated omission. */
import { mapOf } from "@qyt/base";
import { build, type Histogram } from "hdr-histogram-js";
import { grouped, type Report } from "./report.ts";

/** Latencies in microseconds, up to a minute. */
export class Latencies {
  readonly #histogram: Histogram = build({
    highestTrackableValue: 60_000_000,
    numberOfSignificantValueDigits: 3,
  });

  /**
   * @param expectedIntervalMs how often a sample should have come: a slow one then counts for those that it kept from
   *   being taken, too (the correction for coordinated omission). 0: count as it is
   */
  record(latencyMs: number, expectedIntervalMs: number): void {
    const microseconds = Math.min(60_000_000, Math.max(1, Math.round(latencyMs * 1_000)));
    if (expectedIntervalMs > 0) {
      this.#histogram.recordValueWithExpectedInterval(microseconds, Math.round(expectedIntervalMs * 1_000));
    } else {
      this.#histogram.recordValue(microseconds);
    }
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  /** In milliseconds. */
  percentile(value: number): number {
    return this.#histogram.getValueAtPercentile(value) / 1_000;
  }

  get maxMs(): number {
    return this.#histogram.maxValue / 1_000;
  }
}

export interface Figures {
  readonly what: string;
  readonly rows: number;
  readonly bytes: number;
  readonly elapsedMs: number;
  readonly latencies: Latencies;
  /** What one latency is of: "batch", "row". */
  readonly sample: string;
}

const percentiles = [50, 99, 99.9] as const;

export function benchReport(figures: Figures): Report {
  const { what, rows, bytes, elapsedMs, latencies, sample } = figures;
  const seconds = Math.max(elapsedMs, 1) / 1_000;
  const rowRate = rows / seconds;
  const mebibytes = bytes / 2 ** 20 / seconds;
  const values = percentiles.map((percentile) => latencies.percentile(percentile));
  return {
    document: mapOf({
      what,
      rows: BigInt(rows),
      elapsed_ms: BigInt(Math.round(elapsedMs)),
      rows_per_second: rowRate,
      mebibytes_per_second: mebibytes,
      latency_of: sample,
      latency_count: BigInt(latencies.count),
      p50_ms: values[0],
      p99_ms: values[1],
      p999_ms: values[2],
      max_ms: latencies.maxMs,
    }),
    tables: [
      `${what}: ${grouped(BigInt(rows))} rows in ${seconds.toFixed(1)} s: ${grouped(BigInt(Math.round(rowRate)))} rows/s, ${mebibytes.toFixed(1)} MiB/s`,
      {
        title: `Latency of a ${sample} (ms)`,
        columns: [
          { title: "p50", isNumber: true },
          { title: "p99", isNumber: true },
          { title: "p99.9", isNumber: true },
          { title: "max", isNumber: true },
        ],
        rows: latencies.count === 0 ? [] : [[...values, latencies.maxMs].map((value) => value.toFixed(2))],
        empty: "no sample",
      },
    ],
  };
}
