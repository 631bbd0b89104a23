/** The input buffer of a computation with input streams. */
import type { PhysicalType, TableSchema } from "@qyt/schema";
import { compileKey } from "../model/group-by.ts";
import type { StreamId } from "../model/message.ts";
import { InputBuffer } from "./input-buffer.ts";
import type { JobContext } from "./job-context.ts";

/** @throws YtError when the group-by schema does not fit a stream */
export function createInputBuffer(
  job: JobContext,
  inputs: ReadonlyMap<StreamId, TableSchema>,
  keyTypes: readonly PhysicalType[],
): InputBuffer {
  const { spec } = job;
  return new InputBuffer({
    clock: job.clock,
    keyTypes,
    isOrderedByEvents: spec.inputOrdering.timeType === "event_time",
    byteLimit: job.inputByteLimit,
    streams: [...inputs].map(([streamId, schema]) => ({
      streamId,
      keyOf: compileKey(spec.groupBySchema, schema),
      delayMs: spec.inputOrdering.streamDelays.get(streamId) ?? 0,
    })),
  });
}
