/**
 * Ranges of a rich path: `[#1:#5]`, `["a":"c"]`, `ranges=[{lower_limit=…; upper_limit=…}]`.
 * Specified in: yt/yt/client/chunk_client/read_limit.cpp, legacy_read_limit.cpp,
 * table_node_proxy_detail.cpp (ValidateReadLimit).
 */
import { bare, isList, isMap, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import { keyOfYson, type RowKey } from "./row-keys.ts";

/**
 * A place between rows in key order: before all rows whose key is not below `key`, or after all rows that
 * begin with `key` or come before those.
 */
export interface KeyCut {
  readonly key: RowKey;
  readonly after: boolean;
}

export interface ReadLimit {
  readonly rowIndex?: number;
  readonly tabletIndex?: number;
  readonly chunkIndex?: number;
  readonly cut?: KeyCut;
}

/** Rows at or after `lower` and before `upper`. A tablet index in `upper` without a row index excludes that tablet. */
export interface ReadRange {
  readonly lower: ReadLimit;
  readonly upper: ReadLimit;
}

export type TableKind = "static" | "ordered" | "sorted";

/** @throws YtError 2700 for a malformed limit, 1 for one that the kind of table does not have */
export function readRanges(path: RichPath, kind: TableKind, isSorted: boolean): ReadRange[] {
  const { attributes } = path;
  const list = bare(attributes.get("ranges") ?? null);
  const items = isList(list)
    ? list.map((item) => bare(item)).filter(isMap)
    : attributes.has("lower_limit") || attributes.has("upper_limit")
      ? [attributes]
      : [new Map<string, YsonValue>()];
  const ranges = items.map(parseRange);
  for (const { lower, upper } of ranges) {
    checkLimit(lower, kind, isSorted);
    checkLimit(upper, kind, isSorted);
  }
  return ranges;
}

function parseRange(range: YsonMap): ReadRange {
  const exact = limitMap(range, "exact");
  if (exact !== undefined) {
    return { lower: parseLimit(exact, "lower"), upper: parseExactEnd(exact) };
  }
  return {
    lower: parseLimit(limitMap(range, "lower_limit") ?? new Map(), "lower"),
    upper: parseLimit(limitMap(range, "upper_limit") ?? new Map(), "upper"),
  };
}

function limitMap(range: YsonMap, name: string): YsonMap | undefined {
  const value = bare(range.get(name) ?? null);
  if (value === null) {
    return undefined;
  }
  if (!isMap(value)) {
    throw invalid(`Read limit "${name}" must be a map`);
  }
  return value;
}

function parseLimit(limit: YsonMap, side: "lower" | "upper"): ReadLimit {
  const cut = parseCut(limit, side);
  return {
    ...index(limit, "row_index", "rowIndex"),
    ...index(limit, "tablet_index", "tabletIndex"),
    ...index(limit, "chunk_index", "chunkIndex"),
    ...(cut === undefined ? {} : { cut }),
  };
}

/** Where the rows of an exact limit end. */
function parseExactEnd(exact: YsonMap): ReadLimit {
  const { rowIndex, tabletIndex, chunkIndex } = parseLimit(exact, "lower");
  const key = exact.get("key");
  return {
    ...(rowIndex === undefined ? {} : { rowIndex: rowIndex + 1 }),
    ...(tabletIndex === undefined
      ? {}
      : { tabletIndex: rowIndex === undefined ? tabletIndex + 1 : tabletIndex }),
    ...(chunkIndex === undefined ? {} : { chunkIndex: chunkIndex + 1 }),
    ...(key === undefined ? {} : { cut: { key: keyOfYson(key), after: true } }),
  };
}

function index<Name extends string>(
  limit: YsonMap,
  attribute: string,
  name: Name,
): Partial<Record<Name, number>> {
  const value = bare(limit.get(attribute) ?? null);
  if (value === null) {
    return {};
  }
  const integer = value instanceof Uint64 ? value.value : value;
  if (typeof integer !== "bigint") {
    throw invalid(`Read limit "${attribute}" must be an integer`);
  }
  if (integer < 0n) {
    throw invalid(`Read limit "${attribute}" must be nonnegative`);
  }
  const most = BigInt(Number.MAX_SAFE_INTEGER - 1);
  const result: Partial<Record<Name, number>> = {};
  result[name] = Number(integer > most ? most : integer);
  return result;
}

function parseCut(limit: YsonMap, side: "lower" | "upper"): KeyCut | undefined {
  const bound = bare(limit.get("key_bound") ?? null);
  if (bound !== null) {
    return parseBound(bound, side);
  }
  const key = limit.get("key");
  return key === undefined ? undefined : { key: keyOfYson(key), after: false };
}

/** `[">="; [key]]` and the like. */
function parseBound(bound: YsonValue, side: "lower" | "upper"): KeyCut {
  const list = bare(bound);
  const [relation, key] = isList(list) ? list : [];
  const allowed: Readonly<Record<string, boolean>> =
    side === "lower" ? { ">=": false, ">": true } : { "<": false, "<=": true };
  const after = typeof relation === "string" ? allowed[relation] : undefined;
  if (after === undefined || key === undefined) {
    throw invalid(
      `Key bound of a ${side} limit must be a list of a relation, ${Object.keys(allowed).join(" or ")}, and a key`,
    );
  }
  return { key: keyOfYson(key), after };
}

function checkLimit(limit: ReadLimit, kind: TableKind, isSorted: boolean): void {
  if (limit.cut !== undefined && !isSorted) {
    throw new YtError("Key selectors are not supported for unsorted tables");
  }
  if (limit.tabletIndex !== undefined && kind !== "ordered") {
    throw new YtError("Tablet index selectors are only supported for ordered dynamic tables");
  }
  if (limit.rowIndex !== undefined && kind === "sorted") {
    throw new YtError("Row index selectors are not supported for sorted dynamic tables");
  }
  if (limit.rowIndex !== undefined && limit.tabletIndex === undefined && kind === "ordered") {
    throw new YtError(
      "In ordered dynamic tables row index selector can only be specified when tablet index selector is also specified",
    );
  }
  if (limit.chunkIndex !== undefined && kind !== "static") {
    throw new YtError("Chunk index selectors are only supported for static tables");
  }
}

function invalid(message: string): YtError {
  return new YtError(message, { code: "InvalidReadRange" });
}
