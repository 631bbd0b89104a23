/** A source over lists and a synchronous sink, as small as the rules of connectors allow. */
import { isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { column, TableSchema } from "@qyt/schema";
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type {
  ConnectorRegistry,
  EpochTime,
  Inflight,
  OrderedSource,
  Sink,
  SinkClass,
  SourceClass,
  SourceUnit,
} from "../connectors/connector.ts";
import type { FlowTimestamp, Message, MessageId, Payload, UniqueSeqNo } from "../model/message.ts";
import { messageId, orderedMessageId } from "../model/message-ids.ts";

/** A row of a list source. */
export interface ListRow {
  readonly payload: Payload;
  readonly eventTimestamp: number;
}

/** Lists by partition index: the source is finite. */
export class ListQueue {
  readonly schema: TableSchema;
  readonly partitions: (readonly ListRow[])[];

  constructor(schema: TableSchema, partitions: (readonly ListRow[])[]) {
    this.schema = schema;
    this.partitions = partitions;
  }
}

class ListSource implements OrderedSource {
  readonly payloadSchema: TableSchema;
  readonly persistedEventWatermark = undefined;
  readonly readEventWatermark = undefined;
  readonly #rows: readonly ListRow[];
  readonly #streamId: string;
  #persisted = 0;
  #published = 0;
  #next = 0;
  #memory = new Map<number, bigint>();
  readonly #done = new Set<number>();
  #isChanged = false;
  #isDraining = false;
  /** What is below this is in a committed state. */
  #syncedPersisted = 0;
  #committedPersisted = 0;

  constructor(queue: ListQueue, index: number, streamId: string) {
    this.payloadSchema = queue.schema;
    this.#rows = queue.partitions[index] ?? [];
    this.#streamId = streamId;
  }

  async init(state: YsonMap | undefined): Promise<void> {
    this.#persisted = numberOf(state?.get("persisted"));
    this.#published = numberOf(state?.get("published"));
    this.#committedPersisted = this.#persisted;
    const memory = state?.get("memory");
    this.#memory = new Map(
      isMap(memory) ? [...memory].map(([offset, seqNo]) => [Number(offset), bigOf(seqNo)]) : [],
    );
    this.#next = this.#persisted;
  }

  async fetch(time: EpochTime, limits: { readonly maxRows: number }): Promise<readonly SourceUnit[]> {
    const end = this.#isDraining ? this.#published : this.#rows.length;
    const units: SourceUnit[] = [];
    while (this.#next < end && units.length < limits.maxRows) {
      const offset = this.#next;
      const row = this.#rows[offset];
      if (row === undefined) {
        break;
      }
      const seqNo = this.#memory.get(offset) ?? time.seqNo;
      this.#memory.set(offset, seqNo);
      this.#isChanged = true;
      this.#next += 1;
      const message: Message = {
        messageId: orderedMessageId(seqNo as UniqueSeqNo, this.#streamId, offset, 0),
        streamId: this.#streamId,
        systemTimestamp: time.now,
        eventTimestamp: row.eventTimestamp as FlowTimestamp,
        alignmentTimestamp: Number(seqNo >> 30n) as FlowTimestamp,
        payload: row.payload,
      };
      const event = message.eventTimestamp;
      units.push({
        offset: BigInt(offset),
        messages: [message],
        minEventTimestamp: event,
        maxEventTimestamp: event,
      });
    }
    return units;
  }

  markPublished(offset: bigint): void {
    this.#published = Math.max(this.#published, Number(offset) + 1);
    this.#isChanged = true;
  }

  markPersisted(offset: bigint): void {
    this.#done.add(Number(offset));
    while (this.#done.delete(this.#persisted)) {
      this.#memory.delete(this.#persisted);
      this.#persisted += 1;
      this.#isChanged = true;
    }
  }

  sync(): YsonMap | undefined {
    if (!this.#isChanged) {
      return undefined;
    }
    this.#isChanged = false;
    this.#syncedPersisted = this.#persisted;
    return mapOf({
      persisted: BigInt(this.#persisted),
      published: BigInt(this.#published),
      memory: new Map([...this.#memory].map(([offset, seqNo]) => [String(offset), new Uint64(seqNo)])),
    });
  }

  committed(): void {
    this.#committedPersisted = Math.max(this.#committedPersisted, this.#syncedPersisted);
  }

  inflight(): Inflight {
    const isOver = this.#committedPersisted === this.#rows.length;
    return {
      count: this.#rows.length - this.#committedPersisted,
      byteSize: 0,
      minSystemTimestamp: undefined,
      minEventTimestamp: undefined,
      isEmpty: isOver,
      isSuspended: this.#isDraining && this.#committedPersisted === this.#published,
    };
  }

  setDraining(isDraining: boolean): void {
    this.#isDraining = isDraining;
  }

  reconfigure(): void {}

  async close(): Promise<void> {}
}

/** Writes its messages to a queue with the epoch, once each. */
class SyncListSink implements Sink {
  readonly inflight = { count: 0, byteSize: 0 };
  readonly #path: string;
  readonly #columns: readonly string[];
  #queued: Message[] = [];
  #last: MessageId = messageId("");
  #isChanged = false;

  constructor(path: string, columns: readonly string[]) {
    this.#path = path;
    this.#columns = columns;
  }

  async init(state: YsonMap | undefined): Promise<void> {
    this.#last = messageId(String(state?.get("last") ?? ""));
  }

  distribute(message: Message, done: () => void): void {
    if (message.messageId > this.#last) {
      this.#last = message.messageId;
      this.#isChanged = true;
      this.#queued.push(message);
    }
    done();
  }

  async sync(transaction: FlowTransaction): Promise<YsonMap | undefined> {
    if (this.#queued.length > 0) {
      transaction.insertRows(this.#path, {
        columns: this.#columns,
        rows: this.#queued.map((message) => message.payload),
      });
      this.#queued = [];
    }
    if (!this.#isChanged) {
      return undefined;
    }
    this.#isChanged = false;
    return mapOf({ last: this.#last });
  }

  committed(): void {}
  reconfigure(): void {}
  async close(): Promise<void> {}
}

/** Classes `ListSource` (parameter `list`) and `ListSink` (parameter `path`). */
export function listRegistry(lists: ReadonlyMap<string, ListQueue>): ConnectorRegistry {
  const source: SourceClass = {
    name: "ListSource",
    validate: () => [],
    createSource: (_, { key, parameters, streamId }) => {
      const list = lists.get(String(parameters.get("list")));
      const [, index] = key;
      if (list === undefined || typeof index !== "bigint") {
        throw new YtError("no such list");
      }
      return new ListSource(list, Number(index), streamId);
    },
    createController: () => {
      throw new YtError("not in this fixture");
    },
  };
  const sink: SinkClass = {
    name: "ListSink",
    validate: () => [],
    createSink: (_, { parameters, inputSchemas }) =>
      new SyncListSink(
        String(parameters.get("path")),
        inputSchemas[0]?.columns.map((item) => item.name) ?? [],
      ),
    createController: () => {
      throw new YtError("not in this fixture");
    },
  };
  return {
    source: () => source,
    sink: () => sink,
    sourceNames: [source.name],
    sinkNames: [sink.name],
  };
}

export const listSchema = new TableSchema([column("word", "string"), column("id", "int64")]);

function numberOf(value: YsonValue | undefined): number {
  return typeof value === "bigint" ? Number(value) : 0;
}

function bigOf(value: YsonValue): bigint {
  return value instanceof Uint64 ? value.value : 0n;
}
