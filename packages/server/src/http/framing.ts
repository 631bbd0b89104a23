/**
 * Framed reply bodies (`X-YT-Accept-Framing`): data and keep-alive frames, inside of the content encoding.
 *
 *     frame = 0x01, u32 LE length, bytes | 0x02
 *
 * Specified in: yt/yt/server/http_proxy/framing.cpp; http-api §6.
 */
const dataTag = 0x01;
const keepAliveTag = 0x02;

/** Milliseconds of silence after which a keep-alive frame is sent. */
export const defaultKeepAliveFrameMs = 5_000;

export const keepAliveFrame = Buffer.from([keepAliveTag]);

/** What goes in front of `length` bytes of data, at most 2^32 − 1. */
export function dataFrameHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(5);
  header[0] = dataTag;
  header.writeUInt32LE(length, 1);
  return header;
}
