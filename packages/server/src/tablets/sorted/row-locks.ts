/**
 * Locks of rows: what is in flight, and what reading transactions have left behind. In memory only: no
 * tablet transaction survives a restart, and committed writes are found in the store.
 *
 * A row's columns fall into lock groups, here bits of a mask: bit 0 is the main group.
 * Specified in: yt/yt/client/api/client_common.h, documentation "Dynamic tables: transactions".
 */
import type { TableSchema } from "@qyt/schema";

export type LockMode = "exclusive" | "shared_write" | "shared_strong" | "shared_weak";

export const mainGroup = 1;

/** Lock groups of a schema. */
export class LockGroups {
  readonly names: readonly string[];
  readonly all: number;
  readonly #byColumn: readonly number[];

  constructor(schema: TableSchema) {
    const names = [...new Set(schema.columns.flatMap(({ lock }) => (lock === undefined ? [] : [lock])))];
    this.names = names;
    this.all = names.reduce((mask, _, index) => mask | (2 << index), mainGroup) >>> 0;
    this.#byColumn = schema.columns.map(({ lock }) =>
      lock === undefined ? mainGroup : 2 << names.indexOf(lock),
    );
  }

  /** The bit of a column by its position in the schema. */
  ofColumn(index: number): number {
    return this.#byColumn[index] ?? mainGroup;
  }

  /** The bit of a named group; 0 when there is none. */
  ofName(name: string): number {
    const index = this.names.indexOf(name);
    return index < 0 ? 0 : 2 << index;
  }

  nameOf(mask: number): string {
    const index = this.names.findIndex((_, position) => (mask & (2 << position)) !== 0);
    return (mask & mainGroup) !== 0 || index < 0 ? "<primary>" : (this.names[index] ?? "<primary>");
  }
}

/** A commit that claims rows. */
export interface ClaimOwner {
  readonly transactionId: string;
  /** Commit timestamp. */
  readonly timestamp: bigint;
  /** The commit came to nothing: its claims count no more, and go when there is time. */
  hasFailed: boolean;
}

/** A claim on some groups of a row by a commit. */
export interface RowClaim {
  readonly owner: ClaimOwner;
  readonly mask: number;
  readonly mode: LockMode;
}

export interface RowConflict {
  readonly winner: ClaimOwner;
  readonly reason: "write" | "read" | "shared write";
  /** Groups that both want. */
  readonly mask: number;
}

export class RowLocks {
  /** Writes and locks that are prepared and not durable yet, by key. */
  readonly #inFlight: Claims = new Map();
  /** Durable strong read locks and exclusive locks without a write, by key. */
  readonly #marks: Claims = new Map();

  /** The first claim that a transaction started at `startTimestamp` cannot go past. */
  findConflict(key: string, mask: number, mode: LockMode, startTimestamp: bigint): RowConflict | undefined {
    return (
      findIn(this.#inFlight.get(key), mask, mode, startTimestamp) ??
      findIn(this.#marks.get(key), mask, mode, startTimestamp)
    );
  }

  claim(key: string, claim: RowClaim): void {
    add(this.#inFlight, key, claim);
  }

  /** The claim is durable: a write is in the store now, a strong lock stays as a mark. */
  settle(key: string, claim: RowClaim, leavesMark: boolean): void {
    this.release(key, claim);
    if (leavesMark) {
      add(this.#marks, key, claim);
    }
  }

  release(key: string, claim: RowClaim): void {
    const claims = this.#inFlight.get(key);
    if (claims === claim) {
      this.#inFlight.delete(key);
    } else if (Array.isArray(claims)) {
      keepOnly(this.#inFlight, key, claims, (other) => other !== claim);
    }
  }

  /** Forgets marks that no live transaction can run into any more. */
  forgetBefore(horizon: bigint): void {
    for (const [key, marks] of this.#marks) {
      keepOnly(this.#marks, key, listOf(marks), ({ owner }) => owner.timestamp > horizon);
    }
  }

  /** Rows with a claim in flight or a mark; for tests and figures. */
  get size(): number {
    return this.#inFlight.size + this.#marks.size;
  }
}

/** By key. Nearly all rows have one claim at a time, which stands for itself. */
type Claims = Map<string, RowClaim | RowClaim[]>;

function listOf(claims: RowClaim | RowClaim[] | undefined): readonly RowClaim[] {
  return claims === undefined ? [] : Array.isArray(claims) ? claims : [claims];
}

function add(map: Claims, key: string, claim: RowClaim): void {
  const known = map.get(key);
  map.set(key, known === undefined ? claim : [...listOf(known), claim]);
}

function keepOnly(
  map: Claims,
  key: string,
  claims: readonly RowClaim[],
  isKept: (claim: RowClaim) => boolean,
): void {
  const rest = claims.filter(isKept);
  if (rest.length === 0) {
    map.delete(key);
  } else if (rest.length < claims.length) {
    map.set(key, rest);
  }
}

function findIn(
  claims: RowClaim | RowClaim[] | undefined,
  mask: number,
  mode: LockMode,
  startTimestamp: bigint,
): RowConflict | undefined {
  for (const claim of listOf(claims)) {
    const { owner } = claim;
    if (owner.timestamp > startTimestamp && !owner.hasFailed && (claim.mask & mask) !== 0) {
      const reason = conflictReason(mode, claim.mode);
      if (reason !== undefined) {
        return { winner: owner, reason, mask: claim.mask & mask };
      }
    }
  }
  return undefined;
}

/** Why a lock of mode `wanted` cannot follow a commit that held `held`; `undefined` when it can. */
export function conflictReason(wanted: LockMode, held: LockMode): RowConflict["reason"] | undefined {
  const wantsWrite = wanted === "exclusive" || wanted === "shared_write";
  switch (held) {
    case "exclusive":
      return "write";
    case "shared_write":
      return wanted === "shared_write" ? undefined : "shared write";
    case "shared_strong":
      return wantsWrite ? "read" : undefined;
    case "shared_weak":
      return undefined;
  }
}
