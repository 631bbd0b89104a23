/** Standard input and output of a command, read and written piece by piece. */
import { once } from "node:events";

/** What a command prints on. */
export interface Out {
  /** Resolves when more may be written. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** Whether a person looks. */
  readonly isTerminal: boolean;
}

/** @param closed is called when the reader goes away (`qyt … | head`) */
export function outOf(stream: NodeJS.WriteStream, closed: () => void): Out {
  stream.on("error", (error: Error) => {
    if ("code" in error && error.code === "EPIPE") {
      closed();
    } else {
      throw error;
    }
  });
  return {
    isTerminal: stream.isTTY === true,
    async write(bytes) {
      if (!stream.write(bytes)) {
        await once(stream, "drain");
      }
    },
  };
}

/** So much of a body is kept in memory, so that the request can be repeated; more is sent as it comes. */
const repeatableBytes = 16 * 1024 * 1024;

/** The body of a request: the whole of a short input, or a stream. */
export async function bodyOf(input: AsyncIterable<Buffer>): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const iterator = input[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < repeatableBytes) {
    const { done, value } = await iterator.next();
    if (done === true) {
      return Buffer.concat(chunks);
    }
    chunks.push(value);
    length += value.length;
  }
  return chain(chunks, iterator);
}

async function* chain(first: Buffer[], rest: AsyncIterator<Buffer>): AsyncIterable<Uint8Array> {
  // Given back one by one, so that what is sent can be freed.
  for (let chunk = first.shift(); chunk !== undefined; chunk = first.shift()) {
    yield chunk;
  }
  for (let item = await rest.next(); item.done !== true; item = await rest.next()) {
    yield item.value;
  }
}

/** The whole of an input that is one value. */
export async function readWhole(input: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
