/**
 * `watermark_percentile`: a watermark that does not wait for the last few messages under way.
 * Specified in: documentation "Flow", spec; yt/yt/flow/library/cpp/common/spec.cpp.
 */
import type { FlowTimestamp } from "../model/message.ts";
import { maxTimestamp, minusSeconds } from "../model/timestamps.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";

/**
 * The event time that holds a stream back: the earliest under way, or with a percentile the event time that the
 * given part of the messages has reached, less the delay, if that is later.
 * @param times event times of the messages under way, in any order; empty gives `undefined`
 */
export function holdingEventTimestamp(
  times: readonly FlowTimestamp[],
  percentile: WatermarkStrategy["watermarkPercentile"],
): FlowTimestamp | undefined {
  const sorted = [...times].sort((left, right) => left - right);
  const [least] = sorted;
  if (least === undefined || percentile === undefined) {
    return least;
  }
  const index = Math.min(sorted.length - 1, Math.floor((sorted.length * (100 - percentile.value)) / 100));
  const reached = sorted[index] ?? least;
  return maxTimestamp(least, minusSeconds(reached, percentile.delay / 1_000));
}
