/**
 * Single rows of one queue: weights and commit timestamps at given indexes. What the queue's own pass and
 * those of its consumers ask for in one turn is one query.
 */
import { toYtError, turn, type YsonMap, type YtError } from "@qyt/base";
import { integerOf } from "../scalars.ts";
import type { ClusterReads } from "./cluster-reads.ts";

export interface QueueRowInfo {
  /** Commit timestamp; `null`: no column, or the row was written before there was one. */
  readonly timestamp: bigint | null;
  /** Running total in bytes, this row included; `null` likewise. */
  readonly cumulativeDataWeight: bigint | null;
}

/** The system columns that the queue's schema has. */
export interface QueueColumns {
  readonly hasTimestampColumn: boolean;
  readonly hasCumulativeDataWeightColumn: boolean;
}

interface Waiting {
  readonly keys: readonly string[];
  readonly resolve: (rows: ReadonlyMap<string, QueueRowInfo>) => void;
  readonly reject: (error: YtError) => void;
}

/** Row keys of one query; more of them go into several. */
const maxKeysPerQuery = 2_000;

/** The key of a row in the answers. */
export function rowKey(partitionIndex: number, rowIndex: bigint): string {
  return `${partitionIndex},${rowIndex}`;
}

export class QueueRows {
  readonly #reads: ClusterReads;
  readonly #path: string;
  #waiting: Waiting[] = [];
  #columns: QueueColumns = { hasTimestampColumn: false, hasCumulativeDataWeightColumn: false };

  constructor(reads: ClusterReads, path: string) {
    this.#reads = reads;
    this.#path = path;
  }

  /**
   * What is known of the rows with these keys; a row that does not exist is left out.
   * @throws YtError when the query fails
   */
  read(keys: readonly string[], columns: QueueColumns): Promise<ReadonlyMap<string, QueueRowInfo>> {
    this.#columns = columns;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, resolve, reject });
      if (this.#waiting.length === 1) {
        void this.#flush();
      }
    });
  }

  async #flush(): Promise<void> {
    await turn();
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const rows = await this.#query([...new Set(waiting.flatMap(({ keys }) => keys))]);
      for (const { resolve } of waiting) {
        resolve(rows);
      }
    } catch (thrown) {
      const error = toYtError(thrown);
      for (const { reject } of waiting) {
        reject(error);
      }
    }
  }

  async #query(keys: readonly string[]): Promise<ReadonlyMap<string, QueueRowInfo>> {
    const { hasTimestampColumn, hasCumulativeDataWeightColumn } = this.#columns;
    const columns = ["[$tablet_index]", "[$row_index]"];
    if (hasTimestampColumn) {
      columns.push("[$timestamp]");
    }
    if (hasCumulativeDataWeightColumn) {
      columns.push("[$cumulative_data_weight]");
    }
    const rows = new Map<string, QueueRowInfo>();
    for (let start = 0; start < keys.length; start += maxKeysPerQuery) {
      const tuples = keys.slice(start, start + maxKeysPerQuery).map((key) => `(${key})`);
      const found = await this.#reads.select(
        `${columns.join(", ")} from [${this.#path}] where ([$tablet_index], [$row_index]) in (${tuples.join(", ")})`,
      );
      for (const row of found) {
        rows.set(`${String(row.get("$tablet_index"))},${String(row.get("$row_index"))}`, toInfo(row));
      }
    }
    return rows;
  }
}

function toInfo(row: YsonMap): QueueRowInfo {
  return {
    timestamp: integerOf(row.get("$timestamp")),
    cumulativeDataWeight: integerOf(row.get("$cumulative_data_weight")),
  };
}
