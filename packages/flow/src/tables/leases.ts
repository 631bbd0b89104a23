/**
 * Who may write: the row of the leading controller in `flow_control`, the leases of jobs in `leases`, and the
 * deadline of the whole pipeline, which the leader moves on. All times are those of transactions' starts, so
 * clocks of machines do not matter.
 *
 * Fencing: a job's epoch reads its lease and the deadline in its transaction and writes its row of
 * `partition_transactions`; whoever grants or revokes a lease writes that row too, so that a commit of the former
 * job that began before conflicts.
 * Specified in: yt/yt/flow/library/cpp/common/dyntable_lease.cpp.
 */
import { isMap, mapOf, type YsonValue, YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { FlowTransaction, Rowset } from "../cluster/flow-cluster.ts";
import type { FlowTimestamp, JobId, PartitionId } from "../model/message.ts";
import { timestampFromYson, timestampOfSeqNo, timestampToUint64 } from "../model/timestamps.ts";
import { documentCell, documentOf, textCell, textOf } from "./cells.ts";

/** Where a pipeline's tables are. */
export interface LeaseTables {
  readonly flowControl: string;
  readonly leases: string;
  readonly partitionTransactions: string;
}

export interface LeaderLease {
  readonly incarnationId: string;
  readonly address: string;
  readonly expiration: FlowTimestamp;
}

const leaderLeaseKey = "leader_lease";
/** Of the deadline's row: no partition has this id. */
const deadlineKey = "";
const existence = "existence";
const expiration = "expiration";

/** The leader's row as the transaction sees it; `undefined` when there was never one. */
export async function readLeader(
  transaction: FlowTransaction,
  tables: LeaseTables,
): Promise<LeaderLease | undefined> {
  const keys: Rowset = { columns: ["key"], rows: [[textCell(leaderLeaseKey)]] };
  const [row] = await transaction.lookupRows(tables.flowControl, keys, { columns: ["value"] });
  const value = documentOf(row?.[0]);
  if (!isMap(value)) {
    return undefined;
  }
  return {
    incarnationId: String(value.get("incarnation_id") ?? ""),
    address: String(value.get("address") ?? ""),
    expiration: timestampFromYson(value.get("expiration_instant") ?? 0n),
  };
}

/** Writes the leader's row: valid for `ttlSeconds` from the transaction's start. */
export function writeLeader(
  transaction: FlowTransaction,
  tables: LeaseTables,
  leader: { readonly incarnationId: string; readonly address: string },
  ttlSeconds: number,
): void {
  const value = mapOf({
    incarnation_id: leader.incarnationId,
    address: leader.address,
    expiration_instant: expirationOf(transaction, ttlSeconds),
  });
  transaction.insertRows(tables.flowControl, {
    columns: ["key", "value"],
    rows: [[textCell(leaderLeaseKey), documentCell(value)]],
  });
}

/**
 * To be called in every transaction of the leader: checks that it still leads and moves its lease on.
 * @throws YtError 1 when it does not
 */
export async function validateAndTouchLeader(
  transaction: FlowTransaction,
  tables: LeaseTables,
  self: { readonly incarnationId: string; readonly address: string },
  ttlSeconds: number,
): Promise<void> {
  const leader = await readLeader(transaction, tables);
  if (leader?.incarnationId !== self.incarnationId) {
    throw new YtError("Controller is not the leader", {
      attributes: {
        self_incarnation_id: self.incarnationId,
        leader_incarnation_id: leader?.incarnationId ?? "",
        leader_address: leader?.address ?? "",
      },
    });
  }
  if (leader.expiration < timestampOfSeqNo(transaction.startTimestamp)) {
    throw new YtError("Controller leader lease has expired", {
      attributes: { expiration_instant: timestampToUint64(leader.expiration) },
    });
  }
  writeLeader(transaction, tables, self, ttlSeconds);
}

/** Jobs may commit for `ttlSeconds` from now on. */
export function touchDeadline(transaction: FlowTransaction, tables: LeaseTables, ttlSeconds: number): void {
  const value = mapOf({ expiration_instant: expirationOf(transaction, ttlSeconds) });
  transaction.insertRows(tables.leases, {
    columns: ["key", "subkey", "value"],
    rows: [[textCell(deadlineKey), textCell(expiration), documentCell(value)]],
  });
}

/** Gives partitions to jobs. A commit of the job before, begun earlier, conflicts. */
export function grantLeases(
  transaction: FlowTransaction,
  tables: LeaseTables,
  jobs: readonly { readonly partitionId: PartitionId; readonly jobId: JobId }[],
): void {
  if (jobs.length === 0) {
    return;
  }
  const rows = jobs.flatMap(({ partitionId, jobId }) => {
    const value = documentCell(mapOf({ job_id: jobId }));
    return [existence, expiration].map((subkey) => [textCell(partitionId), textCell(subkey), value]);
  });
  transaction.insertRows(tables.leases, { columns: ["key", "subkey", "value"], rows });
  fence(transaction, tables, jobs);
}

/** Takes partitions from their jobs, whoever they are. */
export function revokeLeases(
  transaction: FlowTransaction,
  tables: LeaseTables,
  partitions: readonly { readonly partitionId: PartitionId }[],
): void {
  if (partitions.length === 0) {
    return;
  }
  const rows = partitions.flatMap(({ partitionId }) =>
    [existence, expiration].map((subkey) => [textCell(partitionId), textCell(subkey)]),
  );
  transaction.deleteRows(tables.leases, { columns: ["key", "subkey"], rows });
  fence(transaction, tables, partitions);
}

/**
 * To be called in the transaction of a job's epoch.
 * @throws YtError 1 when the partition belongs to another job, or the leader has not moved the deadline on
 */
export async function validateLease(
  transaction: FlowTransaction,
  tables: LeaseTables,
  partitionId: PartitionId,
  jobId: JobId,
): Promise<void> {
  const keys: Rowset = {
    columns: ["key", "subkey"],
    rows: [
      [textCell(partitionId), textCell(expiration)],
      [textCell(deadlineKey), textCell(expiration)],
    ],
  };
  const [lease, deadline] = await transaction.lookupRows(tables.leases, keys, { columns: ["value"] });
  const owner = fieldOf(documentOf(lease?.[0]), "job_id");
  if (owner !== jobId) {
    throw new YtError("Job lease is lost: the partition belongs to another job", {
      attributes: { partition_id: partitionId, job_id: jobId, owner_job_id: owner ?? null },
    });
  }
  const until = fieldOf(documentOf(deadline?.[0]), "expiration_instant");
  if (until === undefined || timestampFromYson(until) < timestampOfSeqNo(transaction.startTimestamp)) {
    throw new YtError("Job lease has expired: no leading controller has prolonged it", {
      attributes: { partition_id: partitionId, job_id: jobId, expiration_instant: until ?? null },
    });
  }
}

/** Ids of all partitions that have a lease, from rows of (`key`, `subkey`). */
export function leasedPartitions(rows: readonly (readonly RowValue[])[]): ReadonlySet<PartitionId> {
  return new Set(rows.map(([key]) => textOf(key)).filter((id) => id !== deadlineKey));
}

function fence(
  transaction: FlowTransaction,
  tables: LeaseTables,
  partitions: readonly { readonly partitionId: PartitionId }[],
): void {
  transaction.insertRows(tables.partitionTransactions, {
    columns: ["partition_id", "last_transaction_start_timestamp"],
    rows: partitions.map(({ partitionId }) => [textCell(partitionId), transaction.startTimestamp]),
  });
}

function expirationOf(transaction: FlowTransaction, ttlSeconds: number): YsonValue {
  const now = timestampOfSeqNo(transaction.startTimestamp);
  return timestampToUint64((now + ttlSeconds) as FlowTimestamp);
}

function fieldOf(value: YsonValue, name: string): YsonValue | undefined {
  return isMap(value) ? value.get(name) : undefined;
}
