/**
 * The base of ordered sources: one partition whose records have growing offsets. Reads in portions, gives records
 * their ids and times, keeps the offsets, and says how the partition is.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/ordered_source_base.cpp; documentation "Flow", connectors.
 */
import { type Timer, toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { FlowTimestamp, Message, StreamId } from "../../model/message.ts";
import { orderedMessageId } from "../../model/message-ids.ts";
import { flowTimestamp, maxTimestamp, minTimestamp } from "../../model/timestamps.ts";
import type {
  BatchLimits,
  ConnectorContext,
  EpochTime,
  Inflight,
  OrderedSource,
  SourceUnit,
} from "../connector.ts";
import { AvailabilityState, Idleness, Unavailability } from "./availability.ts";
import { OffsetMemory } from "./offset-memory.ts";
import { OffsetTracker } from "./offset-tracker.ts";
import { RecordSummary, type SourceRecord, setTimestamp } from "./record-summary.ts";

/** What the cluster said of the partition, and when it was asked (Unix milliseconds). */
export interface PartitionReport {
  readonly committed: bigint;
  readonly max: bigint;
  readonly atMs: number;
}

export interface OrderedSourceOptions {
  readonly context: ConnectorContext;
  readonly streamId: StreamId;
  /** For logs: which partition of what. */
  readonly title: string;
  /** Smoothing of the size estimates, in (0, 1]. */
  readonly byteSizeAlpha: number;
  /** Whether it ends where the first report says. */
  readonly isFinite: boolean;
  /** Besides that of `/read`. */
  readonly availabilityStates?: readonly AvailabilityState[];
}

interface Request {
  readonly offset: bigint;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly abort: AbortController;
  readonly done: Promise<void>;
  result: readonly SourceRecord[] | YtError | undefined;
}

export abstract class OrderedSourceBase implements OrderedSource {
  protected readonly context: ConnectorContext;
  protected readonly streamId: StreamId;
  readonly #options: OrderedSourceOptions;
  readonly #offsets: OffsetTracker;
  readonly #memory = new OffsetMemory();
  readonly #read = new AvailabilityState();
  readonly #unavailability = new Unavailability();
  readonly #idleness = new Idleness();
  #request: Request | undefined;
  #firstReport: PartitionReport | undefined;
  #wakeups: (() => void)[] = [];
  /** Of a finite source: the end that it was first confirmed to have. */
  #finiteEnd: bigint | undefined;
  #isDraining = false;
  #isClosed = false;
  #isChanged = false;
  #isNew = true;
  readonly #summary: RecordSummary;
  #syncedPersisted = 0n;
  /** Persisted in a committed state: the consumer may be moved up to here. */
  #durable = 0n;

  protected constructor(options: OrderedSourceOptions) {
    this.#options = options;
    this.context = options.context;
    this.streamId = options.streamId;
    this.#summary = new RecordSummary(options.streamId, options.byteSizeAlpha);
    this.#offsets = new OffsetTracker((record) => this.#summary.persisted(record));
  }

  abstract readonly payloadSchema: TableSchema | undefined;
  abstract reconfigure(dynamicParameters: YsonMap): void;
  /** Begins to ask for reports. */
  protected abstract start(): void;
  protected abstract stop(): Promise<void>;
  /** @throws YtError when the records cannot be had or understood: shown as `/read`, and tried again */
  protected abstract readRecords(
    offset: bigint,
    limits: { readonly maxRows: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly SourceRecord[]>;
  protected abstract readonly unavailableThresholdMs: number;
  /** The position has reached an end at which somebody waits for the consumer's offset. */
  protected abstract publishOffsetSoon(): void;

  async init(state: YsonMap | undefined): Promise<void> {
    if (state !== undefined) {
      this.#load(state);
    }
    this.start();
  }

  get persistedEventWatermark(): FlowTimestamp | undefined {
    return this.#summary.persistedWatermark;
  }

  get readEventWatermark(): FlowTimestamp | undefined {
    return this.#summary.readWatermark;
  }

  /** Everything below is processed and committed. */
  protected get durableOffset(): bigint {
    return this.#durable;
  }

  /** Read, or about to be handed out: for messages to the user. */
  protected get position(): { readonly nextRead: bigint; readonly isNew: boolean } {
    return { nextRead: this.#offsets.nextRead, isNew: this.#isNew };
  }

  get offsets(): Pick<OffsetTracker, "committed" | "persisted" | "published" | "max" | "nextRead"> {
    return this.#offsets;
  }

  /** Whether nothing is remembered of offsets. For tests. */
  get isMemoryEmpty(): boolean {
    return this.#memory.isEmpty;
  }

  get averageSizes(): { readonly count: number; readonly bytes: number } {
    return this.#summary.averages;
  }

  protected report(report: PartitionReport): void {
    const { context } = this.#options;
    const isFirst = this.#firstReport === undefined;
    this.#firstReport ??= report;
    if (this.#options.isFinite && this.#finiteEnd === undefined) {
      this.#finiteEnd = report.max;
    }
    const jumpedFrom = this.#offsets.report(report);
    if (jumpedFrom !== undefined && !(isFirst && this.#isNew)) {
      context.log("error", "Input was trimmed or skipped before it was read", {
        partition: this.#options.title,
        from_offset: jumpedFrom,
        to_offset: this.#offsets.nextRead,
      });
    }
    this.#memory.forgetBelow(this.#offsets.persisted);
    this.#idleness.report(report.atMs, this.#offsets.lag > 0n || !this.#offsets.isMaxConfirmed);
    this.#isChanged = true;
    this.#wake();
  }

  async fetch(time: EpochTime, limits: BatchLimits): Promise<readonly SourceUnit[]> {
    if (this.#firstReport === undefined) {
      await this.#wait(limits.durationMs, this.#reported());
    }
    if (this.#firstReport === undefined || this.#isClosed || this.#isAtLimit()) {
      this.#cancelUnless(() => false);
      return [];
    }
    const { nextRead } = this.#offsets;
    this.#cancelUnless(
      ({ offset, maxRows, maxBytes }) =>
        offset === nextRead && maxRows === limits.maxRows && maxBytes === limits.maxBytes,
    );
    const request = this.#request ?? this.#send(nextRead, limits);
    this.#request = request;
    if (request.result === undefined) {
      await this.#wait(limits.durationMs, request.done);
    }
    // While it waited, the source may have been closed, or the position moved by a report.
    if (request.result === undefined || this.#request !== request) {
      return [];
    }
    this.#request = undefined;
    const nowMs = this.context.clock.now();
    if (request.result instanceof YtError) {
      this.#read.failed(nowMs);
      this.context.status.report(
        "/read",
        new YtError("Failed to read from partition", {
          code: request.result.code,
          inner: [request.result],
          attributes: { partition: this.#options.title, offset: request.offset },
        }),
      );
      return [];
    }
    this.#read.ok(nowMs);
    this.context.status.report("/read", undefined);
    return this.#register(request.result, time);
  }

  markPublished(offset: bigint): void {
    this.#offsets.markPublished(offset);
    this.#isChanged = true;
  }

  markPersisted(offset: bigint): void {
    this.#offsets.markPersisted(offset);
    this.#memory.forgetBelow(this.#offsets.persisted);
    this.#isChanged = true;
  }

  sync(_time: EpochTime): YsonMap | undefined {
    this.#offsets.check();
    if (!this.#isChanged) {
      return undefined;
    }
    this.#isChanged = false;
    this.#syncedPersisted = this.#offsets.persisted;
    return this.#save();
  }

  committed(): void {
    if (this.#syncedPersisted === this.#durable) {
      return;
    }
    this.#durable = this.#syncedPersisted;
    const isAtFiniteEnd = this.#finiteEnd !== undefined && this.#durable >= this.#finiteEnd;
    if (isAtFiniteEnd || (this.#isDraining && this.#durable === this.#offsets.published)) {
      this.publishOffsetSoon();
    }
  }

  inflight(_time: EpochTime): Inflight {
    const nowMs = this.context.clock.now();
    const states = [this.#read, ...(this.#options.availabilityStates ?? [])];
    if (this.#unavailability.observe(nowMs, states)) {
      this.#isChanged = true;
    }
    const { committed, published, lag, oldest } = this.#offsets;
    const end = this.#finiteEnd;
    const count = lag === 0n ? 0 : Math.max(1, Number(lag) * this.#summary.averages.count);
    const unavailableMs = this.#unavailability.instant(this.unavailableThresholdMs);
    const idleMs = lag === 0n ? this.#idleness.durationMs : 0;
    return {
      count,
      byteSize: Number(lag) * this.#summary.averages.bytes,
      minSystemTimestamp: oldest?.writeTimestamp,
      minEventTimestamp: this.#minEventTimestamp(),
      isEmpty: end !== undefined && committed >= end,
      isSuspended: this.#isDraining && committed === published,
      idleDuration: idleMs / 1_000,
      ...(idleMs > 0 ? { lastIdleTimestamp: flowTimestamp(this.#idleness.lastIdleMs / 1_000) } : {}),
      ...(unavailableMs === undefined ? {} : { unavailableInstant: flowTimestamp(unavailableMs / 1_000) }),
    };
  }

  setDraining(draining: boolean): void {
    if (draining && !this.#isDraining && this.#durable === this.#offsets.published) {
      this.publishOffsetSoon();
    }
    this.#isDraining = draining;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelUnless(() => false);
    this.#wake();
    await this.stop();
  }

  /** Offsets from here on are not to be read. */
  #limit(): bigint | undefined {
    const { published } = this.#offsets;
    const end = this.#finiteEnd;
    return this.#isDraining ? (end !== undefined && end < published ? end : published) : end;
  }

  #isAtLimit(): boolean {
    const limit = this.#limit();
    return limit !== undefined && this.#offsets.nextRead >= limit;
  }

  #cancelUnless(isGood: (request: Request) => boolean): void {
    if (this.#request !== undefined && !isGood(this.#request)) {
      this.#request.abort.abort();
      this.#request = undefined;
    }
  }

  #send(offset: bigint, { maxRows, maxBytes }: BatchLimits): Request {
    const abort = new AbortController();
    const work = this.readRecords(offset, { maxRows, maxBytes }, abort.signal);
    const request: Request = {
      offset,
      maxRows,
      maxBytes,
      abort,
      result: undefined,
      done: work.then(
        (records) => {
          request.result = records;
        },
        (thrown: unknown) => {
          request.result = toYtError(thrown);
        },
      ),
    };
    return request;
  }

  /** Until the work is done, the time is over or the source is closed. */
  async #wait(durationMs: number, work: Promise<void>): Promise<void> {
    let timer: Timer | undefined;
    const pause = new Promise<void>((resolve) => {
      timer = this.context.clock.after(durationMs, resolve);
    });
    await Promise.race([work, pause]);
    timer?.cancel();
  }

  #reported(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeups.push(resolve);
    });
  }

  #wake(): void {
    const wakeups = this.#wakeups;
    this.#wakeups = [];
    for (const wake of wakeups) {
      wake();
    }
  }

  #register(records: readonly SourceRecord[], time: EpochTime): readonly SourceUnit[] {
    const limit = this.#limit();
    const good = records.filter(({ offset }) => this.#isWanted(offset, limit));
    const smallestWrite = good
      .filter(({ offset }) => this.#memory.seqNoOf(offset) === undefined)
      .reduce<FlowTimestamp | undefined>(
        (least, { writeTimestamp }) => minTimestamp(least ?? writeTimestamp, writeTimestamp),
        undefined,
      );
    const units: SourceUnit[] = [];
    for (const record of good) {
      const unit = this.#registerOne(record, time, smallestWrite ?? record.writeTimestamp);
      if (unit.messages.length > 0) {
        units.push(unit);
      }
    }
    if (good.length > 0) {
      this.#idleness.markNotIdle(this.context.clock.now());
      this.#isChanged = true;
    } else if (limit !== undefined && records.some(({ offset }) => offset >= limit)) {
      this.#offsets.skipTo(limit);
      this.#isChanged = true;
    }
    this.#offsets.settle();
    this.#memory.forgetBelow(this.#offsets.persisted);
    return units;
  }

  #isWanted(offset: bigint, limit: bigint | undefined): boolean {
    if (offset < this.#offsets.nextRead) {
      this.context.log("warn", "Row below the position was skipped", {
        partition: this.#options.title,
        offset,
      });
      return false;
    }
    if (limit !== undefined && offset >= limit) {
      this.context.log("warn", "Row behind the limit was skipped", {
        partition: this.#options.title,
        offset,
        limit,
      });
      return false;
    }
    return true;
  }

  #registerOne(record: SourceRecord, time: EpochTime, smallestWrite: FlowTimestamp): SourceUnit {
    const { offset, writeTimestamp, payloads } = record;
    const known = this.#memory.seqNoOf(offset);
    const seqNo = known ?? time.seqNo;
    if (known === undefined) {
      this.#memory.add(offset, seqNo);
    }
    const alignmentTimestamp = this.#memory.alignmentOf(seqNo, time.now, smallestWrite);
    const messages: Message[] = payloads.map((payload, index) => ({
      messageId: orderedMessageId(seqNo, this.streamId, offset, index),
      streamId: this.streamId,
      systemTimestamp: writeTimestamp,
      eventTimestamp: eventTimestampOf(record, index),
      alignmentTimestamp,
      payload,
    }));
    const times = messages.map((message) => message.eventTimestamp);
    const minEventTimestamp = times.length === 0 ? undefined : times.reduce(minTimestamp);
    const maxEventTimestamp = times.length === 0 ? undefined : times.reduce(maxTimestamp);
    this.#summary.read(record);
    this.#offsets.read({
      offset,
      seqNo,
      hasPayload: messages.length > 0,
      writeTimestamp,
      minEventTimestamp,
      eventWatermark: record.eventWatermark,
    });
    return { offset, messages, minEventTimestamp, maxEventTimestamp };
  }

  #minEventTimestamp(): FlowTimestamp | undefined {
    let least: FlowTimestamp | undefined;
    for (const { minEventTimestamp } of this.#offsets.inflight()) {
      if (minEventTimestamp !== undefined) {
        least = minTimestamp(least ?? minEventTimestamp, minEventTimestamp);
      }
    }
    return least;
  }

  #save(): YsonMap {
    const state = new Map<string, YsonValue>();
    this.#offsets.save(state);
    this.#memory.save(state);
    this.#idleness.save(state);
    this.#unavailability.save(state);
    this.#summary.save(state);
    setTimestamp(state, "first_not_persisted_write_timestamp", this.#offsets.oldest?.writeTimestamp);
    if (this.#finiteEnd !== undefined) {
      state.set("finite_end_offset_exclusive", this.#finiteEnd);
    }
    return state;
  }

  #load(state: YsonMap): void {
    this.#isNew = false;
    this.#offsets.load(state);
    this.#memory.load(state);
    this.#idleness.load(state);
    this.#unavailability.load(state);
    this.#summary.load(state);
    const end = state.get("finite_end_offset_exclusive");
    this.#finiteEnd = typeof end === "bigint" && this.#options.isFinite ? end : undefined;
    this.#durable = this.#offsets.persisted;
    this.#syncedPersisted = this.#durable;
  }
}

function eventTimestampOf(record: SourceRecord, index: number): FlowTimestamp {
  const { eventTimestamp, eventTimestampDeltas, writeTimestamp } = record;
  return eventTimestamp === undefined
    ? writeTimestamp
    : flowTimestamp(eventTimestamp + (eventTimestampDeltas[index] ?? 0));
}
