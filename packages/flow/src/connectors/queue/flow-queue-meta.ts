/**
 * The meta column of queues that Flow writes and reads: event times of rows, and watermarks.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/flow_queue_meta.cpp.
 */
import { bare, isList, isMap, mapOf, toYtError, Uint64, type YsonValue, YtError } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import { parseYson, writeYson } from "@qyt/yson";
import type { FlowTimestamp } from "../../model/message.ts";
import { timestampFromYson, timestampToUint64 } from "../../model/timestamps.ts";

export interface FlowQueueMeta {
  readonly eventTimestamp: FlowTimestamp | undefined;
  /** Seconds to add for the first, the second … payload of the row. */
  readonly eventTimestampDeltas: readonly number[];
  /** Rows behind this one in the partition have event times from here on. */
  readonly eventWatermark: FlowTimestamp | undefined;
  /** The row carries no data. */
  readonly isPureHeartbeat: boolean;
}

/**
 * The meta of a cell; `undefined` for null. Fields that are not known are ignored.
 * @throws YtError 1 `Failed to parse flow queue meta from %Qv`
 */
export function parseFlowQueueMeta(cell: RowValue, columnName: string): FlowQueueMeta | undefined {
  if (cell === null) {
    return undefined;
  }
  try {
    const value = cell instanceof YsonAny ? bare(parseYson(cell.bytes)) : null;
    if (value === null && cell instanceof YsonAny) {
      return undefined;
    }
    if (!isMap(value)) {
      throw new YtError("Expected a map");
    }
    const timestamp = (name: string): FlowTimestamp | undefined => {
      const field = bare(value.get(name) ?? null);
      return field === null ? undefined : timestampFromYson(field);
    };
    const heartbeat = bare(value.get("pure_heartbeat") ?? false);
    if (typeof heartbeat !== "boolean") {
      throw new YtError('Field "pure_heartbeat" must be a boolean');
    }
    return {
      eventTimestamp: timestamp("event_timestamp"),
      eventTimestampDeltas: deltasOf(value.get("event_timestamp_deltas") ?? []),
      eventWatermark: timestamp("event_watermark"),
      isPureHeartbeat: heartbeat,
    };
  } catch (thrown) {
    throw new YtError(`Failed to parse flow queue meta from "${columnName}"`, { inner: [toYtError(thrown)] });
  }
}

/** The meta of a row with data. */
export function eventTimestampCell(eventTimestamp: FlowTimestamp): YsonAny {
  return cellOf({ event_timestamp: timestampToUint64(eventTimestamp) });
}

/** The meta of a heartbeat. */
export function heartbeatCell(eventWatermark: FlowTimestamp): YsonAny {
  return cellOf({ event_watermark: timestampToUint64(eventWatermark), pure_heartbeat: true });
}

function cellOf(fields: Readonly<Record<string, YsonValue>>): YsonAny {
  return new YsonAny(writeYson(mapOf(fields), "binary"));
}

function deltasOf(value: YsonValue): readonly number[] {
  const list = bare(value);
  if (!isList(list)) {
    throw new YtError('Field "event_timestamp_deltas" must be a list');
  }
  return list.map((item) => {
    const plain = bare(item);
    const integer = plain instanceof Uint64 ? plain.value : plain;
    if (typeof integer !== "bigint") {
      throw new YtError('Field "event_timestamp_deltas" must be a list of integers');
    }
    return Number(integer);
  });
}
