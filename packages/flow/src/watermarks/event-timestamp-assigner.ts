/**
 * Takes the event time of a message from one of its columns.
 * Specified in: yt/yt/flow/library/cpp/computation/event_timestamp_assigner.cpp.
 */
import { YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { FlowTimestamp, Payload } from "../model/message.ts";
import { flowTimestamp, minTimestamp } from "../model/timestamps.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";

/**
 * `undefined` when no column is named: times stay as they are. A payload without a value keeps its time too.
 * @throws YtError 1 when the column is absent or of a type that holds no time
 */
export function compileAssigner(
  spec: WatermarkStrategy["eventTimestampAssigner"],
  schema: TableSchema,
): ((payload: Payload, systemTimestamp: FlowTimestamp) => FlowTimestamp | undefined) | undefined {
  const { column: name, format, limitBySystemTimestamp } = spec;
  if (name === undefined) {
    return undefined;
  }
  const index = schema.indexOf(name);
  const column = schema.columns[index];
  if (column === undefined) {
    throw new YtError(`Event timestamp column "${name}" is not found in the stream's schema`);
  }
  const isText = format === "iso8601";
  const isFitting = isText
    ? column.physical === "string"
    : column.physical === "int64" || column.physical === "uint64";
  if (!isFitting) {
    throw new YtError(
      `Event timestamp column "${name}" has type "${column.type}", but format "${format}" needs ${isText ? '"string"' : '"int64" or "uint64"'}`,
    );
  }
  return (payload, systemTimestamp) => {
    const value = payload[index] ?? null;
    if (value === null) {
      return undefined;
    }
    const time = flowTimestamp(isText ? secondsOfText(value) : secondsOfNumber(value, format));
    return limitBySystemTimestamp ? minTimestamp(time, systemTimestamp) : time;
  };
}

function secondsOfNumber(value: RowValue, format: "seconds" | "milli_seconds" | "iso8601"): number {
  if (typeof value !== "bigint") {
    return 0;
  }
  return Number(format === "milli_seconds" ? value / 1_000n : value);
}

function secondsOfText(value: RowValue): number {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : "";
  const milliseconds = Date.parse(text);
  if (Number.isNaN(milliseconds)) {
    throw new YtError(`Event timestamp "${text}" is not an ISO 8601 time such as "2024-05-01T12:00:00Z"`);
  }
  return milliseconds / 1_000;
}
