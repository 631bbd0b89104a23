/**
 * Fills in what a process function leaves open of its outputs: ids and times. Three ways, by what the
 * computation promises when it runs again on the same inputs.
 * Specified in: yt/yt/flow/library/cpp/computation/meta_setter.cpp.
 */
import { YtError } from "@qyt/base";
import type { EpochTime } from "../connectors/connector.ts";
import type { FlowTimestamp, MessageId, MessageMeta, StreamId } from "./message.ts";
import { inheritedMessageId, orderedMessageId } from "./message-ids.ts";
import { minTimestamp, undefinedTimestamp } from "./timestamps.ts";

/** What an output may descend from: a message, a timer or a visit, with the times it has. */
export interface Parent {
  readonly messageId: MessageId;
  readonly streamId: StreamId;
  readonly systemTimestamp: FlowTimestamp;
  /** Undefined (0) for visits. */
  readonly eventTimestamp: FlowTimestamp;
  readonly alignmentTimestamp: FlowTimestamp;
}

/** `streams_dependency`: for each output or timer stream, the streams it descends from. */
export type StreamsDependency = ReadonlyMap<StreamId, ReadonlySet<StreamId>>;

export interface MetaSetter {
  /** Begins an epoch: running indexes start anew. */
  begin(time: EpochTime): void;
  /**
   * @param eventTimestamp as the user gave it, or 0
   * @throws YtError 1 when no parent belongs to the output's dependency
   */
  fill(streamId: StreamId, eventTimestamp: FlowTimestamp, parents: readonly Parent[]): MessageMeta;
}

/** Transforms: new ids, in the order of the outputs and timers of the epoch; «now» as the time. */
export class UniqueMetaSetter implements MetaSetter {
  readonly #dependency: StreamsDependency;
  #time: EpochTime | undefined;
  #index = 0;

  constructor(dependency: StreamsDependency) {
    this.#dependency = dependency;
  }

  begin(time: EpochTime): void {
    this.#time = time;
    this.#index = 0;
  }

  fill(streamId: StreamId, eventTimestamp: FlowTimestamp, parents: readonly Parent[]): MessageMeta {
    const time = begun(this.#time);
    const actual = actualParents(this.#dependency, streamId, parents);
    const messageId = orderedMessageId(time.seqNo, streamId, this.#index);
    this.#index += 1;
    return {
      messageId,
      streamId,
      systemTimestamp: time.now,
      eventTimestamp: eventTimestamp || earliestEvent(actual) || time.now,
      alignmentTimestamp: time.now,
    };
  }
}

/** Swift maps and sources: everything from the one parent, so that a second run gives the same. */
export class DeterministicMetaSetter implements MetaSetter {
  readonly #dependency: StreamsDependency;
  /** Outputs so far, by stream, of the parent. */
  #counts = new Map<MessageId, Map<StreamId, number>>();

  constructor(dependency: StreamsDependency) {
    this.#dependency = dependency;
  }

  begin(): void {
    this.#counts = new Map();
  }

  fill(streamId: StreamId, eventTimestamp: FlowTimestamp, parents: readonly Parent[]): MessageMeta {
    const actual = actualParents(this.#dependency, streamId, parents);
    const [parent] = actual;
    if (parent === undefined || actual.length > 1) {
      throw new YtError(
        `A message of stream "${streamId}" has ${actual.length} parents, but exactly one is possible here: ` +
          `its id is made from it. Use "allow_batching_with_relaxed_guarantees", or a transform computation`,
      );
    }
    return {
      messageId: inheritedMessageId(parent.messageId, streamId, this.#next(parent.messageId, streamId)),
      streamId,
      systemTimestamp: parent.systemTimestamp,
      eventTimestamp: eventTimestamp || parent.eventTimestamp || parent.systemTimestamp,
      alignmentTimestamp: parent.alignmentTimestamp,
    };
  }

  #next(parent: MessageId, streamId: StreamId): number {
    let streams = this.#counts.get(parent);
    if (streams === undefined) {
      streams = new Map();
      this.#counts.set(parent, streams);
    }
    const index = streams.get(streamId) ?? 0;
    streams.set(streamId, index + 1);
    return index;
  }
}

/** Swift maps with relaxed batching: as deterministic with one parent, a new id with several. */
export class MergingMetaSetter implements MetaSetter {
  readonly #dependency: StreamsDependency;
  readonly #deterministic: DeterministicMetaSetter;
  #time: EpochTime | undefined;
  #indexes = new Map<StreamId, number>();

  constructor(dependency: StreamsDependency) {
    this.#dependency = dependency;
    this.#deterministic = new DeterministicMetaSetter(dependency);
  }

  begin(time: EpochTime): void {
    this.#time = time;
    this.#indexes = new Map();
    this.#deterministic.begin();
  }

  fill(streamId: StreamId, eventTimestamp: FlowTimestamp, parents: readonly Parent[]): MessageMeta {
    const actual = actualParents(this.#dependency, streamId, parents);
    if (actual.length === 1) {
      return this.#deterministic.fill(streamId, eventTimestamp, actual);
    }
    const time = begun(this.#time);
    const index = this.#indexes.get(streamId) ?? 0;
    this.#indexes.set(streamId, index + 1);
    const systemTimestamp = earliest(actual.map((parent) => parent.systemTimestamp)) ?? time.now;
    return {
      messageId: orderedMessageId(time.seqNo, streamId, index),
      streamId,
      systemTimestamp,
      eventTimestamp: eventTimestamp || earliestEvent(actual) || systemTimestamp,
      alignmentTimestamp: earliest(actual.map((parent) => parent.alignmentTimestamp)) ?? time.now,
    };
  }
}

/** The parents whose stream the output depends on. @throws YtError 1 when there is none, or a lone foreign one */
function actualParents(
  dependency: StreamsDependency,
  streamId: StreamId,
  parents: readonly Parent[],
): readonly Parent[] {
  const allowed = dependency.get(streamId);
  const [first] = parents;
  if (parents.length === 1 && first !== undefined) {
    if (allowed?.has(first.streamId) !== true) {
      throw new YtError(
        `Message of stream "${streamId}" violated streams dependency by depending on "${first.streamId}"`,
      );
    }
    return parents;
  }
  const actual = parents.filter((parent) => allowed?.has(parent.streamId) === true);
  if (actual.length === 0) {
    throw new YtError(
      `Message has no valid parents: stream "${streamId}" depends on ${names(allowed)}, ` +
        `and the parents are of ${names(new Set(parents.map((parent) => parent.streamId)))}`,
    );
  }
  return actual;
}

function names(streams: ReadonlySet<StreamId> | undefined): string {
  return streams === undefined || streams.size === 0
    ? "no stream"
    : [...streams].map((name) => `"${name}"`).join(", ");
}

function earliestEvent(parents: readonly Parent[]): FlowTimestamp {
  const known = parents.map((parent) => parent.eventTimestamp).filter((time) => time !== undefinedTimestamp);
  return earliest(known) ?? undefinedTimestamp;
}

function earliest(times: readonly FlowTimestamp[]): FlowTimestamp | undefined {
  const [first, ...rest] = times;
  return first === undefined ? undefined : rest.reduce(minTimestamp, first);
}

function begun(time: EpochTime | undefined): EpochTime {
  if (time === undefined) {
    throw new YtError("No epoch has begun");
  }
  return time;
}
