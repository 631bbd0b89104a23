/** Request ids: GUIDs of the form `a-b-c-d`, hexadecimal without leading zeros. */
import { randomBytes } from "node:crypto";

/** Makes ids that differ within a process by a counter and between processes by chance. */
export function createRequestIds(): () => string {
  const seed = randomBytes(16);
  const suffix = `${hex(seed.readUInt32LE(0))}-${hex(seed.readUInt32LE(4))}-${hex(seed.readUInt32LE(8))}`;
  let counter = seed.readUInt32LE(12);
  return () => {
    counter = (counter + 1) >>> 0;
    return `${counter.toString(16)}-${suffix}`;
  };
}

function hex(value: number): string {
  return value.toString(16);
}

/** The trace id of a W3C `traceparent` header as a GUID, `undefined` if there is none. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  const match =
    traceparent === undefined ? null : /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/.exec(traceparent);
  return match?.[1]
    ?.match(/.{8}/g)
    ?.map((part) => hex(Number.parseInt(part, 16)))
    .join("-");
}
