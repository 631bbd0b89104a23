/** What a byte may be in YSON text, as bits: one look instead of several comparisons. */

export const spaceClass = 1;
/** Begins an unquoted string. */
export const wordStart = 2;
/** Continues an unquoted string. */
export const wordPart = 4;
export const digitClass = 8;
/** May stand in a number: digits, signs, point, exponent. */
export const numberPart = 16;

export const classes = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const letter = (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122) || byte === 95;
  const digit = byte >= 48 && byte <= 57;
  classes[byte] =
    ((byte >= 9 && byte <= 13) || byte === 32 ? spaceClass : 0) |
    (letter ? wordStart | wordPart : 0) |
    (digit ? wordPart | digitClass | numberPart : 0) |
    (byte === 46 || byte === 37 || byte === 45 ? wordPart : 0) |
    (byte === 43 || byte === 45 || byte === 46 || byte === 69 || byte === 101 ? numberPart : 0);
}
