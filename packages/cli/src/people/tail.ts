/** `qyt queue tail`: the last rows of a queue, and with `--follow` those that come. */
import { type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { timestampSeconds } from "@qyt/schema";
import { toYson, writeJson, writeYson } from "@qyt/yson";
import { objectPath, partitionsOf } from "./queue-facts.ts";

export interface TailOptions {
  readonly rows: bigint;
  readonly follows: boolean;
  /** `undefined`: all. */
  readonly partition: number | undefined;
  readonly format: "table" | "yson" | "json";
  readonly signal: AbortSignal;
  readonly write: (chunk: Uint8Array) => Promise<void>;
}

const waitMs = 5_000;

export async function tail(client: YtClient, path: string, options: TailOptions): Promise<void> {
  const queue = objectPath(path);
  const all = await partitionsOf(client, queue);
  const chosen = all.filter(({ index }) => options.partition === undefined || index === options.partition);
  if (chosen.length === 0) {
    throw new YtError(
      `${queue.path} has no partition ${options.partition}: it has ${all.length}, counted from 0`,
    );
  }
  await Promise.all(
    chosen.map(async ({ index, totalRowCount, trimmedRowCount }) => {
      let offset = later(totalRowCount - options.rows, trimmedRowCount);
      while (!options.signal.aborted && (options.follows || offset < totalRowCount)) {
        const portion = await client.pullQueuePortion(queue.path, offset, index, {
          signal: options.signal,
          ...(options.follows ? { waitTimeoutMs: waitMs } : {}),
        });
        if (portion.rows.length === 0 && !options.follows) {
          return;
        }
        const first = portion.startOffset ?? offset;
        for (const [at, row] of portion.rows.entries()) {
          await options.write(lineOf(row, index, first + BigInt(at), options.format));
        }
        offset = first + BigInt(portion.rows.length);
      }
    }),
  );
}

function lineOf(
  row: Readonly<Record<string, unknown>>,
  partition: number,
  offset: bigint,
  format: TailOptions["format"],
): Uint8Array {
  const value = toYson(row);
  if (format === "table") {
    const fields = value instanceof Map ? (value as YsonMap) : new Map<string, YsonValue>();
    const at = fields.get("$timestamp");
    const seconds = typeof at === "bigint" ? timestampSeconds(at) : undefined;
    const time = seconds === undefined ? "" : new Date(seconds * 1_000).toISOString().slice(0, 19);
    const rest = new Map([...fields].filter(([name]) => !name.startsWith("$")));
    return Buffer.concat([Buffer.from(`${partition}:${offset} ${time} `), writeYson(rest, "text"), newLine]);
  }
  const body = format === "json" ? Buffer.from(writeJson(value)) : writeYson(value, "text");
  return Buffer.concat([body, format === "json" ? newLine : Buffer.from(";\n")]);
}

function later(left: bigint, right: bigint): bigint {
  if (left > right) {
    return left;
  }
  return right;
}

const newLine = Buffer.from("\n");
