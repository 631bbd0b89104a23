/** Attributes of the queue and of the directory that an export reads before it does anything. */
import { bare, isMap, toYtError, Uint64, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { executeReads, outputValue } from "../clusters/batch.ts";
import { decodeProgress, type ExportProgress, progressOf } from "./export-progress.ts";

export const progressAttribute = "queue_static_export_progress";
const destinationAttribute = "queue_static_export_destination";

/** As it is when the queue does not say. */
const defaultFlushPeriodMs = 900_000;
const flushPeriodAttribute = "dynamic_store_auto_flush_period";

export interface ReadOptions {
  readonly transactionId?: string;
  readonly signal?: AbortSignal;
}

/**
 * Reads paths in one request.
 * @returns for each path its value or why it could not be read
 * @throws YtError when the request itself fails
 */
async function readAll(
  client: YtClient,
  paths: readonly string[],
  { transactionId, signal }: ReadOptions,
): Promise<readonly (YsonValue | YtError)[]> {
  const results = await executeReads(
    client,
    paths.map((path) => ({ command: "get", parameters: { path, transaction_id: transactionId } })),
    signal === undefined ? {} : { signal },
  );
  return results.map((result) => (result instanceof YtError ? result : outputValue(result)));
}

/** What is there, or the null value of what is absent. @throws YtError any other failure to read it */
function optional(read: YsonValue | YtError | undefined): YsonValue {
  if (read instanceof YtError) {
    if (read.has("ResolveError")) {
      return null;
    }
    throw read;
  }
  return read ?? null;
}

function required(read: YsonValue | YtError | undefined, what: string): YsonValue {
  if (read instanceof YtError) {
    throw read.wrap(`Error fetching ${what}`);
  }
  return read ?? null;
}

export interface QueueAttributes {
  readonly schema: YsonValue;
  /** Milliseconds; `null`: rows are not flushed by time. Undefined: given in a form that is not known here. */
  readonly flushPeriodMs: number | null | undefined;
}

/**
 * @param table the queue as `#<id>`
 * @throws YtError when it is no ordered dynamic table
 */
export async function readQueueAttributes(
  client: YtClient,
  table: string,
  queue: string,
  options: ReadOptions,
): Promise<QueueAttributes> {
  const mountConfig = `mount_config/${flushPeriodAttribute}`;
  const names = ["type", "dynamic", "sorted", "schema", flushPeriodAttribute, mountConfig];
  const [type, dynamic, sorted, schema, ...flushPeriods] = await readAll(
    client,
    names.map((name) => `${table}/@${name}`),
    options,
  );
  const what = `attributes of queue ${queue}`;
  const foundType = bare(required(type, what));
  if (foundType !== "table") {
    throw new YtError(`Invalid type of ${queue}: expected "table", "${String(foundType)}" found`);
  }
  if (bare(required(dynamic, what)) !== true) {
    throw new YtError(`Queue ${queue} should be a dynamic table`);
  }
  if (bare(required(sorted, what)) === true) {
    throw new YtError(`Queue ${queue} should be an ordered dynamic table`);
  }
  return { schema: required(schema, what), flushPeriodMs: flushPeriodOf(flushPeriods) };
}

/** The first of the attributes that is there counts. */
function flushPeriodOf(reads: readonly (YsonValue | YtError)[]): number | null | undefined {
  const found = reads.find((read) => !(read instanceof YtError));
  if (found === undefined || found instanceof YtError) {
    return defaultFlushPeriodMs;
  }
  const value = bare(found);
  if (value instanceof Uint64) {
    return Number(value.value);
  }
  return value === null ? null : typeof value === "bigint" ? Number(value) : undefined;
}

/**
 * The progress that the directory has of the queue.
 * @throws YtError when the directory does not take exports of the queue, or cannot be read
 */
export async function readDestination(
  client: YtClient,
  directory: string,
  queue: { readonly path: string; readonly objectId: string },
  options: ReadOptions,
): Promise<ExportProgress> {
  const [destination, stored] = await readAll(
    client,
    [`${directory}/@${destinationAttribute}`, `${directory}/@${progressAttribute}`],
    options,
  );
  const originatingId = originatingQueueId(destination, directory, queue.objectId);
  if (originatingId !== queue.objectId) {
    throw new YtError(
      `Destination config is not configured to accept exports from queue ${queue.path}, configured id ${originatingId} does not match queue id ${queue.objectId}: ` +
        `set ${directory}/@${destinationAttribute} to {originating_queue_id="${queue.objectId}"}`,
    );
  }
  const progress = optional(stored);
  return progressOf(progress === null ? null : decodeProgress(progress), queue.objectId);
}

function originatingQueueId(
  read: YsonValue | YtError | undefined,
  directory: string,
  objectId: string,
): string {
  if (read instanceof YtError) {
    throw new YtError(
      `Error fetching attribute "${destinationAttribute}" of ${directory}: the export directory must exist and have it set to {originating_queue_id="${objectId}"}`,
      { code: read.code, inner: [toYtError(read)] },
    );
  }
  const map = bare(read ?? null);
  const id = isMap(map) ? bare(map.get("originating_queue_id") ?? null) : null;
  return typeof id === "string" ? id : String(id);
}
