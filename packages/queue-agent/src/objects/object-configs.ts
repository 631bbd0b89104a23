/**
 * What a queue's owner configures on it: `@auto_trim_config` and `@static_export_config`.
 *
 * Specified in: yt/yt/client/queue_client/config.h.
 */

export interface AutoTrimConfig {
  readonly enable: boolean;
  /** At least the last so many rows of each partition stay. */
  readonly retainedRows: bigint | null;
  /** Milliseconds, a multiple of 1000: rows younger than this stay. */
  readonly retainedLifetimeDurationMs: number | null;
}

export const defaultAutoTrimConfig: AutoTrimConfig = {
  enable: false,
  retainedRows: null,
  retainedLifetimeDurationMs: null,
};

export interface StaticExportConfig {
  readonly exportDirectory: string;
  /** Seconds, at least 1; `null` only with a cron schedule, which is refused today. */
  readonly exportPeriodSeconds: number;
  /** Milliseconds; 0: tables stay. */
  readonly exportTtlMs: number;
  readonly outputTableNamePattern: string;
  readonly useUpperBoundForTableNames: boolean;
  /** A brake of qyt: the export pauses while the directory holds so many exported tables. */
  readonly maxTableCount: number | null;
  /** A brake of qyt, in bytes of data weight of the exported tables in the directory. */
  readonly maxDataWeight: bigint | null;
}

export const defaultOutputTableNamePattern = "%UNIX_TS-%PERIOD";

/** By name of the export. */
export type StaticExportConfigs = ReadonlyMap<string, StaticExportConfig>;
