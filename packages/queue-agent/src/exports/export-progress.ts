/**
 * How far an export is: the attribute `@queue_static_export_progress` of its directory, in the forms of both
 * implementations. Either form is read; the one of the implementation at work is written.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (TQueueExportProgress), queue_exporter_old.cpp
 * (TQueueExportProgressOld).
 */
import { bare, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { greatest, least } from "../integers.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import type { QueueChunk } from "./queue-chunks.ts";

export type ExportImplementation = "old" | "new";

export interface TabletExportProgress {
  /** Id of the last exported chunk. */
  readonly lastChunk: string;
  /** The largest over all exported chunks. */
  readonly maxTimestamp: bigint;
  /** Index of the row after the last exported one, trimmed rows counted. */
  readonly rowCount: bigint;
  readonly chunkCount: bigint;
}

export interface ExportProgress {
  /** Unix milliseconds of the last task that left nothing undone; 0: none. */
  readonly lastSuccessMs: number;
  /** Unix milliseconds of the last task, which may have failed half way (new implementation); 0: none. */
  readonly lastTaskMs: number;
  /** Unix milliseconds of the last task that made a table (old implementation); 0: none. */
  readonly lastFragmentMs: number;
  /** The boundary of the last table that was made, in seconds of Unix time; 0: none. */
  readonly lastExportTime: number;
  readonly tablets: ReadonlyMap<number, TabletExportProgress>;
  /** The queue that the progress is of; `null`: not said, as in attributes of old revisions. */
  readonly queueObjectId: string | null;
}

const nullObjectId = "0-0-0-0";

/** The last moment that has a date. */
const maxUnixMs = 8.64e15;
const maxUnixSeconds = BigInt(maxUnixMs / 1_000);

/** Nothing has been exported. */
export function freshProgress(queueObjectId: string): ExportProgress {
  return {
    lastSuccessMs: 0,
    lastTaskMs: 0,
    lastFragmentMs: 0,
    lastExportTime: 0,
    tablets: new Map(),
    queueObjectId,
  };
}

/**
 * The progress of this queue: what is stored, when it is of this queue or does not say of which; otherwise
 * nothing has been exported yet.
 */
export function progressOf(stored: ExportProgress | null, queueObjectId: string): ExportProgress {
  if (stored === null) {
    return freshProgress(queueObjectId);
  }
  if (stored.queueObjectId === null) {
    return { ...stored, queueObjectId };
  }
  return stored.queueObjectId === queueObjectId ? stored : freshProgress(queueObjectId);
}

/** The progress when these chunks, in the order of their rows, have gone into a table of this boundary. */
export function advanced(
  progress: ExportProgress,
  chunks: readonly QueueChunk[],
  exportTime: number,
): ExportProgress {
  const tablets = new Map(progress.tablets);
  for (const chunk of chunks) {
    const before = tablets.get(chunk.tabletIndex);
    tablets.set(chunk.tabletIndex, {
      lastChunk: chunk.id,
      maxTimestamp: greatest(chunk.maxTimestamp, before?.maxTimestamp ?? 0n),
      rowCount: chunk.startRowIndex + chunk.rowCount,
      chunkCount: (before?.chunkCount ?? 0n) + 1n,
    });
  }
  return { ...progress, tablets, lastExportTime: exportTime };
}

/** Exported rows by partition, for trimming. */
export function exportedRowCounts(progress: ExportProgress): ReadonlyMap<number, bigint> {
  return new Map([...progress.tablets].map(([index, { rowCount }]) => [index, rowCount]));
}

/** The attribute in the form of the implementation. */
export function encodeProgress(progress: ExportProgress, implementation: ExportImplementation): YsonMap {
  const tablets = new Map(
    [...progress.tablets]
      .sort(([left], [right]) => left - right)
      .map(([index, tablet]): [string, YsonValue] => [
        String(index),
        mapOf({
          last_chunk: tablet.lastChunk,
          max_timestamp: new Uint64(tablet.maxTimestamp),
          row_count: tablet.rowCount,
          chunk_count: tablet.chunkCount,
        }),
      ]),
  );
  const success = instantFromMs(progress.lastSuccessMs);
  const exportTime = new Uint64(BigInt(progress.lastExportTime));
  const common = { tablets, queue_object_id: progress.queueObjectId ?? nullObjectId };
  return implementation === "old"
    ? mapOf({
        last_successful_export_iteration_instant: success,
        last_exported_fragment_iteration_instant: instantFromMs(progress.lastFragmentMs),
        last_exported_fragment_unix_ts: exportTime,
        ...common,
      })
    : mapOf({
        last_successful_export_task_instant: success,
        last_successful_export_iteration_instant: success,
        last_export_task_instant: instantFromMs(progress.lastTaskMs),
        last_export_unix_ts: exportTime,
        ...common,
      });
}

/** Reads either form. What is absent has its null value. @throws YtError when it is no progress at all */
export function decodeProgress(value: YsonValue): ExportProgress {
  const fields = mapOrFail(value);
  const tablets = new Map<number, TabletExportProgress>();
  for (const [key, tablet] of mapOrFail(fields.get("tablets") ?? new Map())) {
    const index = Number(key);
    if (!/^\d+$/.test(key) || !Number.isSafeInteger(index)) {
      throw malformed(`"${key}" is not an index of a tablet`);
    }
    const item = mapOrFail(tablet);
    tablets.set(index, {
      lastChunk: textAt(item, "last_chunk") ?? nullObjectId,
      maxTimestamp: integerAt(item, "max_timestamp"),
      rowCount: countAt(item, "row_count"),
      chunkCount: countAt(item, "chunk_count"),
    });
  }
  const id = textAt(fields, "queue_object_id");
  const lastTask = instantAt(fields, "last_export_task_instant");
  const lastFragment = instantAt(fields, "last_exported_fragment_iteration_instant");
  return {
    lastSuccessMs: Math.max(
      instantAt(fields, "last_successful_export_task_instant"),
      instantAt(fields, "last_successful_export_iteration_instant"),
    ),
    lastTaskMs: Math.max(lastTask, lastFragment),
    lastFragmentMs: lastFragment,
    lastExportTime: Number(
      least(
        greatest(
          integerAt(fields, "last_export_unix_ts"),
          integerAt(fields, "last_exported_fragment_unix_ts"),
        ),
        maxUnixSeconds,
      ),
    ),
    tablets,
    queueObjectId: id === null || id === nullObjectId ? null : id,
  };
}

function mapOrFail(value: YsonValue): YsonMap {
  const plain = bare(value);
  if (!isMap(plain)) {
    throw malformed("a map is expected");
  }
  return plain;
}

function textAt(fields: YsonMap, name: string): string | null {
  const value = bare(fields.get(name) ?? null);
  if (value !== null && typeof value !== "string") {
    throw malformed(`"${name}" must be a string`);
  }
  return value;
}

/** Statuses show counts as `int64`, and they grow. */
const maxCount = 1n << 62n;

function countAt(fields: YsonMap, name: string): bigint {
  const count = integerAt(fields, name);
  if (count > maxCount) {
    throw malformed(`"${name}" must be at most ${maxCount}`);
  }
  return count;
}

function integerAt(fields: YsonMap, name: string): bigint {
  const value = bare(fields.get(name) ?? 0n);
  const integer = value instanceof Uint64 ? value.value : value;
  if (typeof integer !== "bigint" || integer < 0n) {
    throw malformed(`"${name}" must be an integer, at least 0`);
  }
  return integer;
}

/** Unix milliseconds; 0 when absent. */
function instantAt(fields: YsonMap, name: string): number {
  const value = bare(fields.get(name) ?? null);
  if (value === null) {
    return 0;
  }
  const unixMs = typeof value === "string" ? Date.parse(value) : Number(integerAt(fields, name));
  if (!(unixMs <= maxUnixMs)) {
    throw malformed(`"${name}" must be an instant`);
  }
  return unixMs;
}

function malformed(reason: string): YtError {
  return new YtError(
    `Error reading export progress: ${reason}; remove @queue_static_export_progress from the directory to begin anew`,
  );
}
