/** Waiting for what comes about by itself, in real time. */

/** Runs assertions again until they hold; their last failure is thrown after `limitMs`. */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = 15_000): Promise<T> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    try {
      return await check();
    } catch (thrown) {
      if (performance.now() > endMs) {
        throw thrown;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
