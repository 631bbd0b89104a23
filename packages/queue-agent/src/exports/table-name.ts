/**
 * Names of exported tables. Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (GetOutputTableName).
 */
import { YtError } from "@qyt/base";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import { strftime } from "./strftime.ts";

/** What has a meaning in paths. A `/` would lead out of the directory, through a link in it to any other one. */
const specialInPaths = /[\\/@&*[{]/;

/**
 * Puts the boundary into the pattern: `%UNIX_TS`, `%PERIOD`, `%ISO`, then the directives of `strftime` in UTC.
 *
 * @param exportTime the upper bound, in seconds of Unix time; the name has the lower one unless
 * `useUpperBoundForTableNames`
 * @throws YtError when the result is not a plain name: unlike the real system, tables are made in the directory itself
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
  const name = strftime(pattern, bound);
  if (name === "" || specialInPaths.test(name)) {
    throw new YtError(
      `Output table name pattern "${config.outputTableNamePattern}" gives "${name}", which is no name of a table: ` +
        "change the pattern so that names are not empty and have none of / \\ @ & * [ {; no rows are lost meanwhile",
      { attributes: { output_table_name_pattern: config.outputTableNamePattern } },
    );
  }
  return name;
}
