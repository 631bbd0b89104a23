/**
 * Sensors of exports, from what their exporters know at the moment.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp, queue_exporter_profile_manager.cpp.
 */
import type { QueueObject } from "../controllers/object-registry.ts";
import { boundaryAt } from "../exports/export-time.ts";
import type { ExporterState } from "../exports/exporter-state.ts";
import { type Exposition, labelText, sample } from "./exposition.ts";
import { queueLabelText } from "./queue-profiles.ts";
import { exportSensors, type Sensor } from "./sensors.ts";

interface ExportView {
  readonly labels: string;
  readonly state: ExporterState;
  /** Seconds; `null`: the configuration has just gone. */
  readonly periodSeconds: number | null;
}

type Value = number | bigint | null;

const { exportedRows, exportedChunks, exportedTables, skippedTables, taskErrors } = exportSensors;
const { rowCountMismatches, timeLag, tableLag, paused, lastSuccess } = exportSensors;
const { pendingTables, pendingChunks, pendingRows } = exportSensors;

/** @param queues those that this agent leads; @param nowMs Unix milliseconds */
export async function writeExports(
  exposition: Exposition,
  queues: Iterable<QueueObject>,
  nowMs: number,
): Promise<void> {
  const views = [...exportViews(queues)];
  const values: readonly (readonly [Sensor, (view: ExportView) => Value])[] = [
    [exportedRows, ({ state }) => state.counters.exportedRows],
    [exportedChunks, ({ state }) => state.counters.exportedChunks],
    [exportedTables, ({ state }) => state.counters.exportedTables],
    [skippedTables, ({ state }) => state.counters.skippedTables],
    [taskErrors, ({ state }) => state.counters.taskErrors],
    [rowCountMismatches, ({ state }) => state.counters.rowCountMismatches],
    [timeLag, (view) => timeLagOf(view, nowMs)],
    [tableLag, (view) => tableLagOf(view, nowMs)],
    [pendingTables, ({ state }) => state.pending?.tableCount ?? null],
    [pendingChunks, ({ state }) => state.pending?.chunkCount ?? null],
    [pendingRows, ({ state }) => state.pending?.rowCount ?? null],
    [paused, ({ state }) => (state.isPaused ? 1 : 0)],
    [lastSuccess, ({ state }) => (state.progress === null ? null : state.progress.lastSuccessMs / 1_000)],
  ];
  for (const [sensor, read] of values) {
    await exposition.sensor(sensor, lines(views, sensor.name, read));
  }
}

function* exportViews(queues: Iterable<QueueObject>): Iterable<ExportView> {
  for (const { leadership, snapshot } of queues) {
    for (const [name, state] of leadership?.exports.states() ?? []) {
      yield {
        labels: `${queueLabelText(snapshot)},${labelText({ export_name: name })}`,
        state,
        periodSeconds: snapshot.row.staticExportConfig?.get(name)?.exportPeriodSeconds ?? null,
      };
    }
  }
}

function* lines(
  views: readonly ExportView[],
  name: string,
  read: (view: ExportView) => Value,
): Iterable<string> {
  for (const view of views) {
    const value = read(view);
    if (value !== null) {
      yield sample(name, view.labels, value);
    }
  }
}

/** Seconds. What has never exported anything has no lag yet: it would be that since 1970. */
function timeLagOf({ state, periodSeconds }: ExportView, nowMs: number): number | null {
  const lastExportTime = state.progress?.lastExportTime ?? 0;
  return periodSeconds === null || lastExportTime === 0
    ? null
    : Math.max(0, boundaryAt(nowMs, periodSeconds) - lastExportTime);
}

function tableLagOf(view: ExportView, nowMs: number): number | null {
  const lag = timeLagOf(view, nowMs);
  return lag === null || view.periodSeconds === null ? null : Math.ceil(lag / view.periodSeconds);
}
