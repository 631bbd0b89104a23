/**
 * Holding a source back: so that groups of computations go on together in event time (alignment), and so that a
 * unit is published only when other streams have come as far (read delays).
 * Specified in: yt/yt/flow/library/cpp/computation/watermark_aligner.cpp.
 */
import type { FlowTimestamp } from "../model/message.ts";
import { infiniteTimestamp, minTimestamp, minusSeconds, undefinedTimestamp } from "../model/timestamps.ts";
import type { WatermarkState } from "../protocol/protocol.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";

type Alignment = NonNullable<WatermarkStrategy["watermarkAlignment"]>;

/**
 * Whether a partition whose read watermark is `read` may read on: refused when the group's watermark and the
 * allowed drift lie behind it.
 */
export function mayRead(
  alignment: Alignment | undefined,
  watermarks: WatermarkState,
  read: FlowTimestamp,
): boolean {
  const group = alignment && watermarks.alignmentGroups.get(alignment.groupName);
  return alignment === undefined || group === undefined || group + alignment.driftBound / 1_000 >= read;
}

/** Units with a later event time wait: the least of the streams' watermarks, each less its delay. */
export function readDelayThreshold(
  alignment: Alignment | undefined,
  watermarks: WatermarkState,
): FlowTimestamp {
  let threshold = infiniteTimestamp;
  for (const [stream, delay] of alignment?.readDelays ?? []) {
    const watermark = watermarks.streams.get(stream)?.eventWatermark ?? undefinedTimestamp;
    threshold = minTimestamp(threshold, minusSeconds(watermark, delay / 1_000));
  }
  return threshold;
}
