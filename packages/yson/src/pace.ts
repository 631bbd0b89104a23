/** How much of a document is read or written before work in slices may be interrupted. */

/** In bytes. */
export const sliceBytes: number = 16 * 1024;

/** Where the work stopped last. */
export class Pace {
  #position = 0;

  /** Whether it is time to stop. @param position how far the work is, in bytes; never less than before */
  isDue(position: number): boolean {
    if (position - this.#position < sliceBytes) {
      return false;
    }
    this.#position = position;
    return true;
  }
}
