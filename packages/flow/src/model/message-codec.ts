/**
 * Messages as bytes: in chunks of the output store, and on their way to another worker. One stream a block.
 *
 * A block is a varint count, then for each message: the id, the three times as varints, the number of values and
 * the values, each a tag byte and its body.
 */
import { YtError } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import type { FlowTimestamp, Message, StreamId } from "./message.ts";
import { messageId } from "./message-ids.ts";

const tags = { null: 0, integer: 1, double: 2, false: 3, true: 4, bytes: 5, any: 6, unsigned: 7 } as const;
const largestInt64 = (1n << 63n) - 1n;
const varintBase = 128;

/** Bytes that grow as they are written. */
class Output {
  bytes = Buffer.allocUnsafe(4_096);
  size = 0;

  reserve(count: number): void {
    if (this.size + count > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.size + count));
      this.bytes.copy(larger, 0, 0, this.size);
      this.bytes = larger;
    }
  }

  /** A whole number up to 2^53. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= varintBase) {
      this.bytes[this.size++] = (rest % varintBase) | varintBase;
      rest = Math.floor(rest / varintBase);
    }
    this.bytes[this.size++] = rest;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.size++] = value;
  }

  blob(value: Uint8Array): void {
    this.varint(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.size);
    this.size += value.length;
  }

  ascii(text: string): void {
    this.varint(text.length);
    this.reserve(text.length);
    this.size += this.bytes.write(text, this.size, "latin1");
  }

  value(value: RowValue): void {
    if (value === null) {
      this.byte(tags.null);
    } else if (typeof value === "bigint") {
      this.byte(value > largestInt64 ? tags.unsigned : tags.integer);
      this.reserve(8);
      this.bytes.writeBigUInt64LE(BigInt.asUintN(64, value), this.size);
      this.size += 8;
    } else if (typeof value === "number") {
      this.byte(tags.double);
      this.reserve(8);
      this.bytes.writeDoubleLE(value, this.size);
      this.size += 8;
    } else if (typeof value === "boolean") {
      this.byte(value ? tags.true : tags.false);
    } else if (value instanceof YsonAny) {
      this.byte(tags.any);
      this.blob(value.bytes);
    } else {
      this.byte(tags.bytes);
      this.blob(value);
    }
  }
}

/** Messages of one stream as bytes. */
export function encodeMessages(messages: readonly Message[]): Buffer {
  const output = new Output();
  output.varint(messages.length);
  for (const message of messages) {
    output.ascii(message.messageId);
    output.varint(message.systemTimestamp);
    output.varint(message.eventTimestamp);
    output.varint(message.alignmentTimestamp);
    output.varint(message.payload.length);
    for (const value of message.payload) {
      output.value(value);
    }
  }
  return output.bytes.subarray(0, output.size);
}

/** @throws YtError 1 when the bytes end too early or hold an unknown tag */
export function decodeMessages(bytes: Buffer, streamId: StreamId): Message[] {
  const input = new Input(bytes);
  const count = input.varint();
  const messages: Message[] = [];
  for (let index = 0; index < count; ++index) {
    const id = messageId(input.blob().toString("latin1"));
    const systemTimestamp = input.varint() as FlowTimestamp;
    const eventTimestamp = input.varint() as FlowTimestamp;
    const alignmentTimestamp = input.varint() as FlowTimestamp;
    const payload: RowValue[] = [];
    const width = input.varint();
    for (let column = 0; column < width; ++column) {
      payload.push(input.value());
    }
    messages.push({ messageId: id, streamId, systemTimestamp, eventTimestamp, alignmentTimestamp, payload });
  }
  return messages;
}

class Input {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  varint(): number {
    let factor = 1;
    let result = 0;
    for (;;) {
      const byte = this.#bytes[this.#advance(1)] ?? 0;
      result += (byte % varintBase) * factor;
      if (byte < varintBase) {
        return result;
      }
      factor *= varintBase;
    }
  }

  blob(): Buffer {
    const size = this.varint();
    const start = this.#advance(size);
    return this.#bytes.subarray(start, start + size);
  }

  value(): RowValue {
    const tag = this.#bytes[this.#advance(1)];
    switch (tag) {
      case tags.null:
        return null;
      case tags.integer:
        return this.#bytes.readBigInt64LE(this.#advance(8));
      case tags.unsigned:
        return this.#bytes.readBigUInt64LE(this.#advance(8));
      case tags.double:
        return this.#bytes.readDoubleLE(this.#advance(8));
      case tags.false:
        return false;
      case tags.true:
        return true;
      case tags.bytes:
        return this.blob();
      case tags.any:
        return new YsonAny(this.blob());
      default:
        throw new YtError(`Stored messages are damaged: unknown tag ${tag}`);
    }
  }

  /** The position before the step. */
  #advance(count: number): number {
    const start = this.#position;
    if (start + count > this.#bytes.length) {
      throw new YtError("Stored messages are damaged: they end too early");
    }
    this.#position = start + count;
    return start;
  }
}
