/**
 * One run of one partition: a loop of epochs until it is stopped, finished, or an epoch fails. A failed job is never
 * gone on with: the controller starts another one from what is committed.
 * Specified in: yt/yt/flow/library/cpp/worker/job.cpp; documentation "Flow", jobs.
 */
import { type Clock, sleep, toYtError, turn, YtError } from "@qyt/base";
import type { InputBuffer } from "../computations/input-buffer.ts";
import type { EpochResult, JobConditions, JobContext } from "../computations/job-context.ts";
import { OrderedSourceComputation } from "../computations/ordered-source-computation.ts";
import { TransformComputation } from "../computations/transform.ts";
import type { StatusReporter } from "../connectors/connector.ts";
import type { StreamId } from "../model/message.ts";
import type { JobStatus, StreamReport } from "../protocol/protocol.ts";
import { computationClass } from "../spec/computation-classes.ts";
import { RateMeter } from "./rate-meter.ts";

/** `GracefulShutdown`: the job ended because it was asked to. */
const gracefulShutdownCode = 3304;

/** A computation as a job runs it. */
export interface Computation {
  init(): Promise<void>;
  epoch(): Promise<EpochResult>;
  update(conditions: JobConditions): void;
  close(): Promise<void>;
  readonly reports: ReadonlyMap<StreamId, StreamReport>;
  readonly isFinished: boolean;
  readonly processed: { readonly messages: number; readonly bytes: number };
}

/** Errors that are tried again, by path. */
export class JobErrors implements StatusReporter {
  readonly #errors = new Map<string, YtError>();

  report(path: string, error: YtError | undefined): void {
    if (error === undefined) {
      this.#errors.delete(path);
    } else {
      this.#errors.set(path, error);
    }
  }

  get list(): readonly { readonly path: string; readonly error: YtError }[] {
    return [...this.#errors].map(([path, error]) => ({ path, error }));
  }
}

export class Job {
  readonly context: JobContext;
  readonly #errors: JobErrors;
  readonly #clock: Clock;
  readonly #meter: RateMeter;
  #conditions: JobConditions;
  #computation: Computation | undefined;
  #input: InputBuffer | undefined;
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  #isFinishing = false;
  #isFinished = false;
  #error: YtError | undefined;
  #epoch = 0n;

  constructor(context: JobContext, errors: JobErrors, conditions: JobConditions) {
    this.context = context;
    this.#errors = errors;
    this.#clock = context.clock;
    this.#conditions = conditions;
    this.#meter = new RateMeter(context.clock);
  }

  /** Where messages for the job go; `undefined` before its start, after its end, and for sources. */
  get input(): InputBuffer | undefined {
    return this.#isFinished ? undefined : this.#input;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  update(conditions: JobConditions): void {
    this.#conditions = conditions;
    try {
      this.#computation?.update(conditions);
    } catch (thrown) {
      // The spec was checked before: what does not fit now is told, and the job goes on as it was.
      this.#errors.report("/dynamic_spec", toYtError(thrown));
    }
  }

  /** The job ends after the epoch under way. */
  finishAfterCurrentEpoch(): void {
    this.#isFinishing = true;
    this.#input?.nudge();
  }

  /** Ends the job as soon as its epoch comes to an end. What is not committed is left to the next one. */
  async stop(): Promise<void> {
    this.#stopping.abort(new YtError("Job is stopped"));
    this.#input?.nudge();
    await this.#running;
  }

  status(): JobStatus {
    return {
      jobId: this.context.jobId,
      partitionId: this.context.partition.partitionId,
      isFinished: this.#isFinished,
      error: this.#error,
      epoch: this.#epoch,
      streams: this.#computation?.reports ?? new Map(),
      retryableErrors: this.#errors.list,
      metrics: this.#meter.metrics(),
    };
  }

  async #run(): Promise<void> {
    try {
      const computation = this.#create();
      await computation.init();
      computation.update(this.#conditions);
      await this.#loop(computation);
    } catch (thrown) {
      if (!this.#stopping.signal.aborted) {
        this.#error = toYtError(thrown);
        this.context.log("error", "Job failed", {
          jobId: this.context.jobId,
          computationId: this.context.partition.computationId,
          error: this.#error.message,
        });
      }
    }
    this.#isFinished = true;
    try {
      await this.#computation?.close();
    } catch (thrown) {
      this.context.log("warn", "Connectors of a job did not close", { error: toYtError(thrown).message });
    }
  }

  #create(): Computation {
    const { kind } = computationClass(this.context.spec.computationClassName);
    if (kind === "transform" || kind === "swift_map") {
      const computation = new TransformComputation(this.context, this.#conditions);
      this.#computation = computation;
      this.#input = computation.input;
      return computation;
    }
    const computation = new OrderedSourceComputation(this.context, this.#conditions);
    this.#computation = computation;
    return computation;
  }

  async #loop(computation: Computation): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const startMs = this.#clock.monotonic();
      const result = await computation.epoch();
      this.#epoch += 1n;
      this.#meter.epoch(computation.processed, this.#clock.monotonic() - startMs);
      if (computation.isFinished) {
        return;
      }
      if (this.#isFinishing) {
        throw new YtError("Job finished gracefully: it is to run elsewhere", { code: gracefulShutdownCode });
      }
      await this.#pause(result);
    }
  }

  async #pause(result: EpochResult): Promise<void> {
    const backoffMs = this.#conditions.dynamicSpec.emptyBatchBackoff;
    if (result === "worked") {
      await turn();
    } else if (result === "empty" && this.#input !== undefined) {
      if (this.#input.waitingCount === 0) {
        await this.#input.wait(backoffMs);
      } else {
        await turn();
      }
    } else {
      await sleep(this.#clock, backoffMs, this.#stopping.signal);
    }
  }
}
