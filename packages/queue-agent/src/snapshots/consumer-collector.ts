/**
 * Builds the snapshots of one consumer: offsets from its table, rows around them from each queue's cluster,
 * boundaries from the latest snapshots of the queues in this process.
 *
 * Specified in: yt/yt/server/queue_agent/consumer_controller.cpp (TConsumerSnapshotBuildSession).
 */
import { toYtError, YtError } from "@qyt/base";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import { type ConsumerRow, isReplicated, type RegistrationRow } from "../objects/state-rows.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import { areSettled, consumerPartitions } from "./consumer-partitions.ts";
import { type ConsumerTableKind, consumerTableKind } from "./consumer-schema.ts";
import {
  type ConsumerSnapshot,
  consumerSnapshotWithError,
  type SubConsumerSnapshot,
  subConsumerKey,
} from "./consumer-snapshot.ts";
import type { ErrorOrigin } from "./error-origin.ts";
import { instantFromMs } from "./instants.ts";
import { NextRows } from "./next-rows.ts";
import { nextSnapshotHead, type PassInput } from "./object-snapshot.ts";
import {
  type OffsetRow,
  type OffsetsRead,
  OffsetTable,
  type OffsetTarget,
  offsetsError,
  requireRowIndexes,
} from "./offset-table.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";

export interface ConsumerPassInput extends PassInput<ConsumerRow, ConsumerSnapshot> {
  /** The latest snapshot of a queue in this process. */
  readonly queue: (reference: ObjectReference) => QueueSnapshot | undefined;
}

export class ConsumerCollector {
  readonly #reference: ObjectReference;
  readonly #reads: AgentReads;
  readonly #origin: ErrorOrigin;
  readonly #table: OffsetTable;
  readonly #memories = new Map<string, Memory>();
  #targets: readonly OffsetTarget[] = [];
  #kind: { readonly schema: ConsumerRow["schema"]; readonly kind: ConsumerTableKind } | undefined;

  constructor(reference: ObjectReference, reads: AgentReads, origin: ErrorOrigin) {
    this.#reference = reference;
    this.#reads = reads;
    this.#origin = origin;
    this.#table = new OffsetTable(reads.cluster(reference.cluster), reference.path);
  }

  /** Never throws: what fails is the snapshot's error, or that of one of its queues. */
  async collect(input: ConsumerPassInput): Promise<ConsumerSnapshot> {
    const { row, previous, registrations } = input;
    const head = nextSnapshotHead(input);
    try {
      this.#requireReady(row, head.bannedSinceMs);
      return { ...head, error: null, ...(await this.#queues(this.#kindOf(row), input)) };
    } catch (thrown) {
      const error = this.#origin.again(toYtError(thrown), previous?.error);
      return { ...consumerSnapshotWithError(row, registrations, error), ...head };
    }
  }

  /** Nothing of the consumer is asked any more. */
  close(): void {
    this.#table.close();
  }

  #requireReady(row: ConsumerRow, bannedSinceMs: number | null): void {
    if (row.synchronizationError !== null) {
      throw new YtError("Consumer synchronization failed", { inner: [row.synchronizationError] });
    }
    if (row.rowRevision === null) {
      throw new YtError("Consumer is not in-sync yet");
    }
    if (row.objectType === null) {
      throw new YtError("Consumer object type is not known yet");
    }
    if (bannedSinceMs !== null) {
      throw new YtError(
        `Consumer is banned by "queue_agent_banned" attribute (BannedSince: ${instantFromMs(bannedSinceMs)})`,
      );
    }
    if (isReplicated(row)) {
      throw new YtError(
        "No replicated table mapping row is known for replicated consumer: this queue agent does not follow replicated consumers, and does not trim queues where one is vital",
      );
    }
    if (row.schema === null) {
      throw new YtError("Consumer schema is not known yet");
    }
  }

  #kindOf({ schema }: ConsumerRow): ConsumerTableKind {
    if (this.#kind?.schema !== schema) {
      this.#kind = { schema, kind: consumerTableKind(schema) };
    }
    return this.#kind.kind;
  }

  async #queues(
    kind: ConsumerTableKind,
    input: ConsumerPassInput,
  ): Promise<Pick<ConsumerSnapshot, "queues" | "names">> {
    const targets = this.#targetsOf(input);
    let offsets: OffsetsRead | YtError;
    try {
      offsets = await this.#table.read(kind, targets);
    } catch (thrown) {
      offsets = offsetsError(this.#reference, toYtError(thrown));
    }
    const queues = new Map<string, SubConsumerSnapshot>();
    await Promise.all(
      input.registrations.map(async (registration) => {
        const key = subConsumerKey(registration.queue, registration.consumerName);
        // Put in now, so that the order is that of the registrations whichever is ready first.
        queues.set(key, {
          ...unknownSub,
          queue: registration.queue,
          consumerName: registration.consumerName,
        });
        queues.set(key, await this.#queue(key, registration, offsets, input));
      }),
    );
    for (const key of this.#memories.keys()) {
      if (!queues.has(key)) {
        this.#memories.delete(key);
      }
    }
    const before = input.previous?.queues;
    const isSame =
      before?.size === queues.size && [...queues].every(([key, queue]) => before.get(key) === queue);
    return { queues: isSame ? before : queues, names: this.#namesOf(kind, offsets, input) };
  }

  #namesOf(
    kind: ConsumerTableKind,
    offsets: OffsetsRead | YtError,
    { previous }: ConsumerPassInput,
  ): ReadonlySet<string> | YtError | null {
    if (!(offsets instanceof YtError)) {
      return offsets.names;
    }
    const before = previous?.names;
    return kind.hasName ? this.#origin.again(offsets, before instanceof YtError ? before : null) : null;
  }

  /** The same list as the last time when it says the same. */
  #targetsOf({ registrations, queue: snapshotOf }: ConsumerPassInput): readonly OffsetTarget[] {
    const targets: OffsetTarget[] = [];
    for (const { queue } of registrations) {
      const snapshot = snapshotOf(queue);
      if (snapshot?.error === null) {
        targets.push({ queue, partitionCount: snapshot.partitions.length });
      }
    }
    const before = this.#targets;
    const isSame =
      targets.length === before.length &&
      targets.every(({ queue, partitionCount }, index) => {
        const other = before[index];
        return (
          other?.partitionCount === partitionCount &&
          other.queue.path === queue.path &&
          other.queue.cluster === queue.cluster
        );
      });
    if (!isSame) {
      this.#targets = targets;
    }
    return this.#targets;
  }

  async #queue(
    key: string,
    { queue, consumerName }: RegistrationRow,
    offsets: OffsetsRead | YtError,
    input: ConsumerPassInput,
  ): Promise<SubConsumerSnapshot> {
    const previous = input.previous?.queues.get(key);
    const failed = (reason: YtError): SubConsumerSnapshot => {
      const error = this.#origin.again(reason, previous?.error);
      return previous?.error === error ? previous : { queue, consumerName, error, partitions: [] };
    };
    const snapshot = input.queue(queue);
    if (snapshot === undefined) {
      return failed(new YtError(`Queue "${referenceToString(queue)}" snapshot is missing`));
    }
    if (snapshot.error !== null) {
      return failed(snapshot.error);
    }
    if (offsets instanceof YtError) {
      return failed(offsets);
    }
    const rows = offsets.offsets.get(key);
    try {
      requireRowIndexes(rows ?? new Map(), this.#reference);
    } catch (thrown) {
      return failed(toYtError(thrown));
    }
    const memory = this.#memories.get(key) ?? newMemory();
    this.#memories.set(key, memory);
    if (
      previous !== undefined &&
      memory.settled === previous &&
      memory.offsets === rows &&
      memory.partitions === snapshot.partitions
    ) {
      return previous;
    }
    const { around, isComplete } = await memory.nextRows.read(
      snapshot,
      (index) => rows?.get(index),
      this.#reads.rows(queue),
    );
    const partitions = consumerPartitions(
      {
        partitions: snapshot.partitions,
        offsets: rows,
        around,
        lastWriteTimestamp: offsets.lastWriteTimestamp,
      },
      {
        before: previous?.partitions ?? [],
        previousMs: input.previous?.passInstantMs ?? input.nowMs,
        nowMs: input.nowMs,
      },
    );
    const sub: SubConsumerSnapshot = { queue, consumerName, error: null, partitions };
    memory.settled = isComplete && areSettled(partitions) ? sub : undefined;
    memory.offsets = rows;
    memory.partitions = snapshot.partitions;
    return sub;
  }
}

/** What is kept of one queue from pass to pass. */
interface Memory {
  readonly nextRows: NextRows;
  /** What the latest snapshot was made of; while it is the same, so is the snapshot once it is settled. */
  offsets: ReadonlyMap<number, OffsetRow> | undefined;
  partitions: QueueSnapshot["partitions"] | undefined;
  settled: SubConsumerSnapshot | undefined;
}

function newMemory(): Memory {
  return { nextRows: new NextRows(), offsets: undefined, partitions: undefined, settled: undefined };
}

const unknownSub = { error: null, partitions: [] };
