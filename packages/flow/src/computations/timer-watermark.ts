/**
 * How far time has come for a timer stream: timers with an earlier or the same trigger fire.
 * Specified in: yt/yt/flow/library/cpp/computation/stores/timer_store.cpp; documentation "Flow", timers.
 */
import type { FlowTimestamp, StreamId } from "../model/message.ts";
import { minTimestamp, minusSeconds, undefinedTimestamp } from "../model/timestamps.ts";
import type { WatermarkState } from "../protocol/protocol.ts";
import { globalStreamName, streamsOf } from "../spec/stream-graph.ts";
import type { JobContext } from "./job-context.ts";

export function timerWatermark(
  job: Pick<JobContext, "spec" | "partition">,
  dependency: ReadonlyMap<StreamId, ReadonlySet<StreamId>>,
  watermarks: WatermarkState,
  timerStreamId: StreamId,
): FlowTimestamp {
  const spec = job.spec.timerStreams.get(timerStreamId);
  if (spec === undefined) {
    return undefinedTimestamp;
  }
  if (spec.timeType === "current_time") {
    return watermarks.currentTimestamp;
  }
  const kinds = streamsOf(job.spec);
  let least: FlowTimestamp | undefined;
  for (const [streamId, delayMs] of delaysOf(spec, dependency.get(timerStreamId))) {
    if (streamId !== timerStreamId) {
      const name = globalStreamName(job.partition.computationId, streamId, kinds.get(streamId) ?? "input");
      const stream = watermarks.streams.get(name);
      const watermark =
        (spec.timeType === "event_time" ? stream?.eventWatermark : stream?.systemWatermark) ??
        undefinedTimestamp;
      const delayed = minusSeconds(watermark, delayMs / 1_000);
      least = least === undefined ? delayed : minTimestamp(least, delayed);
    }
  }
  return least ?? undefinedTimestamp;
}

function delaysOf(
  spec: {
    readonly streams?: readonly StreamId[] | undefined;
    readonly streamsWithDelays?: ReadonlyMap<StreamId, number> | undefined;
  },
  dependency: ReadonlySet<StreamId> | undefined,
): Iterable<readonly [StreamId, number]> {
  if (spec.streamsWithDelays !== undefined && spec.streamsWithDelays.size > 0) {
    return spec.streamsWithDelays;
  }
  const streams =
    spec.streams !== undefined && spec.streams.length > 0 ? spec.streams : [...(dependency ?? [])];
  return streams.map((streamId) => [streamId, 0] as const);
}
