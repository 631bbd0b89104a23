/**
 * The epoch of a computation that reads one partition of an ordered source. A swift one publishes units, keeps
 * nothing but offsets, and counts a unit as processed when all its outputs are delivered; a transform stores the
 * outputs with the offsets.
 * Specified in: yt/yt/flow/library/cpp/computation/swift_ordered_source_computation.cpp,
 * transform_ordered_source_computation.cpp.
 */
import { emptyMap, type YsonMap, YtError } from "@qyt/base";
import { column, type PhysicalType, rowValuesWeight, TableSchema } from "@qyt/schema";
import type { BatchLimits, EpochTime, OrderedSource, SourceUnit } from "../connectors/connector.ts";
import type { CompiledFunction } from "../functions/process-function.ts";
import { keyText } from "../model/group-by.ts";
import type { FlowTimestamp, Key, Message, MessageId, StreamId } from "../model/message.ts";
import { DeterministicMetaSetter, type Parent, UniqueMetaSetter } from "../model/meta-setters.ts";
import { maxTimestamp, minTimestamp, timestampOfSeqNo, undefinedTimestamp } from "../model/timestamps.ts";
import type { StreamReport } from "../protocol/protocol.ts";
import { computationClass } from "../spec/computation-classes.ts";
import { streamsDependencyOf } from "../spec/stream-graph.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { keyCell } from "../tables/input-keys.ts";
import { mayRead, readDelayThreshold } from "../watermarks/alignment.ts";
import { WatermarkGenerator } from "../watermarks/watermark-generator.ts";
import { connectorContextOf, createCommitter } from "./computation-parts.ts";
import { compileFunction, FunctionRunner, keyed } from "./function-runner.ts";
import type { EpochResult, JobConditions, JobContext } from "./job-context.ts";
import { InternalStateRows, KeyStates } from "./key-states.ts";
import { OutputSide } from "./output-side.ts";
import { readWindowOf } from "./read-window.ts";
import { keyStatesAt, ServiceStates } from "./service-states.ts";
import { below, SinkSet } from "./sink-set.ts";
import { SkipFilter } from "./skip-filter.ts";
import { nothingInflight, StreamReporter, type StreamState } from "./stream-reports.ts";
import { TimestampMemory } from "./timestamp-memory.ts";

const sourceState = "source/v0";
const generatorState = "watermark_generator/v0";
const memoryState = "timestamp_memory/v0";
/** An unused sequence number is good for another try that long. */
const timeReuseMs = 1_000;
/** `[source stream id, identity, index]`. */
const keyColumns = [column("stream_id", "string"), column("identity", "string"), column("index", "int64")];

/** A unit that was read: with its outputs, and after publication with how many of them are not delivered. */
interface ReadUnit {
  readonly offset: bigint;
  /** Of its first message; units without messages have none. */
  readonly firstId: MessageId | undefined;
  maxEventTimestamp: FlowTimestamp;
  readonly alignmentTimestamp: FlowTimestamp | undefined;
  readonly outputs: Message[];
  left: number;
}

/** The function, made fit for the schema of the source's rows. */
interface FittedFunction {
  readonly schema: TableSchema;
  readonly compiled: CompiledFunction;
  readonly runner: FunctionRunner;
  readonly states: KeyStates;
}

export class OrderedSourceComputation {
  readonly #job: JobContext;
  #conditions: JobConditions;
  readonly #isSwift: boolean;
  readonly #streamId: StreamId;
  readonly #key: Key;
  readonly #keyTypes: readonly PhysicalType[] = keyColumns.map((item) => item.physical);
  readonly #committer;
  readonly #states: ServiceStates;
  readonly #sinks: SinkSet;
  readonly #outputs: OutputSide;
  readonly #source: OrderedSource;
  readonly #dependency;
  readonly #reporter: StreamReporter;
  readonly #skip: SkipFilter;
  #generator: WatermarkGenerator;
  #memory = new TimestampMemory(undefined);
  #function: FittedFunction | undefined;
  /** Read and not published. */
  readonly #delayed: ReadUnit[] = [];
  /** Published and not persisted, in offset order. */
  readonly #inflight = new Map<bigint, ReadUnit>();
  /** Of the batch that is being processed, by message. */
  readonly #unitOfInput = new Map<MessageId, ReadUnit>();
  /** Of outputs on their way, by message. */
  readonly #unitOfOutput = new Map<MessageId, ReadUnit>();
  #lastReadAlignment: FlowTimestamp = undefinedTimestamp;
  #now: FlowTimestamp = undefinedTimestamp;
  #unusedTime: { time: EpochTime; atMs: number } | undefined;
  reports: ReadonlyMap<StreamId, StreamReport> = new Map();
  isFinished = false;
  /** Since the job's start. */
  processed = { messages: 0, bytes: 0 };

  /** @throws YtError when the spec does not fit the partition */
  constructor(job: JobContext, conditions: JobConditions) {
    this.#job = job;
    this.#conditions = conditions;
    const { spec, partition, cluster, pipelinePath } = job;
    this.#isSwift = computationClass(spec.computationClassName).kind === "swift_ordered_source";
    const [stream] = spec.sourceStreams;
    if (stream === undefined || partition.sourceKey === undefined) {
      throw new YtError("A partition of a source computation needs a source stream and a source key");
    }
    const [streamId, sourceSpec] = stream;
    this.#streamId = streamId;
    this.#key = partition.sourceKey;
    this.#dependency = streamsDependencyOf(spec);
    this.#reporter = new StreamReporter(spec, job.specGeneration);
    this.#committer = createCommitter(job, () => this.#conditions.dynamicSpec.leaseCheckPeriod);
    this.#states = new ServiceStates(
      cluster,
      keyStatesAt(
        pipelineTablePath(pipelinePath, "states"),
        partition.computationId,
        keyCell(this.#key, this.#keyTypes),
      ),
    );
    const context = connectorContextOf(job);
    this.#sinks = new SinkSet(job, conditions.dynamicSpec, context, this.#states);
    this.#outputs = new OutputSide(job, this.#sinks, {
      isPersistent: !this.#isSwift,
      maxChunkMessageCount: () => this.#conditions.dynamicSpec.outputStore.maxChunkMessageCount,
      onDone: (output) => this.#delivered(output.message),
    });
    this.#source = job.registry.source(sourceSpec.sourceClassName).createSource(
      { ...context, status: below(context, `/sources/${streamId}`) },
      {
        streamId,
        key: this.#key.slice(1),
        parameters: sourceSpec.parameters,
        dynamicParameters: this.#sourceParameters(),
      },
    );
    this.#generator = this.#newGenerator();
    this.#skip = new SkipFilter(new Map());
  }

  #newGenerator(): WatermarkGenerator {
    const spec = this.#job.spec.watermarkStrategy.watermarkGenerator;
    return new WatermarkGenerator(
      {
        useSourceWatermark: spec?.useSourceWatermark ?? false,
        bound: (spec?.outOfOrdernessBound ?? 60_000) / 1_000,
      },
      this.#states.get(generatorState),
    );
  }

  #sourceParameters(): YsonMap {
    return this.#conditions.dynamicSpec.sourceStreams.get(this.#streamId)?.parameters ?? emptyMap;
  }

  get #isDraining(): boolean {
    const stream = this.#conditions.dynamicSpec.sourceStreams.get(this.#streamId);
    return this.#conditions.isDraining || stream?.draining === true;
  }

  get #isExecuting(): boolean {
    return this.#conditions.partitionState === "executing";
  }

  /** Fences earlier jobs and reads what they have left. */
  async init(): Promise<void> {
    await this.#committer.begin();
    await this.#states.load();
    this.#memory = new TimestampMemory(this.#states.get(memoryState));
    this.#generator = this.#newGenerator();
    await this.#sinks.init();
    await this.#outputs.init();
    if (this.#isExecuting) {
      this.#source.setDraining(this.#isDraining);
      await this.#source.init(this.#states.get(sourceState));
    }
  }

  update(conditions: JobConditions): void {
    const before = this.#conditions;
    this.#conditions = conditions;
    if (conditions.dynamicSpec !== before.dynamicSpec) {
      this.#sinks.reconfigure(conditions.dynamicSpec);
      this.#source.reconfigure(this.#sourceParameters());
      this.#function?.compiled.reconfigure?.(conditions.dynamicSpec.processingFunctionParameters);
    }
    this.#source.setDraining(this.#isDraining);
  }

  async close(): Promise<void> {
    await Promise.all([this.#source.close(), this.#sinks.close()]);
  }

  async epoch(): Promise<EpochResult> {
    this.#now = maxTimestamp(this.#now, this.#conditions.watermarks.currentTimestamp);
    const mayRead = this.#isExecuting && this.#mayRead();
    let time = await this.#time();
    let units: readonly SourceUnit[] = [];
    if (mayRead) {
      units = await this.#source.fetch(time, this.#limits());
    }
    if (units.length > 0) {
      this.#unusedTime = undefined;
      await this.#process(units, time);
      if (time.now < this.#now) {
        time = await this.#freshTime();
      }
    }
    const published = this.#publish(time);
    await this.#commit(time);
    this.#report(time);
    await this.#finishIfOver(time);
    return units.length > 0 || published > 0 ? "worked" : mayRead ? "empty" : "held";
  }

  #limits(): BatchLimits {
    const { maxRowsPerBatch, maxBytesPerBatch, batchDuration } = this.#conditions.dynamicSpec;
    return { maxRows: maxRowsPerBatch, maxBytes: maxBytesPerBatch, durationMs: batchDuration };
  }

  /** A sequence number that no batch was read with serves the next try, so that idle partitions ask for few. */
  async #time(): Promise<EpochTime> {
    const unused = this.#unusedTime;
    if (unused !== undefined && this.#job.clock.monotonic() - unused.atMs < timeReuseMs) {
      return unused.time;
    }
    return await this.#freshTime();
  }

  async #freshTime(): Promise<EpochTime> {
    const seqNo = await this.#job.cluster.generateTimestamp();
    this.#now = maxTimestamp(this.#now, timestampOfSeqNo(seqNo));
    const time = { seqNo, now: this.#now };
    this.#unusedTime = { time, atMs: this.#job.clock.monotonic() };
    return time;
  }

  #mayRead(): boolean {
    const { spec } = this.#job;
    if (this.#delayed.length > 0) {
      return false;
    }
    if (this.#outputs.heldStreams(this.#conditions, this.#dependency).has(this.#streamId)) {
      return false;
    }
    const [oldest] = this.#inflight.values();
    if (oldest?.alignmentTimestamp !== undefined) {
      const windowMs = readWindowOf(this.#conditions.dynamicSpec.parameters);
      if (this.#lastReadAlignment - oldest.alignmentTimestamp >= windowMs / 1_000) {
        return false;
      }
    }
    const read = this.#generator.readWatermark(this.#source.readEventWatermark);
    return mayRead(spec.watermarkStrategy.watermarkAlignment, this.#conditions.watermarks, read);
  }

  /** Runs the function on what was read; outputs belong to the unit of their parent. */
  async #process(units: readonly SourceUnit[], time: EpochTime): Promise<void> {
    const { runner, states } = this.#functionFor(units);
    const messages = this.#enterUnits(units);
    const bytes = messages.reduce((sum, message) => sum + rowValuesWeight(message.payload), 0);
    const { processed } = this;
    this.processed = { messages: processed.messages + messages.length, bytes: processed.bytes + bytes };
    await this.#job.throttle?.acquire(messages.length, bytes);
    const text = keyText(this.#key, this.#keyTypes);
    const batch = {
      messages: messages.map((message) => keyed(message, this.#key, text)),
      timers: [],
      visits: [],
    };
    await states.preload([{ text, cell: keyCell(this.#key, this.#keyTypes), values: this.#key }]);
    const outputs = messages.length === 0 ? undefined : await runner.run(batch, time);
    const times = new Map<ReadUnit, { min: FlowTimestamp; max: FlowTimestamp }>();
    for (const { message, parents, isDistributed } of outputs?.messages ?? []) {
      const unit = this.#unitOfParents(parents);
      const seen = times.get(unit);
      const event = message.eventTimestamp;
      times.set(unit, {
        min: minTimestamp(seen?.min ?? event, event),
        max: maxTimestamp(seen?.max ?? event, event),
      });
      if (isDistributed) {
        unit.outputs.push(message);
      }
    }
    for (const [unit, { min, max }] of times) {
      unit.maxEventTimestamp = max;
      this.#generator.read(unit.offset, min, max);
    }
    this.#unitOfInput.clear();
  }

  /** The units enter the queue of delayed ones. @returns their messages, without those to be skipped */
  #enterUnits(units: readonly SourceUnit[]): Message[] {
    const messages: Message[] = [];
    for (const { offset, messages: own } of units) {
      const [first] = own;
      const unit: ReadUnit = {
        offset,
        firstId: first?.messageId,
        maxEventTimestamp: undefinedTimestamp,
        alignmentTimestamp: first?.alignmentTimestamp,
        outputs: [],
        left: 1,
      };
      this.#delayed.push(unit);
      for (const message of own) {
        this.#lastReadAlignment = maxTimestamp(this.#lastReadAlignment, message.alignmentTimestamp);
        if (!this.#skip.isActive || !this.#skip.matches(message)) {
          messages.push(message);
          this.#unitOfInput.set(message.messageId, unit);
        }
      }
    }
    return messages;
  }

  #unitOfParents(parents: readonly Parent[]): ReadUnit {
    let unit: ReadUnit | undefined;
    for (const parent of parents) {
      const own = this.#unitOfInput.get(parent.messageId);
      if (own !== undefined && (unit === undefined || own.offset > unit.offset)) {
        unit = own;
      }
    }
    if (unit === undefined) {
      throw new YtError("An output of a source computation has no parent in the batch");
    }
    return unit;
  }

  /** Hands out units in offset order, as far as read delays and draining allow. @returns how many */
  #publish(time: EpochTime): number {
    const alignment = this.#job.spec.watermarkStrategy.watermarkAlignment;
    const threshold = readDelayThreshold(alignment, this.#conditions.watermarks);
    let count = 0;
    for (const unit of this.#delayed) {
      if (unit.maxEventTimestamp > threshold || !this.#mayPublish(unit)) {
        break;
      }
      count += 1;
      this.#publishUnit(unit, time);
    }
    this.#delayed.splice(0, count);
    return count;
  }

  #mayPublish(unit: ReadUnit): boolean {
    return !this.#isDraining || unit.firstId === undefined || this.#memory.has(unit.firstId);
  }

  #publishUnit(unit: ReadUnit, time: EpochTime): void {
    this.#source.markPublished(unit.offset);
    const timestamp = unit.firstId === undefined ? time.now : this.#memory.publish(unit.firstId, time.now);
    this.#inflight.set(unit.offset, unit);
    unit.left = 1;
    for (const output of unit.outputs) {
      const message = this.#isSwift ? { ...output, systemTimestamp: timestamp } : output;
      if (this.#isSwift) {
        unit.left += 1;
        this.#unitOfOutput.set(message.messageId, unit);
      }
      this.#outputs.add(message);
    }
    this.#oneLess(unit);
  }

  /** An output has reached all its receivers. */
  #delivered(message: Message): void {
    const unit = this.#unitOfOutput.get(message.messageId);
    if (unit !== undefined) {
      this.#unitOfOutput.delete(message.messageId);
      this.#oneLess(unit);
    }
  }

  #oneLess(unit: ReadUnit): void {
    unit.left -= 1;
    if (unit.left === 0) {
      this.#inflight.delete(unit.offset);
      this.#source.markPersisted(unit.offset);
      this.#generator.persisted(unit.offset);
    }
  }

  async #commit(time: EpochTime): Promise<void> {
    await this.#committer.commit(async (transaction) => {
      if (this.#isExecuting) {
        this.#states.set(sourceState, this.#source.sync(time));
        this.#syncGenerator();
      }
      const [oldest] = this.#inflight.values();
      this.#memory.prune(oldest?.firstId);
      this.#states.set(memoryState, this.#memory.takeState());
      await this.#sinks.sync(transaction);
      await this.#function?.compiled.sync?.(transaction);
      this.#outputs.write(transaction);
      this.#states.write(transaction);
      this.#function?.states.write(transaction);
    });
    this.#source.committed();
    this.#outputs.release();
    this.#sinks.committed();
  }

  #lastGenerator = "";

  /** Only a changed state is written. */
  #syncGenerator(): void {
    const state = this.#generator.state();
    const text = [...state.values()].join();
    if (text !== this.#lastGenerator) {
      this.#lastGenerator = text;
      this.#states.set(generatorState, state);
    }
  }

  #functionFor(units: readonly SourceUnit[]): FittedFunction {
    const schema = this.#source.payloadSchema;
    if (schema === undefined) {
      throw new YtError(`The source gave ${units.length} units, but no schema`);
    }
    const schemas = new Map([[this.#streamId, schema]]);
    this.#skip.use(this.#conditions.dynamicSpec.skipIfExpression, schemas);
    if (this.#function?.schema !== schema) {
      this.#function = this.#compile(schema);
    }
    return this.#function;
  }

  #compile(schema: TableSchema): FittedFunction {
    const { cluster, pipelinePath, partition } = this.#job;
    const compiled = compileFunction(
      this.#job,
      new Map([[this.#streamId, schema]]),
      new TableSchema(keyColumns),
    );
    const path = pipelineTablePath(pipelinePath, "states");
    const names = compiled.states.map((state) => state.name);
    const rows = new InternalStateRows(cluster, path, partition.computationId, names);
    const states = this.#function?.states ?? new KeyStates(rows, compiled.states);
    const metas = this.#isSwift
      ? new DeterministicMetaSetter(this.#dependency)
      : new UniqueMetaSetter(this.#dependency);
    const runner = new FunctionRunner(
      this.#job,
      compiled,
      metas,
      states,
      this.#keyTypes,
      (streamId) => this.#conditions.watermarks.streams.get(streamId)?.eventWatermark ?? undefinedTimestamp,
    );
    return { schema, compiled, runner, states };
  }

  #report(time: EpochTime): void {
    this.reports = this.#reporter.report({
      inputTraverse: this.#conditions.inputTraverse,
      stateOf: (streamId) => this.#stateOf(streamId, time),
      sourceWatermark: (streamId) =>
        streamId === this.#streamId && this.#isExecuting
          ? this.#generator.watermark(this.#source.persistedEventWatermark)
          : undefined,
      isExecuting: this.#isExecuting,
      now: this.#now,
      ownSystemWatermark: this.#now,
    });
  }

  #stateOf(streamId: StreamId, time: EpochTime): StreamState {
    if (streamId !== this.#streamId) {
      return this.#outputs.stateOf(streamId);
    }
    return this.#isExecuting ? this.#source.inflight(time) : nothingInflight;
  }

  async #finishIfOver(time: EpochTime): Promise<void> {
    const areCompleted = [...this.reports.values()].every((report) => report.state === "completed");
    if (!areCompleted || this.#outputs.count > 0 || this.#delayed.length > 0) {
      return;
    }
    if (this.#isExecuting) {
      await this.#commit(time);
    } else {
      await this.#committer.commit(async (transaction) => {
        await this.#sinks.sync(transaction);
        this.#outputs.write(transaction);
        this.#states.erase(transaction);
      });
    }
    this.isFinished = true;
  }
}
