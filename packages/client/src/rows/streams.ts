/** Rows as streams: decoded as they arrive, encoded as they are asked for. Nothing is held but one piece. */
import { ItemSplitter } from "./item-splitter.ts";

/** About so many bytes of encoded rows are made at a time. */
const pieceBytes = 64 * 1024;

/** Rows of a list fragment, as its chunks arrive. `decode` gets whole items only. */
export async function* decodeRowStream<T>(
  chunks: AsyncIterable<Buffer>,
  decode: (items: Buffer) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  const splitter = new ItemSplitter();
  for await (const chunk of chunks) {
    const items = splitter.push(chunk);
    if (items !== undefined) {
      yield* decode(items);
    }
  }
  const rest = splitter.rest();
  if (rest.length > 0) {
    yield* decode(rest);
  }
}

/** Encoded rows in pieces, each made when the one before has been taken. */
export async function* encodeRowStream<T>(
  rows: AsyncIterable<T> | Iterable<T>,
  encode: (rows: readonly T[]) => Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { body } of encodedBatches(rows, encode, { bytes: pieceBytes, rows: Infinity })) {
    yield body;
  }
}

/** Rows in batches of at most so many rows and about so many bytes. */
export async function* encodedBatches<T>(
  rows: AsyncIterable<T> | Iterable<T>,
  encode: (rows: readonly T[]) => Uint8Array,
  most: { readonly bytes: number; readonly rows: number },
): AsyncGenerator<{ readonly body: Uint8Array; readonly rowCount: number }, void, undefined> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let rowCount = 0;
  let waiting: T[] = [];
  const take = (): void => {
    if (waiting.length > 0) {
      const piece = encode(waiting);
      pieces.push(piece);
      bytes += piece.length;
      waiting = [];
    }
  };
  for await (const row of rows) {
    waiting.push(row);
    rowCount++;
    if (waiting.length >= rowsAtOnce || rowCount >= most.rows) {
      take();
      if (bytes >= most.bytes || rowCount >= most.rows) {
        yield { body: joined(pieces), rowCount };
        pieces = [];
        bytes = 0;
        rowCount = 0;
      }
    }
  }
  take();
  if (rowCount > 0) {
    yield { body: joined(pieces), rowCount };
  }
}

/** Rows are encoded by so many: enough to be fast, few enough to keep to the bytes. */
const rowsAtOnce = 16;

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}
