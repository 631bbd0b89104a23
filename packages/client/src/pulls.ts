/**
 * Pulls: a portion of rows with what the proxy tells about it, and waiting for rows, by the proxy where it
 * does that (qyt), otherwise by asking again.
 */
import { bare, emptyMap, isMap, sleep, Uint64, type YsonMap } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { callOptions } from "./answers.ts";
import { type Requester, readAll } from "./core.ts";
import { decodeRows } from "./rows.ts";
import type { TransportResponse } from "./transport.ts";
import type { Parameters, PulledPortion, PullOptions } from "./types.ts";

/** Pauses between the questions to a proxy that does not wait, in milliseconds; they double. */
const minPauseMs = 20;
const maxPauseMs = 1_000;

export type PullCommand = "pull_queue" | "pull_queue_consumer";

/**
 * One portion. With `waitTimeoutMs` it comes with the first row, or empty when that time is over; meanwhile
 * a proxy that answers "nothing" at once is asked again, with growing pauses.
 */
export async function pullPortion(
  requester: Requester,
  command: PullCommand,
  parameters: Parameters,
  options: PullOptions,
): Promise<PulledPortion> {
  const { clock, random } = requester.options;
  const endMs = clock.monotonic() + (options.waitTimeoutMs ?? 0);
  for (let pauseMs = minPauseMs; ; ) {
    const startMs = clock.monotonic();
    const waitMs = Math.max(0, Math.ceil(endMs - startMs));
    const portion = await pullOnce(requester, command, parameters, options, waitMs);
    if (portion.rows.length > 0 || waitMs === 0) {
      return portion;
    }
    const nowMs = clock.monotonic();
    if (nowMs >= endMs) {
      return portion;
    }
    if (nowMs - startMs < waitMs / 2) {
      await sleep(clock, Math.min(pauseMs * (0.5 + random.next()), endMs - nowMs), options.signal);
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
  }
}

async function pullOnce(
  requester: Requester,
  command: PullCommand,
  parameters: Parameters,
  options: PullOptions,
  waitMs: number,
): Promise<PulledPortion> {
  const attemptMs = options.timeoutMs ?? requester.options.requestTimeoutMs;
  const response = await requester.send({
    command,
    method: "GET",
    isVolatile: false,
    parameters: {
      ...parameters,
      max_row_count: options.maxRowCount,
      max_data_weight: options.maxDataWeight,
      replica_consistency: options.replicaConsistency,
      wait_timeout: waitMs > 0 ? BigInt(waitMs) : undefined,
      output_format: "yson",
    },
    ...callOptions(options),
    timeoutMs: attemptMs + waitMs,
  });
  const rows = decodeRows(await readAll(response, command)).filter((row) => row !== null);
  const told = responseParameters(response);
  const revision = bare(told.get("tablet_layout_revision") ?? null);
  return {
    rows,
    startOffset: integerOf(told, "start_row_index") ?? integerOf(told, "start_offset"),
    skippedRowCount: integerOf(told, "skipped_row_count") ?? 0n,
    layoutRevision: revision instanceof Uint64 ? revision.value : undefined,
  };
}

function responseParameters(response: TransportResponse): YsonMap {
  const name = "x-yt-response-parameters";
  const text = response.headers.get(name) ?? response.trailers().get(name);
  const value = text === undefined ? emptyMap : parseYson(Buffer.from(text, "latin1"));
  return isMap(value) ? value : emptyMap;
}

function integerOf(map: YsonMap, name: string): bigint | undefined {
  const value = bare(map.get(name) ?? null);
  return typeof value === "bigint" ? value : undefined;
}
