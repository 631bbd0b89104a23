/**
 * Cuts a stream of YSON items (rows) into pieces that have whole items only, so that rows can be decoded as
 * they arrive. Each byte is looked at once; nothing is decoded.
 * Specified in: YTsaurus documentation, "YSON"; yt/yt/core/yson/lexer_detail.h.
 */

const semicolon = 0x3b;
const quote = 0x22;
const backslash = 0x5c;

export class ItemSplitter {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Up to here tokens have been looked at. */
  #position = 0;
  #depth = 0;
  /** Behind the last item that is complete. */
  #boundary = 0;

  /** The items that are complete with this chunk, or `undefined` when there is none. */
  push(chunk: Buffer): Buffer | undefined {
    if (this.#length === 0) {
      this.#buffer = chunk;
      this.#length = chunk.length;
    } else {
      this.#append(chunk);
    }
    this.#scan();
    return this.#boundary === 0 ? undefined : this.#cut();
  }

  /** What is left when the stream is over: at most one item, which has no separator behind it. */
  rest(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #append(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  #cut(): Buffer {
    const items = this.#buffer.subarray(0, this.#boundary);
    // The rest is copied: the items may be kept by who reads them.
    this.#buffer = Buffer.from(this.#buffer.subarray(this.#boundary, this.#length));
    this.#length = this.#buffer.length;
    this.#position -= this.#boundary;
    this.#boundary = 0;
    return items;
  }

  #scan(): void {
    while (this.#position < this.#length) {
      const next = this.#tokenEnd(this.#position);
      if (next > this.#length) {
        return;
      }
      this.#position = next;
    }
  }

  /** The position behind the token, or one behind the end when it is not complete. */
  #tokenEnd(start: number): number {
    const byte = this.#buffer[start] ?? 0;
    switch (byte) {
      case 0x01: {
        const { value, end } = this.#varint(start + 1);
        return end + Math.floor(value / 2);
      }
      case 0x02:
      case 0x06:
        return this.#varint(start + 1).end;
      case 0x03:
        return start + 9;
      case quote:
        return this.#quotedEnd(start + 1);
      case semicolon:
        if (this.#depth === 0) {
          this.#boundary = start + 1;
        }
        return start + 1;
      case 0x7b: // {
      case 0x5b: // [
      case 0x3c: // <
        this.#depth++;
        return start + 1;
      case 0x7d: // }
      case 0x5d: // ]
      case 0x3e: // >
        this.#depth--;
        return start + 1;
      default:
        return start + 1;
    }
  }

  #varint(start: number): { readonly value: number; readonly end: number } {
    let value = 0;
    let scale = 1;
    for (let at = start; at < this.#length; at++) {
      const byte = this.#buffer[at] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        return { value, end: at + 1 };
      }
      scale *= 0x80;
    }
    return { value: 0, end: this.#length + 1 };
  }

  #quotedEnd(start: number): number {
    for (let at = start; at < this.#length; at++) {
      const byte = this.#buffer[at];
      if (byte === backslash) {
        at++;
      } else if (byte === quote) {
        return at + 1;
      }
    }
    return this.#length + 1;
  }
}
