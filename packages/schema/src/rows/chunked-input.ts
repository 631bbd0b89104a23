/**
 * Input that arrives in chunks split at any byte. Whole rows are parsed where they lie; the row a chunk breaks off in
 * is kept and parsed again from its start when enough more has come.
 */
import { YtError } from "@qyt/base";
import { viewOf } from "./row-output.ts";

/** Thrown, always the same object, where the input ends inside of a row. */
export class NeedMoreInput extends Error {
  override readonly name = "NeedMoreInput";
}

export const needMoreInput = new NeedMoreInput("More input is needed");

export abstract class ChunkedInput {
  /** What is being parsed. */
  protected bytes: Buffer = Buffer.alloc(0);
  protected view: DataView = viewOf(this.bytes);
  protected end = 0;
  protected position = 0;
  /** Position in the whole stream of `bytes[0]`. */
  protected streamOffset = 0;

  readonly #maxRowBytes: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Parse again only when so much has come: a long row in small chunks must not cost its square. */
  #threshold = 1;
  #failure: unknown;
  #isFinished = false;

  /** @param maxRowBytes how long the input of one row may be */
  constructor(maxRowBytes: number) {
    this.#maxRowBytes = maxRowBytes;
  }

  /** Parses from `position`, leaves `position` where the first incomplete row begins. */
  protected abstract parse(isLast: boolean): void;

  /** @throws YtError about the first bad row; the same again on every later call */
  feed(chunk: Uint8Array): void {
    if (this.#isFinished) {
      throw new YtError("The row stream has ended already");
    }
    if (chunk.length === 0) {
      return;
    }
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes < this.#threshold) {
      // The caller may reuse its memory: what waits is copied.
      this.#waiting.push(Buffer.from(chunk));
      return;
    }
    this.#waiting.push(
      Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length),
    );
    this.#run(false);
  }

  /** Parses what is left as the end of the stream. */
  protected endOfInput(): void {
    if (!this.#isFinished) {
      this.#run(true);
      this.#isFinished = true;
    }
  }

  #run(isLast: boolean): void {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    const [first, ...others] = this.#waiting;
    const input =
      first === undefined ? Buffer.alloc(0) : others.length === 0 ? first : Buffer.concat(this.#waiting);
    this.bytes = input;
    this.view = viewOf(input);
    this.end = input.length;
    this.position = 0;
    try {
      this.parse(isLast);
    } catch (thrown) {
      this.#failure = thrown;
      throw thrown;
    }
    const rest = input.length - this.position;
    this.streamOffset += this.position;
    this.#waiting = rest === 0 ? [] : [Buffer.from(input.subarray(this.position))];
    this.#waitingBytes = rest;
    this.#threshold = Math.max(1, rest * 2);
    if (rest > this.#maxRowBytes) {
      this.#failure = new YtError(`Row is too large: its input is longer than ${this.#maxRowBytes} bytes`, {
        code: "RowWeightLimitExceeded",
      });
      throw this.#failure;
    }
  }
}
