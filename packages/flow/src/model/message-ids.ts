/**
 * Ids of messages, and the encoding of integers in them that sorts like the integers.
 * Specified in: yt/yt/flow/library/cpp/common/message.cpp, misc/lexicographically_serialize.cpp.
 */
import type { MessageId, StreamId, UniqueSeqNo } from "./message.ts";

/** Digits of 2^63 − 1, and of 2^64 − 1: the length is one digit itself. */
const maxDigits = 16;

/**
 * An int64 or uint64 as text whose byte order is the order of the numbers: a digit `L − 1`, then the `L`
 * significant hexadecimal digits. A negative one is `-` and the encoding of its absolute value, each digit
 * taken from 15.
 */
export function encodeLexicographically(value: bigint | number): string {
  if (value < 0) {
    const mirrored = [...encodeLexicographically(-value)].map((digit) =>
      (15 - parseInt(digit, 16)).toString(16),
    );
    return `-${mirrored.join("")}`;
  }
  const digits = value.toString(16);
  if (digits.length > maxDigits) {
    throw new RangeError(`Value ${value} does not fit into 64 bits`);
  }
  return (digits.length - 1).toString(16) + digits;
}

/** A sequence number as exactly 16 hexadecimal digits. */
export function seqNoToHex(seqNo: UniqueSeqNo): string {
  return seqNo.toString(16).padStart(maxDigits, "0");
}

/** `hex16(seqNo)-stream:offset[:secondary]`: the id of a message that comes from nowhere else. */
export function orderedMessageId(
  seqNo: UniqueSeqNo,
  streamId: StreamId,
  offset: bigint | number,
  secondaryOffset?: bigint | number,
): MessageId {
  const base = `${seqNoToHex(seqNo)}-${streamId}:${encodeLexicographically(offset)}`;
  return messageId(
    secondaryOffset === undefined ? base : `${base}:${encodeLexicographically(secondaryOffset)}`,
  );
}

/** `parent-stream:index`: the same whenever the same parent is processed again. */
export function inheritedMessageId(parent: MessageId, streamId: StreamId, index: number): MessageId {
  return messageId(`${parent}-${streamId}:${encodeLexicographically(index)}`);
}

/** A bound above every id that has this sequence number or a smaller one. */
export function messageIdBoundAfter(seqNo: UniqueSeqNo): MessageId {
  return messageId(`${seqNoToHex(seqNo)}~`);
}

/** Text read back from a state or a wire as an id. */
export function messageId(text: string): MessageId {
  return text as MessageId;
}
