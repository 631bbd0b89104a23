export { AssertionError, assert, defined, unreachable } from "./assert.ts";
export {
  type Clock,
  type Random,
  secureRandom,
  seededRandom,
  sleep,
  systemClock,
  type Timer,
} from "./clock.ts";
export { type ErrorCodeName, errorCodes, retriableCodes } from "./codes.ts";
export { durationOfText, durationUnits } from "./durations.ts";
export { toYtError, YtError, type YtErrorOptions } from "./error.ts";
export type { DescriptionTable, ErrorDescription } from "./error-description.ts";
export { errorAreas, errorDescriptions } from "./error-descriptions.ts";
export { limits } from "./limits.ts";
export { atOnce, inSlices } from "./slices.ts";
export { turn } from "./turn.ts";
export {
  Attributed,
  attributesOf,
  type BareYsonValue,
  bare,
  emptyMap,
  isList,
  isMap,
  mapOf,
  Uint64,
  withAttributes,
  type YsonList,
  type YsonMap,
  type YsonScalar,
  type YsonValue,
} from "./value.ts";
