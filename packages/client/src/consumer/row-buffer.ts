/** Rows of one partition that were read ahead, and where they stand in it. */

export type Row = Readonly<Record<string, unknown>>;

export interface TakenRows {
  readonly rows: readonly Row[];
  /** Number of the first row that was not handed out before. Lies below the first row when rows are trimmed. */
  readonly offset: bigint;
  /** Number of the row after the last one. */
  readonly nextOffset: bigint;
  readonly byteCount: number;
}

const bytesOfNumber = 8;

export class RowBuffer {
  #rows: Row[] = [];
  #bytes: number[] = [];
  #byteCount = 0;
  #position: bigint;
  #end: bigint;

  /** @param position number of the first row wanted */
  constructor(position: bigint) {
    this.#position = position;
    this.#end = position;
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** Where the next rows are to be read from. */
  get end(): bigint {
    return this.#end;
  }

  /** Where the next rows are handed out from. */
  get position(): bigint {
    return this.#position;
  }

  get firstIndex(): bigint | undefined {
    return this.#rows[0] === undefined ? undefined : indexOf(this.#rows[0]);
  }

  /** Adds what was read at `end`. */
  push(rows: readonly Row[]): void {
    for (const row of rows) {
      const bytes = sizeOf(row);
      this.#rows.push(row);
      this.#bytes.push(bytes);
      this.#byteCount += bytes;
    }
    const last = rows.at(-1);
    if (last !== undefined) {
      this.#end = indexOf(last) + 1n;
    }
  }

  /** The next rows within the limits, at least one if there is one. */
  take(maxRows: number, maxBytes: number): TakenRows {
    let count = 0;
    let byteCount = 0;
    while (count < Math.min(maxRows, this.#rows.length)) {
      const bytes = this.#bytes[count] ?? 0;
      if (count > 0 && byteCount + bytes > maxBytes) {
        break;
      }
      byteCount += bytes;
      ++count;
    }
    const rows = this.#rows.splice(0, count);
    this.#bytes.splice(0, count);
    this.#byteCount -= byteCount;
    const offset = this.#position;
    const last = rows.at(-1);
    this.#position = last === undefined ? offset : indexOf(last) + 1n;
    return { rows, offset, nextOffset: this.#position, byteCount };
  }

  /** Puts back what was taken last. */
  putBack({ rows, offset }: Pick<TakenRows, "rows" | "offset">): void {
    const bytes = rows.map(sizeOf);
    this.#rows.unshift(...rows);
    this.#bytes.unshift(...bytes);
    this.#byteCount += bytes.reduce((sum, each) => sum + each, 0);
    this.#position = offset;
  }

  /** Forgets all rows and goes on at `position`. */
  reset(position: bigint): void {
    this.#rows = [];
    this.#bytes = [];
    this.#byteCount = 0;
    this.#position = position;
    this.#end = position;
  }
}

export function indexOf(row: Row): bigint {
  const index = row["$row_index"];
  return typeof index === "bigint" ? index : 0n;
}

/** About how much memory the values take. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") {
    return value.length + bytesOfNumber;
  }
  if (typeof value !== "object" || value === null) {
    return bytesOfNumber;
  }
  let bytes = bytesOfNumber;
  for (const key in value) {
    bytes += sizeOf(Reflect.get(value, key));
  }
  return bytes;
}
