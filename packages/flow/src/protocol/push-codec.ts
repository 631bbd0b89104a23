/** `push_messages` as YSON: messages of one stream in one binary block. */
import { isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { bytesToString, stringToBytes } from "@qyt/yson";
import type { Message, StreamId } from "../model/message.ts";
import { decodeMessages, encodeMessages } from "../model/message-codec.ts";
import { messageId } from "../model/message-ids.ts";
import type { PushAnswer, PushMessages } from "./protocol.ts";

export function pushesToYson(pushes: readonly PushMessages[]): YsonValue {
  return pushes.map((push) =>
    mapOf({
      from_partition_id: push.fromPartitionId,
      from_job_id: push.fromJobId,
      to_partition_id: push.toPartitionId,
      to_job_id: push.toJobId,
      acknowledged_offset: BigInt(push.acknowledgedOffset),
      blocks: blocksOf(push.messages).map(({ streamId, messages }) =>
        mapOf({ stream_id: streamId, data: bytesToString(encodeMessages(messages)) }),
      ),
    }),
  );
}

/** @throws YtError 1 when the body is not such a request */
export function pushesFromYson(body: YsonValue): PushMessages[] {
  return mapsOf(body).map((push) => ({
    fromPartitionId: textOf(push, "from_partition_id"),
    fromJobId: textOf(push, "from_job_id"),
    toPartitionId: textOf(push, "to_partition_id"),
    toJobId: textOf(push, "to_job_id"),
    acknowledgedOffset: numberOf(push, "acknowledged_offset"),
    messages: mapsOf(push.get("blocks") ?? null).flatMap((block) =>
      decodeMessages(Buffer.from(stringToBytes(textOf(block, "data"))), textOf(block, "stream_id")),
    ),
  }));
}

export function pushAnswersToYson(answers: readonly PushAnswer[]): YsonValue {
  return answers.map((answer) =>
    mapOf({
      is_unknown_job: answer.isUnknownJob,
      accepted: BigInt(answer.accepted),
      finished: answer.finished,
      finished_offset: BigInt(answer.finishedOffset),
      byte_limit: BigInt(Math.trunc(answer.byteLimit)),
    }),
  );
}

/** @throws YtError 1 when the body is not such an answer */
export function pushAnswersFromYson(body: YsonValue): PushAnswer[] {
  return mapsOf(body).map((answer) => {
    const finished = answer.get("finished") ?? null;
    return {
      isUnknownJob: answer.get("is_unknown_job") === true,
      accepted: numberOf(answer, "accepted"),
      finished: isList(finished) ? finished.map((id) => messageId(String(id))) : [],
      finishedOffset: numberOf(answer, "finished_offset"),
      byteLimit: numberOf(answer, "byte_limit"),
    };
  });
}

/** Runs of messages of the same stream: the order stays. */
function blocksOf(
  messages: readonly Message[],
): { readonly streamId: StreamId; readonly messages: Message[] }[] {
  const blocks: { readonly streamId: StreamId; readonly messages: Message[] }[] = [];
  for (const message of messages) {
    const last = blocks.at(-1);
    if (last?.streamId === message.streamId) {
      last.messages.push(message);
    } else {
      blocks.push({ streamId: message.streamId, messages: [message] });
    }
  }
  return blocks;
}

function mapsOf(value: YsonValue): readonly YsonMap[] {
  if (!isList(value)) {
    throw new YtError("A list is expected between workers");
  }
  return value.map((item) => {
    if (!isMap(item)) {
      throw new YtError("A list of maps is expected between workers");
    }
    return item;
  });
}

function textOf(map: YsonMap, name: string): string {
  const value = map.get(name);
  if (typeof value !== "string") {
    throw new YtError(`Field "${name}" must be a string`);
  }
  return value;
}

function numberOf(map: YsonMap, name: string): number {
  const value = map.get(name);
  if (typeof value !== "bigint") {
    throw new YtError(`Field "${name}" must be an integer`);
  }
  return Number(value);
}
