/**
 * The epoch of a transform: everything that a batch changes is committed in one tablet transaction, under the job's
 * lease. After a failure the job is over: its successor begins from what is committed.
 * Specified in: yt/yt/flow/library/cpp/computation/transform_computation.cpp, computation_base.cpp.
 */
import type { EpochTime } from "../connectors/connector.ts";
import type { CompiledFunction, EpochBatch } from "../functions/process-function.ts";
import type { FlowTimestamp, KeyRange, StreamId } from "../model/message.ts";
import { DeterministicMetaSetter, MergingMetaSetter, UniqueMetaSetter } from "../model/meta-setters.ts";
import { maxTimestamp, timestampOfSeqNo, undefinedTimestamp } from "../model/timestamps.ts";
import type { StreamReport } from "../protocol/protocol.ts";
import { computationClass } from "../spec/computation-classes.ts";
import { streamsDependencyOf } from "../spec/stream-graph.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { keyCell } from "../tables/input-keys.ts";
import { connectorContextOf, createCommitter, inputSchemasOf, keyTypesOf } from "./computation-parts.ts";
import { compileFunction, FunctionRunner, keyed, type Outputs } from "./function-runner.ts";
import type { InputBuffer, InputItem } from "./input-buffer.ts";
import { createInputBuffer } from "./input-side.ts";
import { InputStore } from "./input-store.ts";
import type { EpochResult, JobConditions, JobContext } from "./job-context.ts";
import { InternalStateRows, type KeyOfState, KeyStates } from "./key-states.ts";
import { OutputSide } from "./output-side.ts";
import { partitionStatesAt, ServiceStates } from "./service-states.ts";
import { SinkSet } from "./sink-set.ts";
import { SkipFilter } from "./skip-filter.ts";
import { nothingInflight, StreamReporter, type StreamState } from "./stream-reports.ts";
import { type StoredTimer, TimerStore } from "./timer-store.ts";
import { timerWatermark } from "./timer-watermark.ts";

const reportPeriodMs = 250;

export class TransformComputation {
  readonly #job: JobContext;
  #conditions: JobConditions;
  readonly input: InputBuffer;
  readonly #committer;
  readonly #states: ServiceStates;
  readonly #sinks: SinkSet;
  readonly #outputs: OutputSide;
  readonly #inputStore: InputStore;
  readonly #timers: TimerStore;
  readonly #keyStates: KeyStates;
  readonly #compiled: CompiledFunction;
  readonly #runner: FunctionRunner;
  readonly #reporter: StreamReporter;
  readonly #dependency;
  readonly #keyTypes;
  readonly #isSwift: boolean;
  readonly #skip: SkipFilter;
  #now: FlowTimestamp = undefinedTimestamp;
  #inputWatermark: FlowTimestamp = undefinedTimestamp;
  /** Of a swift map: inputs whose children are not delivered, by child count. */
  readonly #waiting = new Map<string, { item: InputItem; left: number }>();
  /** Swift map: children delivered, by output. */
  readonly #parentsOf = new WeakMap<object, readonly { item: InputItem; left: number }[]>();
  #finishedInputs: InputItem[] = [];
  #nextReportMs = 0;
  reports: ReadonlyMap<StreamId, StreamReport> = new Map();
  isFinished = false;
  /** Since the job's start. */
  processed = { messages: 0, bytes: 0 };

  /** @throws YtError when the spec, the function and the streams do not fit together */
  constructor(job: JobContext, conditions: JobConditions) {
    this.#job = job;
    this.#conditions = conditions;
    const { spec, partition, cluster, pipelinePath } = job;
    const { computationId, partitionId } = partition;
    this.#isSwift = computationClass(spec.computationClassName).kind === "swift_map";
    this.#keyTypes = keyTypesOf(spec.groupBySchema);
    this.#dependency = streamsDependencyOf(spec);
    this.#committer = createCommitter(job, () => this.#conditions.dynamicSpec.leaseCheckPeriod);
    this.#states = new ServiceStates(
      cluster,
      partitionStatesAt(pipelineTablePath(pipelinePath, "partition_states"), partitionId),
    );
    this.#sinks = new SinkSet(job, conditions.dynamicSpec, connectorContextOf(job), this.#states);
    this.#outputs = new OutputSide(job, this.#sinks, {
      isPersistent: !this.#isSwift,
      maxChunkMessageCount: () => this.#conditions.dynamicSpec.outputStore.maxChunkMessageCount,
      onDone: (output) => this.#childDone(output.message),
    });
    this.#inputStore = new InputStore({
      cluster,
      pipelinePath,
      computationId,
      keyTypes: this.#keyTypes,
      isCompact: spec.useCompactInputMessages ?? spec.experimentalEnableNonUintKey !== true,
    });
    this.#timers = new TimerStore({
      cluster,
      pipelinePath,
      computationId,
      keyTypes: this.#keyTypes,
      deduplicated: new Set(
        [...spec.timerStreams].filter(([, timer]) => timer.deduplicateEqualTimestamps).map(([id]) => id),
      ),
      countLimit: () => this.#conditions.dynamicSpec.timerStoreCountLimit,
      byteSizeLimit: () => this.#conditions.dynamicSpec.timerStoreByteSizeLimit,
    });
    const inputs = inputSchemasOf(job);
    this.#compiled = compileFunction(job, inputs, spec.groupBySchema);
    const names = this.#compiled.states.map((state) => state.name);
    const statesPath = pipelineTablePath(pipelinePath, "states");
    this.#keyStates = new KeyStates(
      new InternalStateRows(cluster, statesPath, computationId, names),
      this.#compiled.states,
    );
    this.#runner = new FunctionRunner(
      job,
      this.#compiled,
      this.#metaSetter(),
      this.#keyStates,
      this.#keyTypes,
      (streamId) => this.#watermarkOf(streamId),
    );
    this.#reporter = new StreamReporter(spec, job.specGeneration);
    this.input = createInputBuffer(job, inputs, this.#keyTypes);
    this.#skip = new SkipFilter(inputs);
  }

  #metaSetter(): UniqueMetaSetter | DeterministicMetaSetter | MergingMetaSetter {
    if (!this.#isSwift) {
      return new UniqueMetaSetter(this.#dependency);
    }
    return this.#job.spec.parameters.get("allow_batching_with_relaxed_guarantees") === true
      ? new MergingMetaSetter(this.#dependency)
      : new DeterministicMetaSetter(this.#dependency);
  }

  /** Fences earlier jobs and reads what they have left. */
  async init(): Promise<void> {
    await this.#committer.begin();
    await this.#states.load();
    await this.#sinks.init();
    const range: KeyRange = this.#job.partition.range ?? { lower: 0n, upper: undefined };
    if (this.#job.spec.timerStreams.size > 0) {
      await this.#timers.load(range);
    }
    await this.#outputs.init();
  }

  update(conditions: JobConditions): void {
    const { dynamicSpec } = conditions;
    if (dynamicSpec !== this.#conditions.dynamicSpec) {
      this.#sinks.reconfigure(dynamicSpec);
      this.#compiled.reconfigure?.(dynamicSpec.processingFunctionParameters);
    }
    this.#conditions = conditions;
    this.input.nudge();
  }

  async close(): Promise<void> {
    await this.#sinks.close();
  }

  async epoch(): Promise<EpochResult> {
    const { dynamicSpec, watermarks, partitionState } = this.#conditions;
    this.#now = maxTimestamp(this.#now, watermarks.currentTimestamp);
    this.#advanceInputWatermark();
    const isExecuting = partitionState === "executing";
    const held = this.#outputs.heldStreams(this.#conditions, this.#dependency);
    const isHeld = [...this.#job.spec.inputStreamIds].every((id) => held.has(id));
    let batch: InputItem[] = [];
    let timers: StoredTimer[] = [];
    if (isExecuting) {
      if (!isHeld) {
        await this.input.settleBatch(
          () => this.#limits(),
          () => this.#hasDueTimers(held),
        );
        batch = this.input.take(this.#limits(), (streamId) => !held.has(streamId));
      }
      timers = this.#timers.take((id) => this.#timerWatermark(id, held), dynamicSpec.maxRowsPerBatch);
    }
    const fresh = await this.#freshOf(batch);
    if (fresh.length > 0 || timers.length > 0) {
      await this.#process(fresh, timers);
    }
    await this.#commit(fresh.length > 0 || timers.length > 0);
    if (this.#isSwift) {
      this.#finishSwift(fresh);
    } else {
      this.input.finish(fresh);
    }
    const result = batch.length + timers.length > 0 ? "worked" : isHeld ? "held" : "empty";
    this.#reportIfDue(result);
    await this.#finishIfOver(isExecuting);
    return result;
  }

  #limits(): { readonly maxRows: number; readonly maxBytes: number; readonly durationMs: number } {
    const { maxRowsPerBatch, maxBytesPerBatch, batchDuration } = this.#conditions.dynamicSpec;
    return { maxRows: maxRowsPerBatch, maxBytes: maxBytesPerBatch, durationMs: batchDuration };
  }

  /** Sets aside what is to be skipped or has been processed already, and acknowledges it. */
  async #freshOf(batch: readonly InputItem[]): Promise<InputItem[]> {
    const skipped: InputItem[] = [];
    const candidates: InputItem[] = [];
    this.#skip.use(this.#conditions.dynamicSpec.skipIfExpression);
    for (const item of batch) {
      const isOld = item.message.systemTimestamp < this.#inputWatermark;
      (isOld || this.#skip.matches(item.message) ? skipped : candidates).push(item);
    }
    let fresh = candidates;
    if (!this.#isSwift && this.#job.spec.parameters.get("processing_mode") !== "at_least_once_consistent") {
      const processed = await this.#inputStore.contains(candidates);
      fresh = candidates.filter((_, index) => processed[index] !== true);
      skipped.push(...candidates.filter((_, index) => processed[index] === true));
    }
    this.input.finish(skipped);
    return fresh;
  }

  async #process(fresh: readonly InputItem[], timers: readonly StoredTimer[]): Promise<void> {
    const bytes = fresh.reduce((sum, item) => sum + item.byteSize, 0);
    const { processed } = this;
    this.processed = { messages: processed.messages + fresh.length, bytes: processed.bytes + bytes };
    await this.#job.throttle?.acquire(fresh.length, bytes);
    const time = await this.#freshTime();
    const batch: EpochBatch = {
      messages: fresh.map((item) => keyed(item.message, item.key, item.keyText)),
      timers: timers.map((stored) => keyed(stored.timer, stored.timer.key, stored.keyText)),
      visits: [],
    };
    await this.#keyStates.preload(this.#keysOf(batch));
    const outputs = await this.#runner.run(batch, time);
    this.#register(fresh, timers, outputs);
  }

  #keysOf(batch: EpochBatch): Iterable<KeyOfState> {
    const keys = new Map<string, KeyOfState>();
    if (this.#compiled.states.length > 0) {
      for (const { key, keyText: text } of [...batch.timers, ...batch.messages]) {
        if (!keys.has(text)) {
          keys.set(text, { text, cell: keyCell(key, this.#keyTypes), values: key });
        }
      }
    }
    return keys.values();
  }

  #register(fresh: readonly InputItem[], timers: readonly StoredTimer[], outputs: Outputs): void {
    for (const timer of timers) {
      this.#timers.remove(timer);
    }
    for (const timer of outputs.timers) {
      this.#timers.add(timer);
    }
    if (this.#isSwift) {
      this.#registerSwift(fresh, outputs);
      return;
    }
    this.#inputStore.register(fresh);
    for (const { message, isDistributed } of outputs.messages) {
      if (isDistributed) {
        this.#outputs.add(message);
      }
    }
  }

  /** The order of writes is that of the real system. */
  async #commit(hasProcessed: boolean): Promise<void> {
    await this.#committer.commit(async (transaction) => {
      await this.#sinks.sync(transaction);
      if (hasProcessed) {
        await this.#compiled.sync?.(transaction);
      }
      this.#inputStore.write(transaction);
      this.#outputs.write(transaction);
      this.#timers.write(transaction);
      this.#states.write(transaction);
      this.#keyStates.write(transaction);
    });
    this.#outputs.release();
    this.#sinks.committed();
    this.#keyStates.trim();
  }

  /** Counts the children of each input, so that it is acknowledged when all are delivered. */
  #registerSwift(fresh: readonly InputItem[], outputs: Outputs): void {
    for (const item of fresh) {
      this.#waiting.set(item.message.messageId, { item, left: 1 });
    }
    for (const { message, parents, isDistributed } of outputs.messages) {
      if (isDistributed) {
        const entries = parents.flatMap((parent) => this.#waiting.get(parent.messageId) ?? []);
        for (const entry of entries) {
          entry.left += 1;
        }
        this.#parentsOf.set(message, entries);
        this.#outputs.add(message);
      }
    }
  }

  /** The epoch is committed: what has no children left is done. */
  #finishSwift(fresh: readonly InputItem[]): void {
    for (const item of fresh) {
      const entry = this.#waiting.get(item.message.messageId);
      if (entry !== undefined) {
        this.#oneLess(entry);
      }
    }
    this.#flushFinished();
  }

  #childDone(message: object): void {
    for (const entry of this.#parentsOf.get(message) ?? []) {
      this.#oneLess(entry);
    }
    if (this.#finishedInputs.length > 0) {
      this.#flushFinished();
    }
  }

  #oneLess(entry: { readonly item: InputItem; left: number }): void {
    entry.left -= 1;
    if (entry.left === 0) {
      this.#waiting.delete(entry.item.message.messageId);
      this.#finishedInputs.push(entry.item);
    }
  }

  #flushFinished(): void {
    const finished = this.#finishedInputs;
    this.#finishedInputs = [];
    this.input.finish(finished);
  }

  async #freshTime(): Promise<EpochTime> {
    const seqNo = await this.#job.cluster.generateTimestamp();
    this.#now = maxTimestamp(this.#now, timestampOfSeqNo(seqNo));
    return { seqNo, now: this.#now };
  }

  #advanceInputWatermark(): void {
    let least: FlowTimestamp | undefined;
    for (const streamId of this.#job.spec.inputStreamIds) {
      const stream = this.#conditions.watermarks.streams.get(streamId);
      const watermark = stream?.systemWatermark ?? undefinedTimestamp;
      least = least === undefined || watermark < least ? watermark : least;
    }
    this.#inputWatermark = maxTimestamp(this.#inputWatermark, least ?? undefinedTimestamp);
  }

  #watermarkOf(streamId: StreamId): FlowTimestamp {
    return this.#conditions.watermarks.streams.get(streamId)?.eventWatermark ?? undefinedTimestamp;
  }

  #timerWatermark(streamId: StreamId, held?: ReadonlySet<StreamId>): FlowTimestamp | undefined {
    const { isDraining, watermarks } = this.#conditions;
    if (isDraining || held?.has(streamId) === true) {
      return undefined;
    }
    return timerWatermark(this.#job, this.#dependency, watermarks, streamId);
  }

  #hasDueTimers(held?: ReadonlySet<StreamId>): boolean {
    return this.#timers.hasDue((streamId) => this.#timerWatermark(streamId, held));
  }

  /** Reports look at all that is under way: while there is much to do, now and then is enough. */
  #reportIfDue(result: EpochResult): void {
    const nowMs = this.#job.clock.monotonic();
    if (result === "worked" && nowMs < this.#nextReportMs) {
      return;
    }
    this.#nextReportMs = nowMs + reportPeriodMs;
    const { inputTraverse, partitionState } = this.#conditions;
    this.reports = this.#reporter.report({
      inputTraverse,
      stateOf: (streamId) => this.#stateOf(streamId),
      sourceWatermark: () => undefined,
      isExecuting: partitionState === "executing",
      now: this.#now,
      ownSystemWatermark: this.#isSwift ? this.#inputWatermark : this.#now,
    });
  }

  #stateOf(streamId: StreamId): StreamState {
    const { spec } = this.#job;
    if (spec.timerStreams.has(streamId)) {
      const least = this.#timers.minTimestamps(streamId);
      const count = this.#timers.countOf(streamId);
      return {
        ...nothingInflight,
        count,
        isEmpty: count === 0,
        isSuspended: this.#conditions.isDraining,
        minSystemTimestamp: least?.system,
        minEventTimestamp: least?.event,
      };
    }
    if (spec.inputStreamIds.includes(streamId)) {
      const inflight = this.input.inflightOf(streamId);
      return { ...inflight, isEmpty: inflight.count === 0, isSuspended: false };
    }
    return this.#outputs.stateOf(streamId);
  }

  /** When all streams are completed the job is over; a partition that is to go takes its states along. */
  async #finishIfOver(isExecuting: boolean): Promise<void> {
    const areCompleted = [...this.reports.values()].every((report) => report.state === "completed");
    if (!areCompleted || this.reports.size === 0 || this.#outputs.count > 0) {
      return;
    }
    if (!isExecuting) {
      await this.#committer.commit(async (transaction) => {
        await this.#sinks.sync(transaction);
        this.#outputs.write(transaction);
        this.#states.erase(transaction);
      });
    }
    this.isFinished = true;
  }
}
