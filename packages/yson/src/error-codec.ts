/** Errors as values, the form in bodies, headers and trailers. Specified in: yt/yt/core/misc/error.cpp. */
import { bare, emptyMap, isList, isMap, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";

/** Errors nested deeper than this are listed flat, as upstream does, so that no client runs out of stack. */
const maxErrorDepth = 16;

/** `{code; message; attributes; inner_errors}`, the last one left out when empty. */
export function errorToYson(error: YtError): YsonMap {
  return encode(error, 1, undefined);
}

/**
 * Reads what `errorToYson` wrote, and whatever other servers write: missing parts are empty, a code that is no
 * integer is 1. Never throws.
 */
export function errorFromYson(value: YsonValue): YtError {
  const map = bare(value);
  if (!isMap(map)) {
    return new YtError(typeof map === "string" ? map : "Malformed error");
  }
  const message = bare(map.get("message") ?? "");
  const attributes = bare(map.get("attributes") ?? emptyMap);
  const inner = bare(map.get("inner_errors") ?? []);
  return new YtError(typeof message === "string" ? message : "", {
    code: decodeCode(map.get("code")),
    attributes: isMap(attributes) ? attributes : emptyMap,
    inner: isList(inner) ? inner.map(errorFromYson) : [],
  });
}

function encode(error: YtError, depth: number, originalDepth: number | undefined): YsonMap {
  const result = new Map<string, YsonValue>();
  result.set("code", BigInt(error.code));
  result.set("message", error.message);
  const attributes = new Map(error.attributes);
  if (originalDepth !== undefined) {
    attributes.set("original_error_depth", BigInt(originalDepth));
  }
  result.set("attributes", attributes);
  if (error.innerErrors.length > 0 && originalDepth === undefined) {
    const inner: YsonValue[] = [];
    if (depth < maxErrorDepth) {
      inner.push(...error.innerErrors.map((item) => encode(item, depth + 1, undefined)));
    } else {
      flatten(error, depth, inner);
    }
    result.set("inner_errors", inner);
  }
  return result;
}

function flatten(error: YtError, depth: number, into: YsonValue[]): void {
  const pending = error.innerErrors.map((item) => ({ item, depth: depth + 1 })).reverse();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    into.push(encode(next.item, maxErrorDepth + 1, next.depth));
    for (const item of next.item.innerErrors.toReversed()) {
      pending.push({ item, depth: next.depth + 1 });
    }
  }
}

function decodeCode(value: YsonValue | undefined): number {
  const code = value === undefined ? 1n : bare(value);
  const number = code instanceof Uint64 ? Number(code.value) : typeof code === "bigint" ? Number(code) : code;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : 1;
}
