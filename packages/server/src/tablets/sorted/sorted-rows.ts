/**
 * The rows of one sorted dynamic table: versions by key and commit timestamp.
 *
 * Reads see what is durable. Writes are checked against the store, and against what is in flight, by
 * row and lock group. Specified in: documentation "Sorted dynamic tables", "Dynamic tables: transactions".
 */
import { limits, YtError } from "@qyt/base";
import { decodeKey, encodeKey, type PhysicalType, type RowValue, type TableSchema } from "@qyt/schema";
import { type Cell, keyAfter, type KeyRange, prefixRange, type WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import { aggregate } from "./aggregates.ts";
import { checkRowKey, partOfKey, rowKeyOf, rowsPrefix, timestampOfKey, versionKey, versionRange } from "./row-keys.ts";
import { conflictReason, LockGroups, type LockMode, mainGroup, type RowClaim, RowLocks } from "./row-locks.ts";
import { decodeVersion, encodeVersion, type RowVersion, type VersionInput } from "./version-record.ts";

const maxTimestamp = 0x3fff_ffff_ffff_ff00n;
const partHeaderBytes = 2;
const defaultMaxRecords = 1000;
const maxRecordBytes = limits.maxStoreValueBytes - 4;

export interface SortedRowsOptions {
  readonly cell: Cell;
  /** Object id under which the rows are stored. */
  readonly rowsId: string;
  readonly schema: TableSchema;
  /** Names of all value columns the table ever had; the position is the stored id. */
  readonly valueColumns: readonly string[];
  /** Path in error texts. */
  readonly path: () => string;
}

/** What one commit does to one row. */
export interface RowWrite {
  readonly key: Buffer;
  /** `undefined`: the row is only locked. */
  readonly version: VersionInput | undefined;
  /** Lock groups claimed, with their mode. */
  readonly claims: readonly { readonly mask: number; readonly mode: LockMode }[];
}

export interface WriteStamp {
  readonly transactionId: string;
  readonly startTimestamp: bigint;
  readonly commitTimestamp: bigint;
  /** False for `atomicity=none`: last writer wins. */
  readonly checkConflicts: boolean;
}

export class SortedRows {
  readonly schema: TableSchema;
  readonly keyTypes: readonly PhysicalType[];
  readonly lockGroups: LockGroups;
  readonly #cell: Cell;
  readonly #prefix: Buffer;
  readonly #path: () => string;
  readonly #locks = new RowLocks();
  /** Position in the schema by column id; −1 for a column that is gone. */
  readonly #positionOfColumn: readonly number[];
  readonly #columnOfPosition: readonly number[];
  /** Keys written since the last compaction, as latin1 text. */
  readonly #dirtyKeys = new Set<string>();

  constructor(options: SortedRowsOptions) {
    this.schema = options.schema;
    this.#cell = options.cell;
    this.#path = options.path;
    this.#prefix = rowsPrefix(options.rowsId);
    this.keyTypes = options.schema.columns.slice(0, options.schema.keyColumnCount).map(({ physical }) => physical);
    this.lockGroups = new LockGroups(options.schema);
    this.#positionOfColumn = options.valueColumns.map((name) => options.schema.indexOf(name));
    this.#columnOfPosition = options.schema.columns.map(({ name }) => options.valueColumns.indexOf(name));
  }

  /** All keys of the rows in the store. */
  get range(): KeyRange {
    return prefixRange(this.#prefix);
  }

  columnIdOf(position: number): number {
    return this.#columnOfPosition[position] ?? -1;
  }

  encodeKey(values: readonly RowValue[]): Buffer {
    const key = encodeKey(values, this.keyTypes);
    checkRowKey(key);
    return key;
  }

  decodeKey(key: Buffer): RowValue[] {
    return decodeKey(key, this.keyTypes);
  }

  /** The row as of `timestamp`, all columns in schema order; `undefined` when there is none. */
  lookup(key: Buffer, timestamp: bigint): RowValue[] | undefined {
    const range = versionRange(this.#prefix, key, 0n, clampTimestamp(timestamp));
    return this.#materialize(key, this.#readVersions(range));
  }

  /** Versions up to `timestamp`, newest first. */
  versions(key: Buffer, timestamp: bigint): RowVersion[] {
    return [...this.#readVersions(versionRange(this.#prefix, key, 0n, clampTimestamp(timestamp)))].filter(
      ({ kind }) => kind !== "lock",
    );
  }

  /** Position in the schema of a stored cell's column; −1 when the column is gone. */
  positionOfColumn(columnId: number): number {
    return this.#positionOfColumn[columnId] ?? -1;
  }

  /** Rows with encoded keys in [from, to), in key order, as of `timestamp`: at most `limit`. */
  scan(from: Buffer, to: Buffer | undefined, timestamp: bigint, limit: number): { rows: RowValue[][]; next: Buffer | undefined } {
    const upTo = clampTimestamp(timestamp);
    const rows: RowValue[][] = [];
    const end = to === undefined ? this.range.to : Buffer.concat([this.#prefix, to]);
    let current: Buffer | undefined;
    let versions: RowVersion[] = [];
    const flush = (): void => {
      if (current !== undefined) {
        const row = this.#materialize(current, versions);
        if (row !== undefined) {
          rows.push(row);
        }
      }
    };
    for (const { stored, version } of this.#readStored({ from: Buffer.concat([this.#prefix, from]), to: end })) {
      const key = rowKeyOf(stored);
      if (current === undefined || !key.equals(current)) {
        flush();
        if (rows.length >= limit) {
          return { rows, next: Buffer.from(key) };
        }
        current = Buffer.from(key);
        versions = [];
      }
      if (version.timestamp <= upTo) {
        versions.push(version);
      }
    }
    flush();
    return { rows, next: undefined };
  }

  /** @throws YtError 1700 when somebody committed the row, or is about to, since the start timestamp */
  prepareWrites(batch: WriteBatch, writes: readonly RowWrite[], stamp: WriteStamp): Prepared {
    if (stamp.checkConflicts) {
      for (const write of writes) {
        this.#checkConflicts(write, stamp);
      }
    }
    const claimed: { readonly key: string; readonly claim: RowClaim; readonly leavesMark: boolean }[] = [];
    for (const write of writes) {
      const key = write.key.toString("latin1");
      if (write.version !== undefined) {
        this.#put(batch, write.key, stamp.commitTimestamp, encodeVersion(write.version));
        this.#dirtyKeys.add(key);
      }
      for (const { mask, mode } of write.claims) {
        const claim: RowClaim = {
          transactionId: stamp.transactionId,
          timestamp: stamp.commitTimestamp,
          mask,
          mode,
        };
        this.#locks.claim(key, claim);
        const isWrite = write.version !== undefined && (mode === "exclusive" || mode === "shared_write");
        claimed.push({ key, claim, leavesMark: !isWrite && mode !== "shared_weak" });
      }
    }
    return {
      onDurable: () => {
        for (const { key, claim, leavesMark } of claimed) {
          this.#locks.settle(key, claim, leavesMark);
        }
      },
      onFailed: () => {
        for (const { key, claim } of claimed) {
          this.#locks.release(key, claim);
        }
      },
    };
  }

  /**
   * Removes versions that nobody can ask for any more, of at most `maxKeys` of the keys written since the
   * last call: all below the newest version at or before `horizon`. Newer ones are not even read, so a key
   * that is written all the time costs no more than what is removed of it.
   * @param maxRecords about how many records the batch may remove
   * @returns how many it removes
   */
  compact(batch: WriteBatch, horizon: bigint, maxKeys: number, maxRecords = defaultMaxRecords): number {
    this.#locks.forgetBefore(horizon);
    let removed = 0;
    let seen = 0;
    for (const text of this.#dirtyKeys) {
      if (seen++ >= maxKeys || removed >= maxRecords) {
        break;
      }
      const key = Buffer.from(text, "latin1");
      const { removedCount, isSettled } = this.#compactRow(batch, key, horizon, maxRecords - removed);
      removed += removedCount;
      this.#dirtyKeys.delete(text);
      if (!isSettled) {
        // To the end of the queue: it still has versions that may be asked for.
        this.#dirtyKeys.add(text);
      }
    }
    return removed;
  }

  /** Marks all keys for compaction from `from` on, at most `limit`; gives where to go on. */
  markDirty(from: Buffer, limit: number): Buffer | undefined {
    let count = 0;
    for (const { key } of this.#cell.range(Buffer.concat([this.#prefix, from]), this.range.to)) {
      const rowKey = rowKeyOf(key);
      if (++count > limit) {
        return Buffer.from(rowKey);
      }
      this.#dirtyKeys.add(rowKey.toString("latin1"));
    }
    return undefined;
  }

  #compactRow(
    batch: WriteBatch,
    key: Buffer,
    horizon: bigint,
    maxRecords: number,
  ): { removedCount: number; isSettled: boolean } {
    const old = versionRange(this.#prefix, key, 0n, horizon);
    let removedCount = 0;
    let kept = 0;
    let cover: { readonly keys: readonly Buffer[]; readonly isDelete: boolean } | undefined;
    for (const { version, partKeys } of this.#readStored(old)) {
      kept++;
      if (version.kind === "write" || version.kind === "delete") {
        cover = { keys: partKeys, isDelete: version.kind === "delete" };
        break;
      }
    }
    const last = cover?.keys.at(-1);
    if (last !== undefined) {
      const below = { limit: maxRecords, keysOnly: true };
      for (const { key: stored } of this.#cell.range(keyAfter(last), old.to, below)) {
        batch.remove(stored);
        removedCount++;
      }
    }
    const newer = versionRange(this.#prefix, key, horizon, maxTimestamp);
    for (const _ of this.#cell.range(newer.from, newer.to, { limit: 1, keysOnly: true })) {
      kept++;
    }
    if (removedCount >= maxRecords) {
      return { removedCount, isSettled: false };
    }
    if (kept === 1 && cover?.isDelete === true) {
      for (const stored of cover.keys) {
        batch.remove(stored);
      }
      return { removedCount: removedCount + cover.keys.length, isSettled: true };
    }
    return { removedCount, isSettled: kept <= 1 };
  }

  #checkConflicts(write: RowWrite, stamp: WriteStamp): void {
    const key = write.key.toString("latin1");
    for (const { mask, mode } of write.claims) {
      const conflict = this.#locks.findConflict(key, mask, mode, stamp.startTimestamp);
      if (conflict !== undefined) {
        throw this.#conflict(write.key, mask, conflict.reason, stamp, conflict.winner);
      }
    }
    if (stamp.startTimestamp + 1n >= stamp.commitTimestamp) {
      return;
    }
    const range = versionRange(this.#prefix, write.key, stamp.startTimestamp, maxTimestamp);
    for (const version of this.#readVersions(range)) {
      const versionMask = this.#maskOf(version);
      const held: LockMode = version.sharedWrite ? "shared_write" : "exclusive";
      for (const { mask, mode } of write.claims) {
        const reason = (mask & versionMask) === 0 ? undefined : conflictReason(mode, held);
        if (reason !== undefined) {
          throw this.#conflict(write.key, mask, reason, stamp, { timestamp: version.timestamp });
        }
      }
    }
  }

  #maskOf(version: RowVersion): number {
    if (version.kind !== "update" || version.cells.length === 0) {
      return this.lockGroups.all;
    }
    let mask = 0;
    for (const { columnId } of version.cells) {
      mask |= this.lockGroups.ofColumn(this.positionOfColumn(columnId));
    }
    return mask === 0 ? mainGroup : mask;
  }

  #conflict(
    key: Buffer,
    mask: number,
    reason: string,
    stamp: WriteStamp,
    winner: { readonly timestamp: bigint; readonly transactionId?: string },
  ): YtError {
    return new YtError(`Row lock conflict due to concurrent ${reason}`, {
      code: "TransactionLockConflict",
      attributes: {
        loser_transaction_id: stamp.transactionId,
        winner_transaction_id: winner.transactionId,
        winner_transaction_commit_timestamp: winner.timestamp,
        table_path: this.#path(),
        key: decodeKey(key, this.keyTypes).map(describeKeyValue),
        lock: this.lockGroups.nameOf(mask),
      },
    });
  }

  #put(batch: WriteBatch, key: Buffer, timestamp: bigint, record: Buffer): void {
    if (record.length + partHeaderBytes <= maxRecordBytes) {
      batch.put(versionKey(this.#prefix, key, timestamp, 0), withPartCount(1, record));
      return;
    }
    const step = maxRecordBytes - partHeaderBytes;
    const partCount = Math.ceil(record.length / step);
    for (let part = 0; part < partCount; part++) {
      const piece = record.subarray(part * step, (part + 1) * step);
      batch.put(versionKey(this.#prefix, key, timestamp, part), withPartCount(partCount, piece));
    }
  }

  *#readVersions(range: KeyRange): Generator<RowVersion> {
    for (const { version } of this.#readStored(range)) {
      yield version;
    }
  }

  /** Versions with their stored keys, in store order; parts are joined, a missing one is an error. */
  *#readStored(range: KeyRange): Generator<{ stored: Buffer; version: RowVersion; partKeys: Buffer[] }> {
    let pending: { stored: Buffer; parts: Buffer[]; keys: Buffer[]; count: number } | undefined;
    for (const { key, value } of this.#cell.range(range.from, range.to)) {
      const count = value.readUInt16BE(0);
      const part = partOfKey(key);
      if (part === 0) {
        pending = { stored: Buffer.from(key), parts: [], keys: [], count };
      }
      if (pending === undefined || pending.parts.length !== part || pending.count !== count) {
        throw this.#damaged();
      }
      pending.parts.push(Buffer.from(value.subarray(partHeaderBytes)));
      pending.keys.push(Buffer.from(key));
      if (pending.parts.length === pending.count) {
        const bytes = pending.parts.length === 1 ? (pending.parts[0] ?? Buffer.alloc(0)) : Buffer.concat(pending.parts);
        const { stored, keys } = pending;
        pending = undefined;
        yield { stored, version: decodeVersion(bytes, timestampOfKey(stored)), partKeys: keys };
      }
    }
    if (pending !== undefined) {
      throw this.#damaged();
    }
  }

  #damaged(): YtError {
    return new YtError(`A row of sorted table ${this.#path()} is damaged: parts of a version are missing`, {
      code: "InvalidBlockChecksum",
    });
  }

  #materialize(key: Buffer, versions: Iterable<RowVersion>): RowValue[] | undefined {
    const { columns, keyColumnCount } = this.schema;
    const row: RowValue[] = new Array<RowValue>(columns.length).fill(null);
    const isKnown = new Uint8Array(columns.length);
    const increments = new Map<number, RowValue[]>();
    let exists = false;
    for (const version of versions) {
      if (version.kind === "lock") {
        continue;
      }
      if (version.kind === "delete") {
        break;
      }
      exists = true;
      for (const cell of version.cells) {
        const position = this.positionOfColumn(cell.columnId);
        if (position < keyColumnCount || isKnown[position] === 1) {
          continue;
        }
        if (cell.aggregate) {
          const known = increments.get(position);
          if (known === undefined) {
            increments.set(position, [cell.value]);
          } else {
            known.push(cell.value);
          }
        } else {
          row[position] = cell.value;
          isKnown[position] = 1;
        }
      }
      if (version.kind === "write") {
        break;
      }
    }
    if (!exists) {
      return undefined;
    }
    for (const [position, values] of increments) {
      const column = columns[position];
      let value = row[position] ?? null;
      for (let index = values.length - 1; index >= 0; index--) {
        value = aggregate(column?.aggregate ?? "", value, values[index] ?? null, column?.physical ?? "any");
      }
      row[position] = value;
    }
    const keyValues = decodeKey(key, this.keyTypes);
    for (let position = 0; position < keyColumnCount; position++) {
      row[position] = keyValues[position] ?? null;
    }
    return row;
  }
}

function withPartCount(count: number, piece: Buffer): Buffer {
  const result = Buffer.allocUnsafe(partHeaderBytes + piece.length);
  result.writeUInt16BE(count);
  piece.copy(result, partHeaderBytes);
  return result;
}

function clampTimestamp(timestamp: bigint): bigint {
  return timestamp > maxTimestamp ? maxTimestamp : timestamp;
}

function describeKeyValue(value: RowValue): string | bigint | boolean | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : typeof value === "object" ? null : value;
}
