// The rows of all benchmarks: 100 bytes of YSON text each, in the queue of the Queue API documentation
// (`data` and the two system columns), every one different from every other. A body is
// laid out once per client; before each request those digits in it that change are written anew, which
// costs the load generator some 5 ns a row.

/** Every row begins with a number of so many digits. */
export const idDigits = 12;
const idPlaceholder = "1".padEnd(idDigits, "0");

/** Fields of the queue's schema, in YSON. System columns as in the documentation's listing. */
export const queueSchema =
  "<strict=%true>[{name=data;type=string};" +
  '{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';

const fixedText = `{data="${idPlaceholder}`;
const tail = '"};';
const filler = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".repeat(2);
export const rowBytes = 100;
const rowText = `${fixedText}${filler.slice(0, rowBytes - fixedText.length - tail.length)}${tail}`;
const digitOffsets = [];
for (let at = rowText.indexOf(idPlaceholder); at >= 0; at = rowText.indexOf(idPlaceholder, at + 1)) {
  digitOffsets.push(at);
}

/** Where the number begins in the text of a row. */
export const idOffset = rowText.indexOf(idPlaceholder);

const rowDigits = 3;
const requestDigits = idDigits - 1 - rowDigits;
export const maxBodyRows = 10 ** rowDigits;
/** Requests that one body may be used for; bodies take ranges of request numbers, so no id comes twice. */
const requestsPerBody = 10 ** 6;
let nextRequest = 0;

/** A request body of `rowCount` rows in YSON text, with new rows each time it is asked for them. */
export class RowBody {
  #rowCount;
  #bytes;
  #request;
  #digits = Buffer.alloc(requestDigits, "0");

  constructor(rowCount) {
    this.#rowCount = rowCount;
    this.#bytes = Buffer.from(rowText.repeat(rowCount), "latin1");
    for (let row = 0; row < rowCount; ++row) {
      this.#write(row, 1 + requestDigits, String(row).padStart(rowDigits, "0"));
    }
    this.#request = nextRequest;
    nextRequest += requestsPerBody;
  }

  /** The same buffer every time, with new rows. Call it only when the last request is answered. */
  next() {
    const digits = String(this.#request++).padStart(requestDigits, "0");
    let first = 0;
    while (first < requestDigits - 1 && digits.charCodeAt(first) === this.#digits[first]) {
      ++first;
    }
    this.#digits.write(digits, "latin1");
    const bytes = this.#bytes;
    for (let digit = first; digit < requestDigits; ++digit) {
      const code = this.#digits[digit];
      for (const offset of digitOffsets) {
        let at = offset + 1 + digit;
        for (let row = 0; row < this.#rowCount; ++row, at += rowBytes) {
          bytes[at] = code;
        }
      }
    }
    return bytes;
  }

  #write(row, digit, text) {
    for (const offset of digitOffsets) {
      this.#bytes.write(text, row * rowBytes + offset + digit, "latin1");
    }
  }
}

/**
 * Walks through a whole answer in binary YSON, row by row, and counts the rows. Chunks may be cut anywhere.
 * @throws Error when it is no list of maps of scalars
 */
export function countBinaryRows(bytes) {
  const { length } = bytes;
  let position = 0;
  let rows = 0;
  while (position < length) {
    if (bytes[position++] !== 0x7b) {
      throw new Error(`byte ${position - 1} of the answer begins no row`);
    }
    while (bytes[position] !== 0x7d) {
      position = skipScalar(bytes, position);
      if (bytes[position++] !== 0x3d) {
        throw new Error(`byte ${position - 1} of the answer is no "="`);
      }
      position = skipScalar(bytes, position);
      if (bytes[position] === 0x3b) {
        ++position;
      }
      if (position >= length) {
        throw new Error("the answer ends inside a row");
      }
    }
    ++position;
    if (bytes[position] === 0x3b) {
      ++position;
    }
    ++rows;
  }
  return rows;
}

function skipScalar(bytes, position) {
  switch (bytes[position++]) {
    case 0x01: {
      let length = 0;
      let shift = 1;
      let byte;
      do {
        byte = bytes[position++];
        length += (byte & 0x7f) * shift;
        shift *= 128;
      } while (byte >= 0x80);
      return position + length / 2;
    }
    case 0x02:
    case 0x06:
      while (bytes[position++] >= 0x80) {}
      return position;
    case 0x03:
      return position + 8;
    case 0x04:
    case 0x05:
    case 0x23:
      return position;
    default:
      throw new Error(`byte ${position - 1} of the answer is no scalar`);
  }
}

/** Rows of an answer in JSON lines. */
export function countJsonRows(bytes) {
  let rows = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    ++rows;
  }
  return rows;
}
