/**
 * That rows come in the order of their keys.
 * Specified in: yt/yt/ytlib/table_client/schemaless_chunk_writer.cpp (ValidateSortOrder, ValidateUniqueKeys).
 */
import { Uint64, type YsonValue, YtError } from "@qyt/base";
import type { EncodedRows, TableSchema } from "@qyt/schema";
import { bytesToString } from "@qyt/yson";
import type { RowFormat } from "../chunks/index.ts";
import { KeyColumns, type KeyPart, type RowKey, typeRank } from "./row-keys.ts";

export const defaultMaxKeyWeight = 16 * 1024;

export class RowOrder {
  readonly #keys: KeyColumns;
  readonly #format: RowFormat;
  readonly #areKeysUnique: boolean;
  readonly #maxKeyWeight: number;
  #rowIndex = 0;
  #first: RowKey | undefined;
  #last: RowKey | undefined;

  /** @param maxKeyWeight in bytes of data weight */
  constructor(schema: TableSchema, format: RowFormat, maxKeyWeight = defaultMaxKeyWeight) {
    this.#keys = new KeyColumns(schema);
    this.#format = format;
    this.#areKeysUnique = schema.uniqueKeys;
    this.#maxKeyWeight = maxKeyWeight;
  }

  get first(): RowKey | undefined {
    return this.#first;
  }

  /** @throws YtError 301 for a row that belongs before the last one, 306 for a repeated key */
  check(rows: EncodedRows): void {
    for (let row = 0; row < rows.rowCount; row++) {
      const key = this.#keys.read(this.#format, rows.bytes, rows.rowStart(row), rows.rowEnd(row));
      this.#checkWeight(key);
      if (this.#last === undefined) {
        this.#first = key.map(detached);
      } else {
        this.checkPair(this.#last, key, this.#rowIndex);
      }
      this.#last = key;
      this.#rowIndex++;
    }
    // The key shares the memory of these rows, which should not be kept for it.
    this.#last = this.#last?.map(detached);
  }

  /** @throws YtError 301, 306 */
  checkPair(before: RowKey, after: RowKey, rowIndex: number): void {
    const order = this.#keys.compare(before, after);
    if (order > 0) {
      throw new YtError(`Sort order violation: ${keyText(before)} > ${keyText(after)}`, {
        code: "SortOrderViolation",
        attributes: { row_index: BigInt(rowIndex), key_columns: [...this.#keys.names] },
      });
    }
    if (order === 0 && this.#areKeysUnique) {
      throw new YtError(`Duplicate key ${keyText(after)}`, {
        code: "UniqueKeyViolation",
        attributes: { row_index: BigInt(rowIndex), key: keyToYson(after) },
      });
    }
  }

  #checkWeight(key: RowKey): void {
    let weight = 1;
    for (const { value } of key) {
      weight +=
        value instanceof Uint8Array ? value.length : value === null ? 0 : typeof value === "boolean" ? 1 : 8;
    }
    if (weight > this.#maxKeyWeight) {
      throw new YtError(`Key weight is too large: ${weight}, limit ${this.#maxKeyWeight}`, {
        code: "RowWeightLimitExceeded",
        attributes: { row_index: BigInt(this.#rowIndex) },
      });
    }
  }
}

function detached(part: KeyPart): KeyPart {
  return part.value instanceof Uint8Array ? { ...part, value: Buffer.from(part.value) } : part;
}

function keyToYson(key: RowKey): YsonValue[] {
  return key.map(({ rank, value }): YsonValue => {
    if (typeof value === "bigint") {
      return rank === typeRank.uint64 ? new Uint64(value) : value;
    }
    return value instanceof Uint8Array ? bytesToString(value) : typeof value === "object" ? null : value;
  });
}

/** A key for people, cut where it is long. */
function keyText(key: RowKey): string {
  const parts = keyToYson(key).map((value) =>
    typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : value === null ? "#" : String(value),
  );
  return `[${parts.join(", ")}]`;
}
