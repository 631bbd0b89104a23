/** Output of those who push it, for those who pull it. */
import { YtError } from "@qyt/base";

interface Waiting {
  readonly chunk: Buffer;
  readonly taken: () => void;
  readonly refused: (error: YtError) => void;
}

/**
 * Turns a producer that pushes chunks into an iterable that is pulled: each push waits until its chunk has
 * been used. When the reader leaves, the push that waits fails and so does every later one, and the
 * iterable ends when the producer has.
 */
export async function* pushed(
  run: (push: (chunk: Buffer) => Promise<void>) => Promise<void>,
): AsyncGenerator<Buffer, void, void> {
  let waiting: Waiting | undefined;
  let wake: () => void = () => undefined;
  let isDone = false;
  let isClosed = false;
  let failure: { readonly error: unknown } | undefined;
  const running = run((chunk) => {
    if (chunk.length === 0) {
      return Promise.resolve();
    }
    if (isClosed) {
      return Promise.reject(readerIsGone());
    }
    return new Promise((resolve, reject) => {
      waiting = { chunk, taken: resolve, refused: reject };
      wake();
    });
  })
    .catch((error: unknown) => {
      failure = { error };
    })
    .finally(() => {
      isDone = true;
      wake();
    });
  try {
    for (;;) {
      if (waiting !== undefined) {
        const { chunk, taken } = waiting;
        yield chunk;
        // Not before: a reader that leaves at the yield is seen below.
        waiting = undefined;
        taken();
      } else if (isDone) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    if (failure !== undefined) {
      throw failure.error;
    }
  } finally {
    isClosed = true;
    waiting?.refused(readerIsGone());
    await running;
  }
}

function readerIsGone(): YtError {
  return new YtError("The reader is gone", { code: "Canceled" });
}
