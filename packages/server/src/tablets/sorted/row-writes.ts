/**
 * The writes of one commit to the rows of one sorted table. First all are checked, then all are put: a
 * large commit does both in slices, while no other commit runs.
 */
import { Uint64, type YsonValue, YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import { bytesToString } from "@qyt/yson";
import type { WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import { type ClaimOwner, conflictReason, type LockMode, mainGroup, type RowClaim } from "./row-locks.ts";
import type { SortedRows } from "./sorted-rows.ts";
import { putVersion, type StoredVersion } from "./stored-versions.ts";
import { encodeVersion, type RowVersion, type VersionInput } from "./version-record.ts";

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
  /** For error texts. */
  readonly tabletIdOf?: (key: Buffer) => string;
}

/** The table as a commit sees it. */
export interface WrittenRows {
  readonly rows: SortedRows;
  readonly prefix: Buffer;
  readonly path: () => string;
  noteWrite(timestamp: bigint): void;
  /** Versions of a row above a timestamp, newest first. */
  versionsAbove(key: Buffer, timestamp: bigint): Iterable<StoredVersion>;
}

interface Claimed {
  readonly key: string;
  readonly claim: RowClaim;
  readonly leavesMark: boolean;
}

/** Claims are let go of so many at a time; they say nothing new once the commit has ended. */
const claimsPerTurn = 2_000;

export class WriteSession implements Prepared {
  readonly #table: WrittenRows;
  readonly #stamp: WriteStamp;
  readonly #owner: { -readonly [Key in keyof ClaimOwner]: ClaimOwner[Key] };
  readonly #claimed: Claimed[] = [];

  constructor(table: WrittenRows, stamp: WriteStamp) {
    this.#table = table;
    this.#stamp = stamp;
    this.#owner = {
      transactionId: stamp.transactionId,
      timestamp: stamp.commitTimestamp,
      hasFailed: false,
    };
  }

  /** @throws YtError 1700 when somebody committed a row, or is about to, since the start timestamp */
  check(writes: readonly RowWrite[]): void {
    if (this.#stamp.checkConflicts) {
      for (const write of writes) {
        this.#checkInFlight(write);
        this.#checkCommitted(write);
      }
    }
  }

  /** Puts the versions into the batch and claims the rows. */
  put(batch: WriteBatch, writes: readonly RowWrite[]): void {
    const { commitTimestamp } = this.#stamp;
    this.#table.noteWrite(commitTimestamp);
    for (const write of writes) {
      const key = write.key.toString("latin1");
      if (write.version !== undefined) {
        putVersion(batch, this.#table.prefix, write.key, commitTimestamp, encodeVersion(write.version));
      }
      for (const { mask, mode } of write.claims) {
        const claim: RowClaim = { owner: this.#owner, mask, mode };
        const isWrite = write.version !== undefined && (mode === "exclusive" || mode === "shared_write");
        this.#table.rows.locks.claim(key, claim);
        this.#claimed.push({ key, claim, leavesMark: !isWrite && mode !== "shared_weak" });
      }
    }
  }

  onDurable(): void {
    this.#letGo(0);
  }

  onFailed(): void {
    this.#owner.hasFailed = true;
    this.#letGo(0);
  }

  /** In turns: until then a durable claim says what the store says too, and a failed one says nothing. */
  #letGo(from: number): void {
    const { locks } = this.#table.rows;
    const to = Math.min(from + claimsPerTurn, this.#claimed.length);
    for (const { key, claim, leavesMark } of this.#claimed.slice(from, to)) {
      if (this.#owner.hasFailed) {
        locks.release(key, claim);
      } else {
        locks.settle(key, claim, leavesMark);
      }
    }
    if (to < this.#claimed.length) {
      setImmediate(() => this.#letGo(to));
    } else {
      this.#claimed.length = 0;
    }
  }

  #checkInFlight(write: RowWrite): void {
    const key = write.key.toString("latin1");
    for (const { mask, mode } of write.claims) {
      const conflict = this.#table.rows.locks.findConflict(key, mask, mode, this.#stamp.startTimestamp);
      if (conflict !== undefined) {
        throw this.#conflict(write.key, conflict.mask, conflict.reason, conflict.winner);
      }
    }
  }

  #checkCommitted(write: RowWrite): void {
    const { startTimestamp, commitTimestamp } = this.#stamp;
    if (startTimestamp + 1n >= commitTimestamp) {
      return;
    }
    for (const { version } of this.#table.versionsAbove(write.key, startTimestamp)) {
      const versionMask = this.#maskOf(version);
      const held: LockMode = version.sharedWrite ? "shared_write" : "exclusive";
      for (const { mask, mode } of write.claims) {
        const common = mask & versionMask;
        const reason = common === 0 ? undefined : conflictReason(mode, held);
        if (reason !== undefined) {
          throw this.#conflict(write.key, common, reason, { timestamp: version.timestamp });
        }
      }
    }
  }

  #maskOf(version: RowVersion): number {
    const { lockGroups } = this.#table.rows;
    if (version.kind !== "update" || version.cells.length === 0) {
      return lockGroups.all;
    }
    let mask = 0;
    for (const { columnId } of version.cells) {
      mask |= lockGroups.ofColumn(this.#table.rows.positionOfColumn(columnId));
    }
    return mask === 0 ? mainGroup : mask;
  }

  #conflict(
    key: Buffer,
    mask: number,
    reason: string,
    winner: { readonly timestamp: bigint; readonly transactionId?: string },
  ): YtError {
    const { rows, path } = this.#table;
    return new YtError(`Row lock conflict due to concurrent ${reason}`, {
      code: "TransactionLockConflict",
      attributes: {
        loser_transaction_id: this.#stamp.transactionId,
        winner_transaction_id: winner.transactionId,
        winner_transaction_commit_timestamp: winner.timestamp,
        tablet_id: this.#stamp.tabletIdOf?.(key),
        table_path: path(),
        key: rows.decodeKey(key).map((value, index) => keyValueToYson(value, rows.keyTypes[index])),
        lock: rows.lockGroups.nameOf(mask),
      },
    });
  }
}

function keyValueToYson(value: RowValue, type: PhysicalType | undefined): YsonValue {
  if (value instanceof Uint8Array) {
    return bytesToString(value);
  }
  if (typeof value === "bigint" && type === "uint64") {
    return new Uint64(value);
  }
  return typeof value === "object" ? null : value;
}
