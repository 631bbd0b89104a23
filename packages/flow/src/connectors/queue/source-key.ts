/**
 * Which partition of which queue a source reads.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/source.cpp (`TQueueKey`).
 */
import { createHash } from "node:crypto";
import { YtError } from "@qyt/base";
import { writeYsonText } from "@qyt/yson";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import type { Key } from "../../model/message.ts";
import { textCell, textOf } from "../../tables/cells.ts";

const fieldCount = 2;

export interface QueueKey {
  readonly identity: string;
  readonly partitionIndex: number;
}

/** Of a queue: MD5 of the textual YSON of `[cluster; path]`, in hexadecimal. Another queue has other keys. */
export function queueIdentity({ cluster, path }: ClusterPath): string {
  return createHash("md5")
    .update(writeYsonText([cluster, path]), "latin1")
    .digest("hex");
}

export function queueKey({ identity, partitionIndex }: QueueKey): Key {
  return [textCell(identity), BigInt(partitionIndex)];
}

/** @throws YtError 1 when it is no key of a queue */
export function parseQueueKey(key: Key): QueueKey {
  if (key.length !== fieldCount) {
    throw new YtError(`Queue Key should have exactly ${fieldCount} fields, got: ${key.length}`);
  }
  const [identity, index] = key;
  if (!(identity instanceof Uint8Array) || typeof index !== "bigint") {
    throw new YtError("Queue Key should have a string and an int64");
  }
  return { identity: textOf(identity), partitionIndex: Number(index) };
}
