/** Strings of JSON output. Specified in: yt/yt/core/json/json_writer.cpp. */
import { isUtf8 } from "node:buffer";
import { YtError } from "@qyt/base";
import { plainRunEnd } from "./byte-scan.ts";
import type { RowOutput } from "./row-output.ts";

/** By byte: 0 if it stands for itself in a JSON string whatever the encoding. */
const needsCare = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  needsCare[byte] = byte < 0x20 || byte === 0x22 || byte === 0x5c || byte >= 0x80 ? 1 : 0;
}

/**
 * Appends `bytes[start, end)` as a JSON string.
 * @param encodeUtf8 each byte is one character U+0000…U+00FF; else the bytes are the text
 * @throws YtError `Invalid UTF-8 string in JSON` when the bytes are to be the text and are none
 */
export function writeJsonString(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  encodeUtf8: boolean,
  output: RowOutput,
): void {
  output.ensure(end - start + 2);
  output.byte(0x22);
  let plain = start;
  let isAscii = true;
  for (let at = plainRunEnd(view, start, end); at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (needsCare[byte] === 0) {
      continue;
    }
    if (byte >= 0x80 && !encodeUtf8) {
      isAscii = false;
      continue;
    }
    output.copy(bytes, view, plain, at);
    plain = at + 1;
    if (byte >= 0x80) {
      output.byte(0xc0 | (byte >> 6));
      output.byte(0x80 | (byte & 0x3f));
    } else {
      output.ascii(escapeOf(byte));
    }
  }
  if (!isAscii && !isUtf8(bytes.subarray(start, end))) {
    throw new YtError("Invalid UTF-8 string in JSON");
  }
  output.copy(bytes, view, plain, end);
  output.byte(0x22);
}

function escapeOf(byte: number): string {
  switch (byte) {
    case 0x22:
      return '\\"';
    case 0x5c:
      return "\\\\";
    case 0x0a:
      return "\\n";
    case 0x0d:
      return "\\r";
    case 0x09:
      return "\\t";
    case 0x08:
      return "\\b";
    case 0x0c:
      return "\\f";
    default:
      return `\\u${byte.toString(16).toUpperCase().padStart(4, "0")}`;
  }
}
