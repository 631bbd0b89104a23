/**
 * Outputs of one partition from their epoch until every receiver has them. A transform keeps them in the pipeline's
 * table, in chunks with a mask of what is delivered, and has them back after a restart; a swift computation keeps
 * them in memory only.
 * Specified in: yt/yt/flow/library/cpp/computation/stores/compact_output_store.cpp.
 */
import { farmHash, type RowValue, rowValuesWeight } from "@qyt/schema";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import type { FlowTimestamp, Message, PartitionId, StreamId } from "../model/message.ts";
import { decodeMessages, encodeMessages } from "../model/message-codec.ts";
import { textCell, textOf } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { scanRows } from "./scan.ts";

/** `data_codec` of chunks that are not compressed. */
const noCodec = 0n;
/** What a message weighs in memory besides its payload and id. */
const messageOverhead = 64;

/** A message that is on its way. */
export interface StoredOutput {
  readonly message: Message;
  readonly byteSize: number;
  /** Receivers that have not finished with it yet. */
  waiting: number;
  chunk: Chunk | undefined;
  /** Its place in the chunk. */
  position: number;
}

interface Chunk {
  readonly streamId: StreamId;
  readonly chunkId: bigint;
  readonly mask: Buffer;
  left: number;
  isDirty: boolean;
}

export interface OutputStoreOptions {
  readonly cluster: FlowCluster;
  readonly pipelinePath: string;
  readonly partitionId: PartitionId;
  readonly isPersistent: boolean;
  /** `max_chunk_message_count`, as it is now. */
  readonly maxChunkMessageCount: () => number;
}

/** What of a stream is under way. */
export interface StreamOutputs {
  count: number;
  byteSize: number;
  /** In order of arrival, those that are done among them until they reach the front. */
  readonly queue: StoredOutput[];
  head: number;
}

const tableName = "compact_partition_output_messages";
const keyColumns = ["partition_id", "stream_id", "chunk_id"];

export class OutputStore {
  readonly #options: OutputStoreOptions;
  readonly #path: string;
  readonly #streams = new Map<StreamId, StreamOutputs>();
  readonly #nextChunkIds = new Map<StreamId, bigint>();
  /** Chunks in the table, by stream. */
  readonly #chunkCounts = new Map<StreamId, number>();
  #unwritten: StoredOutput[] = [];
  readonly #dirty = new Set<Chunk>();
  #count = 0;
  #byteSize = 0;

  constructor(options: OutputStoreOptions) {
    this.#options = options;
    this.#path = pipelineTablePath(options.pipelinePath, tableName);
  }

  get count(): number {
    return this.#count;
  }

  get byteSize(): number {
    return this.#byteSize;
  }

  /** Whether a commit has something to write. */
  get isDirty(): boolean {
    return this.#dirty.size > 0 || this.#unwritten.length > 0;
  }

  /** Outputs of a former job that are not delivered, sorted by message id: to be handed out again. */
  async load(): Promise<readonly StoredOutput[]> {
    const { cluster, partitionId, isPersistent } = this.#options;
    if (!isPersistent) {
      return [];
    }
    const rows = await scanRows(cluster, this.#path, {
      keyColumns: ["stream_id", "chunk_id"],
      columns: ["stream_id", "chunk_id", "data", "processed_mask"],
      prefix: [
        ["hash", farmHash([textCell(partitionId)])],
        ["partition_id", textCell(partitionId)],
      ],
    });
    const loaded = rows.flatMap((row) => this.#loadChunk(row));
    return loaded.sort((left, right) => (left.message.messageId < right.message.messageId ? -1 : 1));
  }

  #loadChunk([stream, id, data, mask]: readonly RowValue[]): readonly StoredOutput[] {
    const streamId = textOf(stream);
    const chunkId = typeof id === "bigint" ? id : 0n;
    const messages = decodeMessages(
      data instanceof Uint8Array ? Buffer.from(data) : Buffer.alloc(0),
      streamId,
    );
    const processed = mask instanceof Uint8Array ? mask : Buffer.alloc(0);
    const outputs = messages.map((message) => this.#enter(message));
    newChunk(streamId, chunkId, outputs);
    this.#countChunk(streamId, 1);
    this.#nextChunkIds.set(streamId, maxOf(this.#nextChunkIds.get(streamId) ?? 0n, chunkId + 1n));
    const left: StoredOutput[] = [];
    for (const output of outputs) {
      if (((processed[output.position >> 3] ?? 0) >> (output.position & 7)) & 1) {
        this.#leave(output);
      } else {
        left.push(output);
      }
    }
    return left;
  }

  /** Takes an output of the epoch that has `waiting` receivers. With none it is done at once. */
  add(message: Message, waiting: number): StoredOutput {
    const output = this.#enter(message);
    output.waiting = waiting;
    if (waiting === 0) {
      this.#leave(output);
    } else {
      this.#unwritten.push(output);
    }
    return output;
  }

  /** One of the receivers has it for good. @returns whether that was the last one */
  done(output: StoredOutput): boolean {
    output.waiting -= 1;
    if (output.waiting === 0) {
      this.#leave(output);
      return true;
    }
    return false;
  }

  /** Writes the epoch's outputs, and what has changed of earlier ones. */
  write(transaction: FlowTransaction): void {
    const unwritten = this.#unwritten;
    this.#unwritten = [];
    if (!this.#options.isPersistent) {
      return;
    }
    this.#writeChunks(
      transaction,
      unwritten.filter((output) => output.waiting > 0),
    );
    this.#writeMasks(transaction);
  }

  #writeChunks(transaction: FlowTransaction, outputs: readonly StoredOutput[]): void {
    const limit = this.#options.maxChunkMessageCount();
    const partition = textCell(this.#options.partitionId);
    const byStream = new Map<StreamId, StoredOutput[]>();
    for (const output of outputs) {
      const list = byStream.get(output.message.streamId);
      if (list === undefined) {
        byStream.set(output.message.streamId, [output]);
      } else {
        list.push(output);
      }
    }
    const rows: RowValue[][] = [];
    for (const [streamId, list] of byStream) {
      for (let start = 0; start < list.length; start += limit) {
        const chunkId = this.#nextChunkIds.get(streamId) ?? 0n;
        this.#nextChunkIds.set(streamId, chunkId + 1n);
        const part = list.slice(start, start + limit);
        newChunk(streamId, chunkId, part);
        this.#countChunk(streamId, 1);
        const data = encodeMessages(part.map((output) => output.message));
        rows.push([
          partition,
          textCell(streamId),
          chunkId,
          data,
          noCodec,
          Buffer.alloc(maskSize(part.length)),
        ]);
      }
    }
    if (rows.length > 0) {
      transaction.insertRows(this.#path, {
        columns: [...keyColumns, "data", "data_codec", "processed_mask"],
        rows,
      });
    }
  }

  #writeMasks(transaction: FlowTransaction): void {
    const partition = textCell(this.#options.partitionId);
    const erased: RowValue[][] = [];
    const changed: RowValue[][] = [];
    for (const chunk of this.#dirty) {
      const key = [partition, textCell(chunk.streamId), chunk.chunkId];
      chunk.isDirty = false;
      if (chunk.left === 0) {
        erased.push(key);
        this.#countChunk(chunk.streamId, -1);
      } else {
        changed.push([...key, Buffer.from(chunk.mask)]);
      }
    }
    this.#dirty.clear();
    if (erased.length > 0) {
      transaction.deleteRows(this.#path, { columns: keyColumns, rows: erased });
    }
    if (changed.length > 0) {
      transaction.insertRows(
        this.#path,
        { columns: [...keyColumns, "processed_mask"], rows: changed },
        { update: true },
      );
    }
  }

  /**
   * Whether nothing of a stream is left in the table either: until a chunk is erased a successor of the job would
   * send it again.
   */
  isErased(streamId: StreamId): boolean {
    return (this.#chunkCounts.get(streamId) ?? 0) === 0;
  }

  #countChunk(streamId: StreamId, difference: number): void {
    this.#chunkCounts.set(streamId, (this.#chunkCounts.get(streamId) ?? 0) + difference);
  }

  /** What of a stream is under way; its queue is trimmed at the front. */
  ofStream(streamId: StreamId): StreamOutputs | undefined {
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) {
      trimFront(stream);
    }
    return stream;
  }

  /** Smallest system time under way of a stream. */
  minSystemTimestamp(streamId: StreamId): FlowTimestamp | undefined {
    return minOver(this.ofStream(streamId), (message) => message.systemTimestamp);
  }

  /** Event times under way of a stream. */
  eventTimestamps(streamId: StreamId): readonly FlowTimestamp[] {
    const stream = this.ofStream(streamId);
    const times: FlowTimestamp[] = [];
    for (const output of stream?.queue ?? []) {
      if (output.waiting > 0) {
        times.push(output.message.eventTimestamp);
      }
    }
    return times;
  }

  #enter(message: Message): StoredOutput {
    const byteSize = rowValuesWeight(message.payload) + message.messageId.length + messageOverhead;
    const output: StoredOutput = { message, byteSize, waiting: 1, chunk: undefined, position: 0 };
    let stream = this.#streams.get(message.streamId);
    if (stream === undefined) {
      stream = { count: 0, byteSize: 0, queue: [], head: 0 };
      this.#streams.set(message.streamId, stream);
    }
    stream.count += 1;
    stream.byteSize += byteSize;
    stream.queue.push(output);
    this.#count += 1;
    this.#byteSize += byteSize;
    return output;
  }

  #leave(output: StoredOutput): void {
    output.waiting = 0;
    const stream = this.#streams.get(output.message.streamId);
    if (stream !== undefined) {
      stream.count -= 1;
      stream.byteSize -= output.byteSize;
      trimFront(stream);
    }
    this.#count -= 1;
    this.#byteSize -= output.byteSize;
    const { chunk } = output;
    if (chunk !== undefined) {
      const index = output.position >> 3;
      chunk.mask[index] = (chunk.mask[index] ?? 0) | (1 << (output.position & 7));
      chunk.left -= 1;
      if (!chunk.isDirty) {
        chunk.isDirty = true;
        this.#dirty.add(chunk);
      }
    }
  }
}

function newChunk(streamId: StreamId, chunkId: bigint, outputs: readonly StoredOutput[]): Chunk {
  const chunk: Chunk = {
    streamId,
    chunkId,
    mask: Buffer.alloc(maskSize(outputs.length)),
    left: outputs.length,
    isDirty: false,
  };
  for (let position = 0; position < outputs.length; ++position) {
    const output = outputs[position];
    if (output !== undefined) {
      output.chunk = chunk;
      output.position = position;
    }
  }
  return chunk;
}

/** Drops what is done from the front; the array is cut when half of it is. */
function trimFront(stream: StreamOutputs): void {
  while (stream.queue[stream.head]?.waiting === 0) {
    stream.head += 1;
  }
  if (stream.head > 1_024 && stream.head * 2 > stream.queue.length) {
    stream.queue.splice(0, stream.head);
    stream.head = 0;
  }
}

function minOver(
  stream: StreamOutputs | undefined,
  time: (message: Message) => FlowTimestamp,
): FlowTimestamp | undefined {
  let least: FlowTimestamp | undefined;
  if (stream !== undefined) {
    for (let index = stream.head; index < stream.queue.length; ++index) {
      const output = stream.queue[index];
      if (output !== undefined && output.waiting > 0) {
        const value = time(output.message);
        least = least === undefined || value < least ? value : least;
      }
    }
  }
  return least;
}

function maskSize(count: number): number {
  return (count + 7) >> 3;
}

function maxOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
