/** What several commands on dynamic tables ask first. */
import { YtError } from "@qyt/base";
import { isOrdinaryTimestamp, syncLastCommittedTimestamp } from "@qyt/schema";
import type { DynamicTable } from "../tablets/index.ts";
import type { CommandContext } from "./define.ts";

/** @throws YtError 1716 for a queue */
export function requireSorted(table: DynamicTable): void {
  if (!table.sorted) {
    throw new YtError(`Table ${table.path} is not sorted`, {
      code: "TableMustBeSorted",
      attributes: { path: table.path },
    });
  }
}

/** The timestamp to read at: the caller's, the transaction's start, or the newest committed one. */
export function readTimestamp(context: CommandContext, asked: bigint | undefined): bigint {
  const id = context.common.transaction_id;
  const start = id === undefined ? undefined : context.services.transactions.get(id).startTimestamp;
  const timestamp = asked ?? start ?? syncLastCommittedTimestamp;
  if (timestamp >= syncLastCommittedTimestamp) {
    if (timestamp > syncLastCommittedTimestamp + 3n) {
      throw new YtError(`Invalid read timestamp ${timestamp.toString(16)}`, { code: "TimestampOutOfRange" });
    }
    return context.services.transactions.visibleTimestamp;
  }
  if (!isOrdinaryTimestamp(timestamp)) {
    throw new YtError(`Invalid read timestamp ${timestamp.toString(16)}`, { code: "TimestampOutOfRange" });
  }
  return timestamp;
}
