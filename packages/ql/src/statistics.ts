/**
 * What a query has read and written.
 *
 * Specified in: yt/yt/client/query_client/query_statistics.h.
 */
import { mapOf, type YsonMap } from "@qyt/base";

export interface QueryStatistics {
  rowsRead: number;
  /** Bytes. */
  dataWeightRead: number;
  rowsWritten: number;
  groupedRowCount: number;
  /** Whether rows were left unread because of `inputRowLimit`. */
  incompleteInput: boolean;
  /** Whether results were left out because of `outputRowLimit`. */
  incompleteOutput: boolean;
}

export function emptyStatistics(): QueryStatistics {
  return {
    rowsRead: 0,
    dataWeightRead: 0,
    rowsWritten: 0,
    groupedRowCount: 0,
    incompleteInput: false,
    incompleteOutput: false,
  };
}

/**
 * The form of the response parameters of `select_rows`.
 *
 * @param executeTimeMs how long the query ran, measured by the caller
 */
export function statisticsToYson(statistics: QueryStatistics, executeTimeMs = 0): YsonMap {
  const time = BigInt(Math.round(executeTimeMs));
  return mapOf({
    rows_read: BigInt(statistics.rowsRead),
    data_weight_read: BigInt(statistics.dataWeightRead),
    rows_written: BigInt(statistics.rowsWritten),
    sync_time: 0n,
    async_time: 0n,
    execute_time: time,
    read_time: 0n,
    write_time: 0n,
    codegen_time: 0n,
    wait_on_ready_event_time: 0n,
    memory_usage: 0n,
    grouped_row_count: BigInt(statistics.groupedRowCount),
    incomplete_input: statistics.incompleteInput,
    incomplete_output: statistics.incompleteOutput,
    inner_statistics: [],
  });
}
