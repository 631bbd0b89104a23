/** Figures of a tablet for attributes (`@tablets/i/statistics`, `@data_weight`, `@chunk_count`, …). */
import { dynamicRowCount, type TabletState } from "./tablet-state.ts";

export interface TabletStatistics {
  readonly chunkCount: number;
  /** Rows in chunks, trimmed but kept ones included. */
  readonly chunkRowCount: number;
  /** Data weight in chunks. */
  readonly chunkDataWeight: number;
  /** Bytes in chunks. */
  readonly chunkByteSize: number;
  readonly dynamicRowCount: number;
  readonly dynamicDataWeight: number;
  readonly dynamicByteSize: number;
  /** Data weight of the chunks that trimming has taken away. */
  readonly trimmedDataWeight: number;
  readonly cumulativeDataWeight: number;
  /** Rows ever put into chunks of the tablet, trimmed ones included. */
  readonly flushedRowCount: number;
  readonly trimmedRowCount: number;
  readonly totalRowCount: number;
}

export function collectStatistics(state: TabletState): TabletStatistics {
  let chunkRowCount = 0;
  let chunkDataWeight = 0;
  let chunkByteSize = 0;
  for (const { chunk } of state.sealed) {
    chunkRowCount += chunk.rowCount;
    chunkDataWeight += chunk.dataWeight;
    chunkByteSize += chunk.byteSize;
  }
  return {
    chunkCount: state.sealed.length,
    chunkRowCount,
    chunkDataWeight,
    chunkByteSize,
    dynamicRowCount: dynamicRowCount(state),
    dynamicDataWeight: state.cumulativeDataWeight - state.dynamic.baseCumulativeWeight,
    dynamicByteSize: state.dynamic.byteSize,
    trimmedDataWeight: state.trimmedDataWeight,
    cumulativeDataWeight: state.cumulativeDataWeight,
    flushedRowCount: state.dynamic.firstRowIndex,
    trimmedRowCount: state.trimmedRowCount,
    totalRowCount: state.totalRowCount,
  };
}
