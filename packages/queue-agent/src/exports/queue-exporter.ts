/**
 * Runs the tasks of one export when they are due, and remembers how far it is.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (TQueueExporter), queue_exporter_old.cpp
 * (TQueueExporterOld). `old` ticks at multiples of the period and retries at the next one; `new` looks each
 * pass whether a boundary has gone by that is not exported, and retries after a back-off, inside the period too.
 */
import { type Clock, sleep, toYtError, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { ManagedAlertCollector } from "../alerts/alert-manager.ts";
import type { QueueExporterConfig } from "../config/dynamic-config.ts";
import type { AgentContext } from "../context.ts";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import type { ObjectReference } from "../objects/reference.ts";
import { readDestination } from "./export-attributes.ts";
import type { ExportManager } from "./export-manager.ts";
import { type ExportImplementation, type ExportProgress, encodeProgress } from "./export-progress.ts";
import { type ExportTaskResult, runExportTask } from "./export-task.ts";
import { boundaryAfter, boundaryAt } from "./export-time.ts";
import { type ExporterState, emptyExporterState, orchidOf, recorded, statusOf } from "./exporter-state.ts";
import { RetryBackoff } from "./retry-backoff.ts";

/** A pause is slept in pieces of so many milliseconds, so that a moved clock or configuration counts soon. */
const maxSleepMs = 1_000;
/** A tick of the old implementation comes so much after its boundary. */
const oldTickDelayMs = 10;
/** A progress that could not be read is read again after so many milliseconds. */
const progressReadPeriodMs = 10_000;
/** A paused export looks again so soon whether it may go on. */
const pausedRetryMs = 10_000;

export interface QueueExporterOptions {
  readonly context: AgentContext;
  readonly queue: ObjectReference;
  readonly name: string;
  readonly implementation: ExportImplementation;
  readonly config: StaticExportConfig;
  readonly objectId: string | null;
  readonly manager: ExportManager;
  readonly collector: ManagedAlertCollector;
}

export class QueueExporter {
  readonly implementation: ExportImplementation;
  readonly #options: QueueExporterOptions;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #backoff: RetryBackoff;
  readonly #ended: Promise<void>;
  #config: StaticExportConfig;
  #objectId: string | null;
  /** Changes whenever what is known of the progress does not hold any more. */
  #generation = 0;
  /** Monotonic milliseconds. */
  #nextProgressReadMs = 0;
  #state: ExporterState = emptyExporterState;
  /** The boundary up to which all is exported; in seconds of Unix time. */
  #handledTime = 0;
  /** The next tick of the old implementation, in seconds of Unix time. */
  #tickTime: number;
  /** Monotonic milliseconds before which no task starts. */
  #notBeforeMs = 0;
  #backoffConfig: QueueExporterConfig["retryBackoff"];

  constructor(options: QueueExporterOptions) {
    const { context, config } = options;
    this.#options = options;
    this.#clock = context.clock;
    this.implementation = options.implementation;
    this.#config = config;
    this.#objectId = options.objectId;
    this.#backoff = new RetryBackoff(context.random);
    this.#backoffConfig = this.#dynamicConfig().retryBackoff;
    this.#tickTime = this.#nextTick();
    this.#ended = this.#run();
  }

  /** `null`: not read yet. */
  get progress(): ExportProgress | null {
    return this.#state.progress;
  }

  get state(): ExporterState {
    return this.#state;
  }

  /** Goes on with another configuration, or with a queue made anew at the path. */
  reconfigure(config: StaticExportConfig, objectId: string | null): void {
    if (objectId === this.#objectId && isSame(config, this.#config)) {
      return;
    }
    if (config.exportDirectory !== this.#config.exportDirectory || objectId !== this.#objectId) {
      this.#generation++;
      this.#state = { ...this.#state, progress: null, pending: null };
      this.#handledTime = 0;
    }
    // What failed may be well now.
    this.#notBeforeMs = 0;
    this.#nextProgressReadMs = 0;
    this.#backoff.restart();
    const isRescheduled = config.exportPeriodSeconds !== this.#config.exportPeriodSeconds;
    this.#config = config;
    this.#objectId = objectId;
    if (isRescheduled) {
      this.#tickTime = this.#nextTick();
      // A boundary of the former period says nothing about those of the new one.
      this.#handledTime = 0;
    }
  }

  /**
   * Reads the stored progress if it is not known: the next task may be long in coming, and trimming waits for
   * it. Never rejects; what is wrong is reported by the task.
   */
  async readProgress(): Promise<void> {
    const objectId = this.#objectId;
    const nowMs = this.#clock.monotonic();
    if (objectId === null || this.#state.progress !== null || nowMs < this.#nextProgressReadMs) {
      return;
    }
    const { context, queue } = this.#options;
    const generation = this.#generation;
    this.#nextProgressReadMs = nowMs + progressReadPeriodMs;
    try {
      const client = context.clusters.client(queue.cluster);
      const found = await readDestination(
        client,
        this.#config.exportDirectory,
        { path: queue.path, objectId },
        { signal: this.#abort.signal },
      );
      if (generation === this.#generation && this.#state.progress === null) {
        this.#state = { ...this.#state, progress: found };
      }
    } catch {
      // Not known, then: trimming goes on waiting.
    }
  }

  /** The progress in the status. */
  progressYson(): YsonValue {
    const progress = this.#state.progress;
    return progress === null
      ? encodeProgress(emptyProgress, this.implementation)
      : encodeProgress(progress, this.implementation);
  }

  /** What qyt adds to the status. */
  statusYson(): YsonValue {
    return statusOf(this.#state, this.#config, {
      implementation: this.implementation,
      nextRunMs: this.#nextRunMs(),
      retryIndex: this.#backoff.retryIndex,
    });
  }

  orchid(): YsonValue {
    return orchidOf(this.#state, this.#config, {
      implementation: this.implementation,
      handledTime: this.#handledTime,
      retryIndex: this.#backoff.retryIndex,
      backoffMs: this.#backoff.backoffMs,
    });
  }

  /** Resolves when the task under way has ended; its transaction is aborted. Takes its alerts along. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#options.collector.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const delayMs = this.#delayMs();
        if (delayMs > 0) {
          await sleep(this.#clock, Math.min(delayMs, maxSleepMs), signal);
        } else {
          await this.#invoke(signal);
        }
      } catch (thrown) {
        if (!signal.aborted) {
          // A fault of this program; the export goes on at its next turn.
          this.#fail(toYtError(thrown));
          await sleep(this.#clock, maxSleepMs, signal).catch(() => {});
        }
      }
    }
  }

  /** Milliseconds until the next task may start; it starts when there are none left. */
  #delayMs(): number {
    const { enable, passPeriodMs } = this.#dynamicConfig();
    const nowMs = this.#clock.now();
    if (this.implementation === "old") {
      const dueMs = this.#tickTime * 1_000 + oldTickDelayMs;
      if (nowMs >= dueMs && !enable) {
        this.#tickTime = this.#nextTick();
      }
      return enable ? dueMs - nowMs : passPeriodMs;
    }
    if (!enable) {
      return passPeriodMs;
    }
    const period = this.#config.exportPeriodSeconds;
    const boundary = boundaryAt(nowMs, period);
    const untilDueMs = boundary > this.#handledTime ? 0 : boundaryAfter(boundary, period) * 1_000 - nowMs;
    return Math.max(untilDueMs, this.#notBeforeMs - this.#clock.monotonic());
  }

  async #invoke(signal: AbortSignal): Promise<void> {
    const { context, queue, manager } = this.#options;
    const startMs = this.#clock.monotonic();
    if (this.implementation === "new") {
      await manager.acquire(signal);
    }
    const exporter = this.#dynamicConfig();
    if (!isSame(exporter.retryBackoff, this.#backoffConfig)) {
      this.#backoffConfig = exporter.retryBackoff;
      this.#backoff.restart();
    }
    const generation = this.#generation;
    this.#state = {
      ...this.#state,
      invocationIndex: this.#state.invocationIndex + 1,
      invocationMs: this.#clock.now(),
    };
    this.#notBeforeMs = startMs + exporter.passPeriodMs;
    this.#tickTime = this.#nextTick();
    const result = await runExportTask({
      client: context.clusters.client(queue.cluster),
      clock: this.#clock,
      signal,
      queuePath: queue.path,
      config: this.#config,
      implementation: this.implementation,
      exporter,
    });
    const hasFailed = result.taskError !== null || (result.exportError !== null && !result.isPaused);
    manager.passes.record(this.#state.invocationMs, this.#clock.monotonic() - startMs, hasFailed);
    if (generation === this.#generation) {
      this.#conclude(result);
    }
  }

  #conclude(result: ExportTaskResult): void {
    this.#state = recorded(this.#state, result);
    const { taskError, exportError, isPaused } = result;
    if (taskError !== null || exportError !== null) {
      this.#fail(this.#alertError(taskError, exportError), isPaused);
      return;
    }
    this.#backoff.restart();
    this.#options.collector.publish();
    if (result.pending === null || result.pending.tableCount === 0) {
      this.#handledTime = Math.max(result.upperBound, result.progress?.lastExportTime ?? 0);
    }
  }

  #fail(error: YtError, isPaused = false): void {
    const { collector, name } = this.#options;
    collector.stage(alertKinds.staticExportFailed, error, new Map([["export_name", name]]));
    collector.publish();
    this.#state = { ...this.#state, error };
    const pauseMs = isPaused ? pausedRetryMs : this.#backoff.next(this.#backoffConfig);
    this.#notBeforeMs = this.#clock.monotonic() + pauseMs;
  }

  #alertError(taskError: YtError | null, exportError: YtError | null): YtError {
    const [error = null, ...others] = [taskError, exportError].filter((one) => one !== null);
    if (this.implementation === "old" && error !== null && others.length === 0) {
      return error;
    }
    return new YtError("Export task has errors", {
      attributes: {
        task_error: taskError === null ? undefined : errorToYson(taskError),
        export_error: exportError === null ? undefined : errorToYson(exportError),
      },
      inner: error === null ? [] : [error, ...others],
    });
  }

  #nextTick(): number {
    return boundaryAfter(Math.floor(this.#clock.now() / 1_000), this.#config.exportPeriodSeconds);
  }

  /** Unix milliseconds; `null`: none while exports are switched off. */
  #nextRunMs(): number | null {
    return this.#dynamicConfig().enable ? this.#clock.now() + Math.max(0, this.#delayMs()) : null;
  }

  #dynamicConfig(): QueueExporterConfig {
    return this.#options.context.config().agent.controller.queueExporter;
  }
}

/** Whether two flat objects have the same values. */
function isSame<T extends object>(left: T, right: T): boolean {
  const entries = Object.entries(right);
  const values = new Map<string, unknown>(Object.entries(left));
  return values.size === entries.length && entries.every(([key, value]) => values.get(key) === value);
}

const emptyProgress: ExportProgress = {
  lastSuccessMs: 0,
  lastTaskMs: 0,
  lastFragmentMs: 0,
  lastExportTime: 0,
  tablets: new Map(),
  queueObjectId: null,
};
