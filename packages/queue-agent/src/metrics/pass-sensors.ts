/**
 * Sensors of passes of all six kinds.
 *
 * Specified in: yt/yt/server/queue_agent/pass_profiler.cpp. Passes of controllers and of exports are put
 * together over all objects: how many there were, when the latest one started, and how long all of them took.
 */
import type { PassStatus } from "../pass-status.ts";
import { PassTotals } from "../pass-totals.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type Exposition, labelText, sample } from "./exposition.ts";
import { type PassSensors, passes } from "./sensors.ts";

interface PassFigures {
  readonly labels: string;
  readonly index: number;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly count: number;
  readonly errorCount: number;
}

/** Passes of controllers by kind, leadership and type of object. */
export class ControllerPasses {
  readonly #queues = new Map<string, PassTotals>();
  readonly #consumers = new Map<string, PassTotals>();

  record(snapshot: QueueSnapshot | ConsumerSnapshot, isLeading: boolean, durationMs: number): void {
    const { kind, row, passInstantMs, error, bannedSinceMs } = snapshot;
    const totals = kind === "queue" ? this.#queues : this.#consumers;
    const labels = `leading="${isLeading}",${labelText({ object_type: row.objectType ?? "none" })}`;
    let total = totals.get(labels);
    if (total === undefined) {
      total = new PassTotals();
      totals.set(labels, total);
    }
    total.record(passInstantMs, durationMs, error !== null && bannedSinceMs === null);
  }

  async write(exposition: Exposition): Promise<void> {
    await writePasses(exposition, passes.queueController, figuresOf(this.#queues));
    await writePasses(exposition, passes.consumerController, figuresOf(this.#consumers));
  }
}

export interface SinglePasses {
  readonly poll: PassStatus;
  readonly synchronizer: PassStatus;
  readonly shardingManager: PassStatus;
}

export async function writeSinglePasses(exposition: Exposition, parts: SinglePasses): Promise<void> {
  for (const name of ["poll", "synchronizer", "shardingManager"] as const) {
    const status = parts[name];
    const { index, startMs, errorCount, totalDurationMs: durationMs, endedCount: count } = status;
    await writePasses(exposition, passes[name], [
      { labels: "", index, startMs, durationMs, count, errorCount },
    ]);
  }
}

export function writeExportPasses(exposition: Exposition, totals: PassTotals): Promise<void> {
  return writePasses(exposition, passes.staticExport, figuresOf(new Map([["", totals]])));
}

function figuresOf(totals: ReadonlyMap<string, PassTotals>): readonly PassFigures[] {
  return [...totals].map(([labels, { count, startMs, durationMs, errorCount }]) => ({
    labels,
    index: count,
    startMs,
    durationMs,
    count,
    errorCount,
  }));
}

async function writePasses(
  exposition: Exposition,
  { index, startTime, duration, errors }: PassSensors,
  figures: readonly PassFigures[],
): Promise<void> {
  const lines = (name: string, read: (each: PassFigures) => number): string[] =>
    figures.map((each) => sample(name, each.labels, read(each)));
  await exposition.sensor(
    index,
    lines(index.name, (each) => each.index),
  );
  await exposition.sensor(
    startTime,
    lines(startTime.name, ({ startMs }) => startMs / 1_000),
  );
  await exposition.sensor(duration, [
    ...lines(`${duration.name}_sum`, ({ durationMs }) => durationMs / 1_000),
    ...lines(`${duration.name}_count`, ({ count }) => count),
  ]);
  await exposition.sensor(
    errors,
    lines(errors.name, ({ errorCount }) => errorCount),
  );
}
