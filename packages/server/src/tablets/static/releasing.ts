/** Streams that hold something. */

/** The same stream, which also lets go of what it holds when nobody ever asks for it. */
export function releasing(
  rows: AsyncGenerator<Buffer, void, void>,
  signal: AbortSignal,
  release: () => void,
): AsyncIterable<Buffer> {
  let isReleased = false;
  const releaseOnce = (): void => {
    if (!isReleased) {
      isReleased = true;
      signal.removeEventListener("abort", releaseOnce);
      // Ends where it stands, and lets go of what its loops hold.
      void rows.return().catch(() => undefined);
      release();
    }
  };
  if (signal.aborted) {
    releaseOnce();
  } else {
    signal.addEventListener("abort", releaseOnce, { once: true });
  }
  const iterator: AsyncIterator<Buffer> = {
    async next() {
      try {
        if (isReleased) {
          return { done: true, value: undefined };
        }
        const result = await rows.next();
        if (result.done === true) {
          releaseOnce();
        }
        return result;
      } catch (error) {
        releaseOnce();
        throw error;
      }
    },
    async return() {
      releaseOnce();
      await rows.return();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
