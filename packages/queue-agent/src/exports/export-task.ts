/**
 * One task of an export: makes the tables that are due and stores the progress, all in one master transaction,
 * so that progress and tables never say different things.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (TQueueExportTask), queue_exporter_old.cpp
 * (TQueueExportTaskOld). The queue is kept by a snapshot lock; a lock on an attribute key of the directory
 * keeps other instances out.
 */
import { bare, type Clock, isMap, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { writeYson } from "@qyt/yson";
import type { QueueExporterConfig } from "../config/dynamic-config.ts";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import { progressAttribute, readDestination, readQueueAttributes } from "./export-attributes.ts";
import { type DirectoryUsage, pauseReason, readDirectoryUsage } from "./export-brakes.ts";
import {
  countPending,
  type ExportPart,
  type ExportPlan,
  planSingleTable,
  planTablePerPeriod,
} from "./export-plan.ts";
import {
  advanced,
  type ExportImplementation,
  type ExportProgress,
  encodeProgress,
} from "./export-progress.ts";
import { boundaryAt } from "./export-time.ts";
import { inTransaction, nestedTransactionTimeoutMs } from "./export-transaction.ts";
import { type ExportedTableOptions, makeExportedTable } from "./exported-table.ts";
import { decodeQueueChunks, type QueueChunk, type QueueChunks } from "./queue-chunks.ts";

/** Held by the instance that exports into the directory; conflicts with nobody else's locks. */
const exporterLockKey = "queue_static_exporter";

export interface ExportTaskOptions {
  readonly client: YtClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly queuePath: string;
  readonly config: StaticExportConfig;
  readonly implementation: ExportImplementation;
  readonly exporter: Pick<QueueExporterConfig, "enableRowCountCheck" | "maxExportedTableCountPerTask">;
}

/** What is left for later tasks. */
export interface PendingExport {
  /** Tables that are due and were not made. */
  readonly tableCount: number;
  /** Chunks that are flushed and not exported, due or not. */
  readonly chunkCount: number;
  readonly rowCount: bigint;
}

export interface ExportTaskResult {
  /** The boundary up to which the task exported, in seconds of Unix time. */
  readonly upperBound: number;
  /** As stored when the task ended; `null` when it could not be read. */
  readonly progress: ExportProgress | null;
  /** Why the task as a whole failed: nothing has changed then, or (a failed commit) it is unknown. */
  readonly taskError: YtError | null;
  /** Why tables are missing though the task was committed. */
  readonly exportError: YtError | null;
  /** `exportError` says that a brake holds. */
  readonly isPaused: boolean;
  readonly exportedTableCount: number;
  readonly skippedTableCount: number;
  readonly exportedRowCount: bigint;
  readonly exportedChunkCount: number;
  readonly rowCountMismatchCount: number;
  /** `null`: the task did not get so far as to know. */
  readonly pending: PendingExport | null;
  /** The queue's flush period in milliseconds; `null`: it is not flushed by time. Undefined: not known. */
  readonly flushPeriodMs: number | null | undefined;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Runs one task. Failures are in the result; rejects only with the signal's reason. */
export async function runExportTask(options: ExportTaskOptions): Promise<ExportTaskResult> {
  const { clock, signal, config } = options;
  const result: Mutable<ExportTaskResult> = {
    upperBound: boundaryAt(clock.now(), config.exportPeriodSeconds),
    progress: null,
    taskError: null,
    exportError: null,
    isPaused: false,
    exportedTableCount: 0,
    skippedTableCount: 0,
    exportedRowCount: 0n,
    exportedChunkCount: 0,
    rowCountMismatchCount: 0,
    pending: null,
    flushPeriodMs: undefined,
  };
  try {
    const title = `Queue static export: ${options.queuePath} to ${config.exportDirectory}`;
    // What the transaction made is reported when it is committed, not before.
    const made = await inTransaction(options.client, clock, signal, title, (transactionId) =>
      new TaskInTransaction(options, transactionId, result).run(),
    );
    Object.assign(result, made);
  } catch (thrown) {
    signal.throwIfAborted();
    result.taskError = toYtError(thrown);
  }
  return result;
}

type Made = Pick<
  ExportTaskResult,
  | "progress"
  | "exportError"
  | "isPaused"
  | "exportedTableCount"
  | "skippedTableCount"
  | "exportedRowCount"
  | "exportedChunkCount"
  | "pending"
>;

class TaskInTransaction {
  readonly #options: ExportTaskOptions;
  readonly #transactionId: string;
  readonly #result: Mutable<ExportTaskResult>;
  /** Unix milliseconds. */
  readonly #startMs: number;
  #schema: YsonValue = null;
  #table = "";
  #usage: DirectoryUsage | null = null;

  constructor(options: ExportTaskOptions, transactionId: string, result: Mutable<ExportTaskResult>) {
    this.#options = options;
    this.#transactionId = transactionId;
    this.#result = result;
    this.#startMs = options.clock.now();
  }

  async run(): Promise<Made> {
    const { client, config, implementation, queuePath, signal } = this.#options;
    const inside = { transactionId: this.#transactionId, signal };
    const objectId = await this.#lock();
    this.#table = `#${objectId}`;
    // After the locks, as upstream: what was flushed while waiting for them is in.
    const upperBound = boundaryAt(this.#options.clock.now(), config.exportPeriodSeconds);
    this.#result.upperBound = upperBound;
    const attributes = await readQueueAttributes(client, this.#table, queuePath, inside);
    this.#schema = attributes.schema;
    this.#result.flushPeriodMs = attributes.flushPeriodMs;
    const queue = { path: queuePath, objectId };
    const current = await readDestination(client, config.exportDirectory, queue, inside);
    this.#result.progress = current;
    if (current.lastExportTime >= upperBound) {
      return this.#alreadyExported(current, upperBound);
    }
    const chunks = await decodeQueueChunks(
      await client.execute(
        "fetch_queue_chunks",
        { path: this.#table, transaction_id: this.#transactionId },
        { signal },
      ),
    );
    const plan = this.#plan(chunks, current, upperBound);
    this.#result.pending = { tableCount: plan.parts.length, ...countPending(chunks, current) };
    if (plan.parts.length > 0) {
      this.#usage = await readDirectoryUsage(client, config, inside);
    }
    const made =
      implementation === "old"
        ? await this.#exportSingle(plan, current)
        : await this.#exportParts(plan, current);
    await client.set(
      `${config.exportDirectory}/@${progressAttribute}`,
      writeYson(encodeProgress(made.progress, implementation), "binary"),
      inside,
    );
    const tableCount = plan.parts.length - made.exportedTableCount;
    return { ...made, pending: { tableCount, ...countPending(chunks, made.progress) } };
  }

  /** @returns the id of the queue that is at the path now */
  async #lock(): Promise<string> {
    const { client, config, queuePath, signal } = this.#options;
    const transaction_id = this.#transactionId;
    const answer = await client.execute(
      "lock",
      { path: queuePath, mode: "snapshot", transaction_id },
      { signal },
    );
    const id = isMap(answer) ? bare(answer.get("node_id") ?? null) : null;
    if (typeof id !== "string") {
      throw new YtError(`The proxy did not tell the object id of queue ${queuePath}`);
    }
    // A queue whose exports the directory does not take, as a copy of the right one, must not keep that one out:
    // both would come for the lock at the same boundary, and `old` exports try again only at the next one.
    await readDestination(
      client,
      config.exportDirectory,
      { path: queuePath, objectId: id },
      { transactionId: transaction_id, signal },
    );
    await client.execute(
      "lock",
      { path: config.exportDirectory, mode: "shared", attribute_key: exporterLockKey, transaction_id },
      { signal },
    );
    return id;
  }

  /** Another instance was faster, or a clock was set back. */
  #alreadyExported(current: ExportProgress, upperBound: number): Made {
    if (this.#options.implementation === "old") {
      throw new YtError(
        `Fragment with unix ts ${upperBound} is already exported, last exported fragment unix ts is ${current.lastExportTime}`,
      );
    }
    return { ...nothingMade(current), pending: this.#result.pending };
  }

  #plan(chunks: QueueChunks, current: ExportProgress, upperBound: number): ExportPlan {
    const { config, implementation, exporter } = this.#options;
    const bounds = { periodSeconds: config.exportPeriodSeconds, upperBound };
    if (implementation === "old") {
      return planSingleTable(chunks, current, bounds);
    }
    const plan = planTablePerPeriod(chunks, current, bounds);
    this.#result.rowCountMismatchCount = plan.mismatches.length;
    const [mismatch] = plan.mismatches;
    if (mismatch !== undefined && exporter.enableRowCountCheck) {
      const { chunk, rowCount } = mismatch;
      throw new YtError(
        `Mismatch between last chunk from tablet progress and row count from progress: chunk ${chunk.id} of tablet ${chunk.tabletIndex} ends at row ${chunk.startRowIndex + chunk.rowCount}, the progress says ${rowCount}; ` +
          `correct @${progressAttribute} of ${config.exportDirectory} or set "enable_row_count_check" to %false`,
      );
    }
    return plan;
  }

  /** One table or none; what fails fails the task. */
  async #exportSingle(
    plan: ExportPlan,
    current: ExportProgress,
  ): Promise<Made & { progress: ExportProgress }> {
    const startMs = this.#startMs;
    const [part] = plan.parts;
    const done = { lastSuccessMs: startMs, lastTaskMs: startMs };
    if (part === undefined) {
      return nothingMade({ ...current, lastSuccessMs: startMs });
    }
    const pause = pauseReason(this.#options.config, this.#usage);
    if (pause !== null) {
      return { ...nothingMade(current), exportError: pause, isPaused: true, skippedTableCount: 1 };
    }
    await makeExportedTable(this.#tableOptions(), part, this.#transactionId, startMs);
    const progress = advanced(current, part.chunks, part.exportTime);
    return made({ ...progress, ...done, lastFragmentMs: startMs }, [part]);
  }

  /** A table for each part, each in a transaction of its own, up to the first that fails. */
  async #exportParts(
    plan: ExportPlan,
    current: ExportProgress,
  ): Promise<Made & { progress: ExportProgress }> {
    const { config, exporter } = this.#options;
    const due = plan.parts.slice(0, exporter.maxExportedTableCountPerTask);
    let progress = current;
    let exportError: YtError | null = null;
    let isPaused = false;
    const ready: ExportPart[] = [];
    for (const part of due) {
      exportError = pauseReason(config, this.#usage);
      if (exportError !== null) {
        isPaused = true;
        break;
      }
      exportError = await this.#tryPart(part);
      if (exportError !== null) {
        break;
      }
      progress = advanced(progress, part.chunks, part.exportTime);
      ready.push(part);
      this.#usage = withPart(this.#usage, part);
    }
    progress = { ...progress, lastTaskMs: this.#startMs };
    if (exportError === null) {
      progress = { ...progress, lastSuccessMs: this.#startMs };
    }
    return { ...made(progress, ready), exportError, isPaused, skippedTableCount: due.length - ready.length };
  }

  /**
   * Makes one table in a transaction of its own.
   *
   * @returns why there is no such table now
   * @throws YtError when it is unknown whether there is one: the whole task must not be committed then
   */
  async #tryPart(part: ExportPart): Promise<YtError | null> {
    const { client, signal } = this.#options;
    const inner = await client.startTransaction({
      transactionTimeoutMs: nestedTransactionTimeoutMs,
      parentId: this.#transactionId,
      signal,
    });
    try {
      await makeExportedTable(this.#tableOptions(), part, inner, part.exportTime * 1_000);
    } catch (thrown) {
      signal.throwIfAborted();
      await client.abortTransaction(inner, { signal });
      return new YtError("Queue export task part failed", {
        attributes: { export_unix_ts: BigInt(part.exportTime) },
        inner: [toYtError(thrown)],
      });
    }
    await client.commitTransaction(inner, { signal });
    return null;
  }

  #tableOptions(): ExportedTableOptions {
    const { client, signal, config } = this.#options;
    return { client, signal, config, queueTable: this.#table, schema: this.#schema };
  }
}

function nothingMade(progress: ExportProgress): Made & { progress: ExportProgress } {
  return made(progress, []);
}

function made(progress: ExportProgress, parts: readonly ExportPart[]): Made & { progress: ExportProgress } {
  const chunks = parts.flatMap((part) => part.chunks);
  return {
    progress,
    exportError: null,
    isPaused: false,
    exportedTableCount: parts.length,
    skippedTableCount: 0,
    exportedRowCount: chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0n),
    exportedChunkCount: chunks.length,
    pending: null,
  };
}

function withPart(usage: DirectoryUsage | null, part: ExportPart): DirectoryUsage | null {
  return usage === null
    ? null
    : { tableCount: usage.tableCount + 1, dataWeight: usage.dataWeight + weightOf(part.chunks) };
}

function weightOf(chunks: readonly QueueChunk[]): bigint {
  return chunks.reduce((sum, { dataWeight }) => sum + dataWeight, 0n);
}
