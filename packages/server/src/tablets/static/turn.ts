/** Gives other requests a turn between two pieces of work. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
