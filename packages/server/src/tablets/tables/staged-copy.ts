/** Rows of a large sorted table that were copied for a mutation that is to come. */
import type { TableState } from "./table-state.ts";

export interface StagedCopy {
  /** The source as it was. */
  readonly state: TableState;
  readonly rowsId: string;
  /** Whether the mutation has made a table of them. */
  isTaken: boolean;
}

/** By id of the source. */
export type StagedCopies = ReadonlyMap<string, StagedCopy>;
