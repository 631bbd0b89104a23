/** What a commit wants of the rows of one sorted table. */
import type { LockMode } from "./row-locks.ts";
import type { FigureChanges } from "./tablet-figures.ts";
import type { VersionInput } from "./version-record.ts";

/** What one commit does to one row. */
export interface RowWrite {
  readonly key: Buffer;
  /** The key as latin1 text. */
  readonly name: string;
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
  /** What the commit adds to its tablets is counted here. */
  readonly figures?: FigureChanges;
  /** For error texts. */
  readonly tabletIdOf?: (key: Buffer) => string;
}
