/**
 * Names of exported tables. Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (GetOutputTableName).
 */
import type { StaticExportConfig } from "../objects/object-configs.ts";
import { strftime } from "./strftime.ts";

/**
 * Puts the boundary into the pattern: `%UNIX_TS`, `%PERIOD`, `%ISO`, then the directives of `strftime` in UTC.
 *
 * @param exportTime the upper bound, in seconds of Unix time; the name has the lower one unless
 * `useUpperBoundForTableNames`
 */
export function exportedTableName(
  config: Pick<
    StaticExportConfig,
    "exportPeriodSeconds" | "outputTableNamePattern" | "useUpperBoundForTableNames"
  >,
  exportTime: number,
): string {
  const period = config.exportPeriodSeconds;
  const seconds = config.useUpperBoundForTableNames ? exportTime : exportTime - period;
  const bound = new Date(seconds * 1_000);
  const pattern = config.outputTableNamePattern
    .replaceAll("%UNIX_TS", String(seconds))
    .replaceAll("%PERIOD", String(period))
    .replaceAll("%ISO", `${bound.toISOString().slice(0, 19)}Z`);
  return strftime(pattern, bound);
}
