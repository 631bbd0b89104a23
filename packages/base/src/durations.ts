/**
 * Durations as text: a number and a unit.
 * Specified in: yt/yt/core/ytree/serialize.cpp (Deserialize of TDuration), util/datetime/base.h.
 */

/** Milliseconds of each unit. */
export const durationUnits: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const pattern = /^(\d+(?:\.\d+)?)(us|ms|s|m|h|d|w)$/;

/** Milliseconds of a text such as `5s` or `1.5h`; `undefined` when it is none, or has no unit. */
export function durationOfText(text: string): number | undefined {
  const [, digits, unit = ""] = pattern.exec(text) ?? [];
  const factor = durationUnits[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}
