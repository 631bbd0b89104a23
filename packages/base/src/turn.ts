/** Long work goes in pieces; between two of them whatever else waits has its turn. */

/** Resolves after other callbacks that are due, requests of others among them, have run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
