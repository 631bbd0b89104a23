/** What an exporter knows of itself, and how statuses, the Orchid and metrics show it. */
import { Attributed, mapOf, Uint64, type YsonMap, type YsonValue, type YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import { type ExportImplementation, type ExportProgress, encodeProgress } from "./export-progress.ts";
import type { ExportTaskResult, PendingExport } from "./export-task.ts";

export interface ExporterState {
  /** As stored; `null`: not read yet. */
  readonly progress: ExportProgress | null;
  /** Tasks started. */
  readonly invocationIndex: number;
  /** Unix milliseconds of the start of the last task; 0: none. */
  readonly invocationMs: number;
  /** Of the last task; `null`: it was well. */
  readonly error: YtError | null;
  readonly isPaused: boolean;
  /** As the last task that got so far left it; `null`: not known. */
  readonly pending: PendingExport | null;
  /** The queue's flush period in milliseconds; `null`: not flushed by time. Undefined: not known. */
  readonly flushPeriodMs: number | null | undefined;
  /** Since the exporter was made. */
  readonly counters: ExporterCounters;
}

/** Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (TQueueExportProfilingCounters). */
interface ExporterCounters {
  readonly exportedRows: bigint;
  readonly exportedChunks: number;
  readonly exportedTables: number;
  readonly skippedTables: number;
  readonly taskErrors: number;
  readonly rowCountMismatches: number;
}

export const emptyExporterState: ExporterState = {
  progress: null,
  invocationIndex: 0,
  invocationMs: 0,
  error: null,
  isPaused: false,
  pending: null,
  flushPeriodMs: undefined,
  counters: {
    exportedRows: 0n,
    exportedChunks: 0,
    exportedTables: 0,
    skippedTables: 0,
    taskErrors: 0,
    rowCountMismatches: 0,
  },
};

/** The state after a task. What the task did not find out stays. */
export function recorded(state: ExporterState, result: ExportTaskResult): ExporterState {
  const { counters } = state;
  const hasError = result.taskError !== null || result.exportError !== null;
  return {
    ...state,
    progress: result.progress ?? state.progress,
    error: null,
    isPaused: result.isPaused,
    pending: result.pending ?? state.pending,
    flushPeriodMs: result.flushPeriodMs === undefined ? state.flushPeriodMs : result.flushPeriodMs,
    counters: {
      exportedRows: counters.exportedRows + result.exportedRowCount,
      exportedChunks: counters.exportedChunks + result.exportedChunkCount,
      exportedTables: counters.exportedTables + result.exportedTableCount,
      skippedTables: counters.skippedTables + result.skippedTableCount,
      taskErrors: counters.taskErrors + (hasError && !result.isPaused ? 1 : 0),
      rowCountMismatches: counters.rowCountMismatches + result.rowCountMismatchCount,
    },
  };
}

export interface StatusDetails {
  readonly implementation: ExportImplementation;
  /** Unix milliseconds; `null`: exports are switched off. */
  readonly nextRunMs: number | null;
  readonly retryIndex: number;
}

/** An addition of qyt to `@queue_status/exports`: one of these for each export. */
export function statusOf(state: ExporterState, config: StaticExportConfig, details: StatusDetails): YsonMap {
  const { pending, progress } = state;
  const warning = flushWarning(config, state.flushPeriodMs);
  return mapOf({
    implementation: details.implementation,
    last_success_time: progress === null ? null : instantFromMs(progress.lastSuccessMs),
    next_run_time: details.nextRunMs === null ? null : instantFromMs(details.nextRunMs),
    pending_table_count: pending === null ? null : BigInt(pending.tableCount),
    pending_chunk_count: pending === null ? null : BigInt(pending.chunkCount),
    pending_row_count: pending === null ? null : pending.rowCount,
    paused: state.isPaused,
    retry_index: BigInt(details.retryIndex),
    error: state.error === null ? undefined : errorToYson(state.error),
    warnings: warning === null ? [] : [warning],
  });
}

/** Why exports of this period find nothing new most of the time; `null`: they do. */
function flushWarning(config: StaticExportConfig, flushPeriodMs: number | null | undefined): string | null {
  const periodMs = config.exportPeriodSeconds * 1_000;
  const remedy = `set "dynamic_store_auto_flush_period" of the queue to at most ${periodMs} and remount it, or make "export_period" longer`;
  if (flushPeriodMs === null) {
    return `Rows are exported when they are flushed, and the queue does not flush them by time ("dynamic_store_auto_flush_period" is #): ${remedy}`;
  }
  return flushPeriodMs !== undefined && flushPeriodMs > periodMs
    ? `Rows are exported when they are flushed, which the queue does every ${flushPeriodMs} ms, and "export_period" is ${periodMs} ms: ${remedy}`
    : null;
}

export interface OrchidDetails {
  readonly implementation: ExportImplementation;
  readonly handledTime: number;
  readonly retryIndex: number;
  readonly backoffMs: number;
}

/** One of `exporters` in the Orchid. */
export function orchidOf(
  state: ExporterState,
  config: StaticExportConfig,
  details: OrchidDetails,
): YsonValue {
  const type = mapOf({ queue_exporter_implementation_type: details.implementation });
  if (details.implementation === "old") {
    return new Attributed(type, null);
  }
  return new Attributed(
    type,
    mapOf({
      export_config: mapOf({
        export_directory: config.exportDirectory,
        export_period: BigInt(config.exportPeriodSeconds * 1_000),
        export_ttl: BigInt(config.exportTtlMs),
        output_table_name_pattern: config.outputTableNamePattern,
        use_upper_bound_for_table_names: config.useUpperBoundForTableNames,
        max_table_count: config.maxTableCount === null ? null : BigInt(config.maxTableCount),
        max_data_weight: config.maxDataWeight,
      }),
      progress: state.progress === null ? null : encodeProgress(state.progress, details.implementation),
      last_successful_export_unix_ts: new Uint64(BigInt(details.handledTime)),
      export_task_invocation_index: BigInt(state.invocationIndex),
      export_task_invocation_instant: instantFromMs(state.invocationMs),
      retry_index: BigInt(details.retryIndex),
      retry_backoff_duration: BigInt(Math.round(details.backoffMs)),
    }),
  );
}
