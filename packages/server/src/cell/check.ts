/**
 * Walks all records of a store and verifies their checksums. `qyt check` runs it in a process of its own,
 * as damage in LMDB's own pages can kill the process that reads them.
 */
import { toYtError, turn, type YtError } from "@qyt/base";
import { keyAfter } from "./keyspace.ts";
import { isRecordIntact } from "./records.ts";
import type { Store } from "./store.ts";

export interface CheckReport {
  readonly recordCount: number;
  readonly byteCount: number;
  /** Records by the first byte of their key. */
  readonly recordCounts: ReadonlyMap<number, number>;
  /** Keys of damaged records, at most `maxDamagedKeys` of them. */
  readonly damagedKeys: readonly Buffer[];
  readonly damagedCount: number;
  /** Set when the walk could not be finished. */
  readonly error?: YtError;
}

export interface CheckOptions {
  /** Default: 100. */
  readonly maxDamagedKeys?: number;
  /** Called after each slice; the check waits for it. */
  onProgress?(recordCount: number): void | Promise<void>;
}

const sliceRecords = 1000;
const end = Buffer.of(0xff);

/** Never throws for damage: it is in the report. Yields to the event loop between slices. */
export async function checkStore(store: Store, options: CheckOptions = {}): Promise<CheckReport> {
  const maxDamagedKeys = options.maxDamagedKeys ?? 100;
  const recordCounts = new Map<number, number>();
  const damagedKeys: Buffer[] = [];
  let recordCount = 0;
  let byteCount = 0;
  let damagedCount = 0;
  let error: YtError | undefined;
  let from: Buffer = Buffer.of(0);
  try {
    for (let isDone = false; !isDone; ) {
      let inSlice = 0;
      for (const { key, value } of store.range(from, end, { limit: sliceRecords })) {
        ++inSlice;
        byteCount += key.length + value.length;
        const keyspace = key[0] ?? 0;
        recordCounts.set(keyspace, (recordCounts.get(keyspace) ?? 0) + 1);
        if (!isRecordIntact(key, value)) {
          ++damagedCount;
          if (damagedKeys.length < maxDamagedKeys) {
            damagedKeys.push(key);
          }
        }
        from = keyAfter(key);
      }
      recordCount += inSlice;
      isDone = inSlice < sliceRecords;
      await (options.onProgress?.(recordCount) ?? turn());
    }
  } catch (thrown) {
    error = toYtError(thrown);
  }
  const report = { recordCount, byteCount, recordCounts, damagedKeys, damagedCount };
  return error === undefined ? report : { ...report, error };
}
