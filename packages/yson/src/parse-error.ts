/** Errors of the parsers: what was wrong, and the bytes around the place. Upstream: yt/yt/core/yson/detail.h. */
import { type ErrorCodeName, type YsonValue, YtError } from "@qyt/base";
import { bytesToString } from "./bytes.ts";

const contextBytes = 32;

/** Attributes `context` (up to 64 bytes around the place), `context_pos` (the place within them) and `offset`. */
export function contextAttributes(
  buffer: Uint8Array,
  position: number,
  end: number,
): Record<string, YsonValue> {
  const at = Math.min(position, end);
  const start = Math.max(0, at - contextBytes);
  return {
    context: bytesToString(buffer, start, Math.min(end, at + contextBytes)),
    context_pos: BigInt(at - start),
    offset: BigInt(at),
  };
}

/** The outer error has the fixed text that clients know, the inner one the cause. */
export function parseError(
  message: string,
  code: ErrorCodeName,
  detail: string,
  attributes: Record<string, YsonValue>,
): YtError {
  return new YtError(message, { code, attributes, inner: [new YtError(detail, { code })] });
}
