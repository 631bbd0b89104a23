/**
 * Built-in settings of tables: their defaults, what may be set when, and how the engine reads them.
 * Specified in: yt/yt/server/master/table_server/table_node_proxy_detail.cpp,
 * yt/yt/server/lib/tablet_node/config.cpp (mount settings).
 */
import { bare, durationOfText, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { timestampFromMs } from "@qyt/schema";
import {
  defaultFlushSettings,
  defaultTtlSettings,
  type FlushSettings,
  type TtlSettings,
} from "../ordered/index.ts";
import type { Retention } from "../sorted/index.ts";
import { checkMountConfig } from "./mount-settings.ts";
import type { TableState } from "./table-state.ts";

export interface Setting {
  readonly default: YsonValue | ((state: TableState) => YsonValue);
  readonly parse: (value: YsonValue) => YsonValue;
  /** Cannot be changed while any tablet is mounted; the text says what. */
  readonly needsUnmounted?: string;
  readonly dynamicOnly?: boolean;
  readonly inheritable?: boolean;
}

function oneOf(type: string, values: readonly string[]): (value: YsonValue) => YsonValue {
  return (value) => {
    const plain = bare(value);
    if (typeof plain !== "string" || !values.includes(plain)) {
      throw new YtError(`Error parsing ${type} value "${String(plain)}"`);
    }
    return plain;
  };
}

function boolean(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (plain === true || plain === "true") {
    return true;
  }
  if (plain === false || plain === "false") {
    return false;
  }
  throw new YtError("Cannot parse boolean value");
}

function string(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (typeof plain !== "string") {
    throw new YtError("Cannot parse string value");
  }
  return plain;
}

function integer(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain !== "bigint") {
    throw new YtError("Cannot parse integer value");
  }
  return plain;
}

/** @throws YtError */
export function parseMap(value: YsonValue): YsonMap {
  const plain = bare(value);
  if (!isMap(plain)) {
    throw new YtError("Cannot parse map value");
  }
  return plain;
}

/** Every writable built-in setting by attribute name. */
export const tableSettings: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  [
    "optimize_for",
    {
      default: (state) => (state.dynamic ? "lookup" : "scan"),
      parse: oneOf("EOptimizeFor", ["lookup", "scan"]),
      inheritable: true,
    },
  ],
  ["compression_codec", { default: "lz4", parse: string, inheritable: true }],
  ["erasure_codec", { default: "none", parse: string, inheritable: true }],
  [
    "replication_factor",
    { default: 3n, parse: integer, inheritable: true, needsUnmounted: "replication factor" },
  ],
  [
    "media",
    {
      default: mapOf({ default: mapOf({ replication_factor: 3n, data_parts_only: false }) }),
      parse: parseMap,
      inheritable: true,
      needsUnmounted: "media",
    },
  ],
  ["primary_medium", { default: "default", parse: string, inheritable: true }],
  ["vital", { default: true, parse: boolean, inheritable: true, needsUnmounted: "vital" }],
  [
    "in_memory_mode",
    {
      default: "none",
      parse: oneOf("EInMemoryMode", ["none", "compressed", "uncompressed"]),
      inheritable: true,
      needsUnmounted: "in-memory mode",
    },
  ],
  [
    "atomicity",
    {
      default: "full",
      parse: oneOf("EAtomicity", ["full", "none"]),
      inheritable: true,
      dynamicOnly: true,
      needsUnmounted: "table atomicity mode",
    },
  ],
  [
    "commit_ordering",
    {
      default: "weak",
      parse: oneOf("ECommitOrdering", ["weak", "strong"]),
      inheritable: true,
      dynamicOnly: true,
      needsUnmounted: "table commit ordering mode",
    },
  ],
  [
    "tablet_cell_bundle",
    {
      default: "default",
      parse: string,
      inheritable: true,
      dynamicOnly: true,
      needsUnmounted: "tablet cell bundle",
    },
  ],
  [
    "enable_dynamic_store_read",
    { default: false, parse: boolean, dynamicOnly: true, needsUnmounted: "dynamic store readability" },
  ],
  [
    "mount_config",
    { default: mapOf({}), parse: (value) => checkMountConfig(parseMap(value)), dynamicOnly: true },
  ],
  [
    "tablet_balancer_config",
    {
      default: mapOf({ enable_auto_reshard: true, enable_auto_tablet_move: true }),
      parse: parseMap,
      dynamicOnly: true,
    },
  ],
  ["profiling_mode", { default: "path", parse: string, inheritable: true, dynamicOnly: true }],
]);

/** The value of a setting or its default. */
export function settingOf(state: TableState, name: string): YsonValue {
  const own = state.settings.get(name);
  if (own !== undefined) {
    return own;
  }
  const fallback = tableSettings.get(name)?.default ?? null;
  return typeof fallback === "function" ? fallback(state) : fallback;
}

/** Name of the tablet cell bundle that the table's tablets are in, or come into when they are mounted. */
export function bundleOf(state: TableState): string {
  return String(settingOf(state, "tablet_cell_bundle"));
}

/** A mount setting: a plain attribute of the table or a key of `mount_config`. */
function mountSetting(attributes: YsonMap, state: TableState, name: string): YsonValue | undefined {
  const own = attributes.get(name);
  const config = settingOf(state, "mount_config");
  // An entity is a value too: it switches off.
  return own === undefined && isMap(config) ? config.get(name) : own;
}

function number(value: YsonValue | undefined, fallback: number): number {
  const plain = value === undefined ? undefined : bare(value);
  if (typeof plain === "bigint") {
    return Number(plain);
  }
  if (plain instanceof Uint64) {
    return Number(plain.value);
  }
  return typeof plain === "number" ? plain : fallback;
}

/** Milliseconds as a number or a string such as `36h`. */
function durationMs(value: YsonValue | undefined, fallback: number): number {
  const plain = value === undefined ? undefined : bare(value);
  if (typeof plain !== "string") {
    return number(value, fallback);
  }
  return durationOfText(plain) ?? (/^\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : fallback);
}

/** How the dynamic store of the table's tablets is flushed. An entity as the period switches it off. */
export function flushSettings(attributes: YsonMap, state: TableState): FlushSettings {
  const period = mountSetting(attributes, state, "dynamic_store_auto_flush_period");
  const splay = durationMs(
    mountSetting(attributes, state, "dynamic_store_flush_period_splay"),
    defaultFlushSettings.autoFlushPeriodSplayMs,
  );
  return {
    ...defaultFlushSettings,
    autoFlushPeriodMs:
      period === null ? undefined : durationMs(period, defaultFlushSettings.autoFlushPeriodMs ?? 0),
    autoFlushPeriodSplayMs: splay,
    maxRowCount: number(
      mountSetting(attributes, state, "max_dynamic_store_row_count"),
      defaultFlushSettings.maxRowCount,
    ),
  };
}

/** When rows of an ordered table are trimmed by age. */
export function ttlSettings(attributes: YsonMap, state: TableState): TtlSettings {
  const read = (name: string): YsonValue | undefined => mountSetting(attributes, state, name);
  return {
    ...defaultTtlSettings,
    minDataVersions: number(read("min_data_versions"), defaultTtlSettings.minDataVersions),
    maxDataVersions: number(read("max_data_versions"), defaultTtlSettings.maxDataVersions),
    minDataTtlMs: durationMs(read("min_data_ttl"), defaultTtlSettings.minDataTtlMs),
    maxDataTtlMs: durationMs(read("max_data_ttl"), defaultTtlSettings.maxDataTtlMs),
    rowCountToKeep: number(read("row_count_to_keep"), defaultTtlSettings.rowCountToKeep),
  };
}

export interface SortedRetention {
  /** What is younger stays. */
  readonly minTtlMs: number;
  readonly retention: Retention;
}

/** Which old versions of a sorted table's rows go. */
export function sortedRetention(attributes: YsonMap, state: TableState, nowMs: number): SortedRetention {
  const { minDataVersions, maxDataVersions, minDataTtlMs, maxDataTtlMs } = ttlSettings(attributes, state);
  const lifetimeMs = maxDataVersions === 0 ? minDataTtlMs : Math.max(minDataTtlMs, maxDataTtlMs);
  return {
    minTtlMs: minDataTtlMs,
    retention: {
      minVersions: minDataVersions,
      maxVersions: maxDataVersions,
      agedBefore: timestampFromMs(Math.max(0, nowMs - lifetimeMs)),
    },
  };
}

const defaultLogTtlMs = 300_000;

/** How long rows stay in the log of a replicated table although all replicas have them. */
export function logTtlSettings(attributes: YsonMap, state: TableState): TtlSettings {
  const ttlMs = durationMs(mountSetting(attributes, state, "min_replication_log_ttl"), defaultLogTtlMs);
  return {
    minDataVersions: 0,
    maxDataVersions: 1,
    minDataTtlMs: ttlMs,
    maxDataTtlMs: ttlMs,
    rowCountToKeep: 0,
  };
}

/** The data weight beyond which an ordered tablet takes no more rows, in bytes. */
export function maxTabletDataWeight(attributes: YsonMap, state: TableState): number | undefined {
  const value = mountSetting(attributes, state, "max_ordered_tablet_data_weight");
  return value === undefined || value === null ? undefined : number(value, Number.POSITIVE_INFINITY);
}

/** Whether the table's rows are written with full transactions. */
export function atomicityOf(state: TableState): "full" | "none" {
  return settingOf(state, "atomicity") === "none" ? "none" : "full";
}
