/** An error, or none, as one value of YSON: an error of code 0 says that all is well. */
import { mapOf, type YsonMap, type YsonValue, type YtError } from "@qyt/base";
import { errorFromYson, errorToYson } from "@qyt/yson";
import { isNothing } from "./scalars.ts";

const noError: YsonMap = mapOf({ code: 0n, message: "" });

export function errorOrNoneToYson(error: YtError | null): YsonMap {
  return error === null ? noError : errorToYson(error);
}

/** `null`: all is well, or nothing is said. */
export function errorOrNoneOf(value: YsonValue | undefined): YtError | null {
  if (value === undefined || isNothing(value)) {
    return null;
  }
  const error = errorFromYson(value);
  return error.code === 0 ? null : error;
}
