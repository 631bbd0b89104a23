/**
 * Values of the mount settings that this server acts on. They are attributes of users on the table, or keys of its
 * `mount_config`: a value that means nothing is refused when it is set, as rows would go or stay by a default.
 * Specified in: yt/yt/server/lib/tablet_node/config.cpp.
 */
import { bare, durationOfText, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";

type Kind = "duration" | "period" | "count";

const kinds: ReadonlyMap<string, Kind> = new Map([
  ["min_data_ttl", "duration"],
  ["max_data_ttl", "duration"],
  ["min_replication_log_ttl", "duration"],
  ["dynamic_store_flush_period_splay", "duration"],
  ["backing_store_retention_time", "duration"],
  ["dynamic_store_auto_flush_period", "period"],
  ["auto_compaction_period", "period"],
  ["min_data_versions", "count"],
  ["max_data_versions", "count"],
  ["row_count_to_keep", "count"],
  ["max_dynamic_store_row_count", "count"],
  ["max_ordered_tablet_data_weight", "count"],
]);

const expected: Readonly<Record<Kind, string>> = {
  duration: 'milliseconds, or a text such as "36h"',
  period: 'milliseconds, a text such as "36h", or an entity to switch it off',
  count: "a whole number that is not negative",
};

/** @throws YtError that names the attribute when the setting cannot have the value; other names are not looked at */
export function checkMountSetting(name: string, value: YsonValue): void {
  const kind = kinds.get(name);
  if (kind !== undefined && !fits(kind, bare(value))) {
    throw new YtError(`Error parsing attribute "${name}": expected ${expected[kind]}`, {
      attributes: { attribute: name, value },
    });
  }
}

/** The same for all keys of `mount_config`. */
export function checkMountConfig(config: YsonMap): YsonMap {
  for (const [name, value] of config) {
    checkMountSetting(name, value);
  }
  return config;
}

function fits(kind: Kind, value: YsonValue): boolean {
  if (value === null) {
    return kind !== "duration";
  }
  if (typeof value === "bigint") {
    return value >= 0n;
  }
  if (value instanceof Uint64) {
    return true;
  }
  if (kind === "count") {
    return false;
  }
  return typeof value === "string"
    ? durationOfText(value) !== undefined || /^\d+(?:\.\d+)?$/.test(value)
    : typeof value === "number" && value >= 0;
}
