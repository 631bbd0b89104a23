/**
 * What a `prepare…` function hands back: its records are in the batch already, and its effect on memory
 * is counted for later checks, but not yet shown to readers.
 *
 * The caller joins the batch to a cell mutation and passes both calls on. A batch that is given up
 * before it was committed must be taken back with `onFailed`, the newest prepared change first.
 */
export interface Prepared {
  /** The batch is on disk: readers may see the change. Called in the order of preparation. */
  onDurable(): void;
  /** The batch will never be on disk: forget the change. Called in the reverse order of preparation. */
  onFailed(): void;
}

/** A change of nothing. */
export const nothingPrepared: Prepared = { onDurable: () => undefined, onFailed: () => undefined };

/** Several changes of one batch, in the order of preparation, as one. */
export function combinePrepared(parts: readonly Prepared[]): Prepared {
  return {
    onDurable: () => {
      for (const part of parts) {
        part.onDurable();
      }
    },
    onFailed: () => {
      for (let i = parts.length - 1; i >= 0; i--) {
        parts[i]?.onFailed();
      }
    },
  };
}
