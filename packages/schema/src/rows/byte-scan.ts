/** Looks for the bytes that need care in quoted strings, four at a time. */

/**
 * Up to where, at least, all bytes of `[start, end)` are printable ASCII other than quote and backslash. The next four
 * bytes have one that is not, or there are fewer than four.
 */
export function plainRunEnd(view: DataView, start: number, end: number): number {
  let at = start;
  while (at + 4 <= end) {
    const word = view.getInt32(at, true);
    // The high bit of a byte says: quote, backslash, below 0x20, above 0x7e.
    const found =
      ((word ^ 0x2222_2222) - 0x0101_0101) |
      ((word ^ 0x5c5c_5c5c) - 0x0101_0101) |
      (word - 0x2020_2020) |
      (word + 0x0101_0101) |
      word;
    if ((found & 0x8080_8080) !== 0) {
      break;
    }
    at += 4;
  }
  return at;
}
