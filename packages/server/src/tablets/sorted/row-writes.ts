/**
 * The writes of one commit to the rows of one sorted table. First all are checked, then all are put: a
 * large commit does both in slices, while no other commit runs.
 */
import { defined, Uint64, type YsonValue, YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import { bytesToString } from "@qyt/yson";
import type { WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import { versionStamp } from "./row-keys.ts";
import {
  type ClaimOwner,
  conflictReason,
  type LockGroups,
  type LockMode,
  mainGroup,
  type RowClaim,
  type RowLocks,
} from "./row-locks.ts";
import type { RowWrite, WriteStamp } from "./row-write-types.ts";
import { putVersion, type StoredVersion } from "./stored-versions.ts";
import { type RowVersion, versionWeight } from "./version-record.ts";

/** The table as a commit sees it. */
export interface WrittenRows {
  readonly locks: RowLocks;
  readonly lockGroups: LockGroups;
  readonly keyTypes: readonly PhysicalType[];
  readonly prefix: Buffer;
  readonly path: () => string;
  decodeKey(key: Buffer): RowValue[];
  /** Position in the schema of a stored cell's column; −1 when the column is gone. */
  positionOfColumn(columnId: number): number;
  noteWrites(timestamp: bigint, writes: readonly RowWrite[]): void;
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
  readonly #suffix: Buffer;

  constructor(table: WrittenRows, stamp: WriteStamp) {
    this.#table = table;
    this.#stamp = stamp;
    this.#suffix = versionStamp(stamp.commitTimestamp);
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
    const { commitTimestamp, figures } = this.#stamp;
    this.#table.noteWrites(commitTimestamp, writes);
    for (const write of writes) {
      const key = write.name;
      if (write.version !== undefined) {
        const byteSize = putVersion(batch, this.#table.prefix, write.key, this.#suffix, write.version);
        figures?.add(write.key, 1, versionWeight(write.key, write.version.cells), byteSize);
      }
      for (const { mask, mode } of write.claims) {
        const claim: RowClaim = { owner: this.#owner, mask, mode };
        this.#table.locks.claim(key, claim);
        this.#claimed.push({ key, claim, leavesMark: !this.#isToldByStore(claim, write.version) });
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
    const { locks } = this.#table;
    const to = Math.min(from + claimsPerTurn, this.#claimed.length);
    for (let index = from; index < to; index++) {
      const { key, claim, leavesMark } = defined(this.#claimed[index], "claim");
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
    for (const { mask, mode } of write.claims) {
      const conflict = this.#table.locks.findConflict(write.name, mask, mode, this.#stamp.startTimestamp);
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

  /** Whether who finds the stored version needs not know of the claim. */
  #isToldByStore({ mask, mode }: RowClaim, version: RowWrite["version"]): boolean {
    switch (mode) {
      case "shared_weak":
        return true;
      case "shared_strong":
        return false;
      case "exclusive":
      case "shared_write":
        return (
          version !== undefined &&
          !(mode === "exclusive" && version.sharedWrite) &&
          (mask & ~this.#maskOf(version)) === 0
        );
    }
  }

  /** The lock groups that a version says to have been written. */
  #maskOf(version: Pick<RowVersion, "kind" | "cells">): number {
    const { lockGroups } = this.#table;
    if (version.kind !== "update") {
      return lockGroups.all;
    }
    let mask = 0;
    for (const { columnId } of version.cells) {
      mask |= lockGroups.ofColumn(this.#table.positionOfColumn(columnId));
    }
    return mask === 0 ? mainGroup : mask;
  }

  #conflict(
    key: Buffer,
    mask: number,
    reason: string,
    winner: { readonly timestamp: bigint; readonly transactionId?: string },
  ): YtError {
    const { lockGroups, keyTypes, path } = this.#table;
    return new YtError(`Row lock conflict due to concurrent ${reason}`, {
      code: "TransactionLockConflict",
      attributes: {
        loser_transaction_id: this.#stamp.transactionId,
        winner_transaction_id: winner.transactionId,
        winner_transaction_commit_timestamp: winner.timestamp,
        tablet_id: this.#stamp.tabletIdOf?.(key),
        table_path: path(),
        key: this.#table.decodeKey(key).map((value, index) => keyValueToYson(value, keyTypes[index])),
        lock: lockGroups.nameOf(mask),
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
