/**
 * The layout in the table `flow_state`: a log of changes, written anew as a whole when it has grown.
 * Specified in: yt/yt/flow/library/cpp/tables/flow_state.cpp; documentation "Flow", pipeline object.
 */
import { isList, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import type { Key } from "../model/message.ts";
import { timestampFromYson, timestampToUint64 } from "../model/timestamps.ts";
import type { PartitionState } from "../protocol/protocol.ts";
import { documentCell, documentOf, textCell, textOf } from "../tables/cells.ts";
import { type Job, Layout, type Partition } from "./layout.ts";

const columns = ["sequence_id", "flags", "state_name", "key_left", "key_right", "value"];
const removedFlag = 1n;
const partitionsState = "layout_partitions";
const jobsState = "layout_jobs";
const pageRows = 5_000;
/** The log is written anew when it is so many times as long as the layout, and longer than this. */
const growth = 4;
const minRowsToCompact = 1_000;

export class LayoutLog {
  readonly #path: string;
  /** Of the rows in the table, in order. */
  #sequenceIds: bigint[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** Reads the layout. @throws YtError 1 on a row that cannot be understood */
  async load(cluster: FlowCluster): Promise<Layout> {
    const layout = new Layout();
    this.#sequenceIds = [];
    const jobs = new Map<string, Job>();
    for (let from = -1n; ; ) {
      const rows = await cluster.selectRange(this.#path, {
        columns,
        prefix: [],
        from: { column: "sequence_id", value: from, isInclusive: false },
        limit: pageRows,
      });
      for (const row of rows) {
        from = this.#apply(row, layout, jobs);
      }
      if (rows.length < pageRows) {
        break;
      }
    }
    for (const job of jobs.values()) {
      if (layout.partitions.has(job.partitionId)) {
        layout.addJob(job);
      }
    }
    layout.takeChanges();
    return layout;
  }

  /** Adds what has changed since the last call. To be called once in each transaction of the leader. */
  append(transaction: FlowTransaction, layout: Layout): void {
    const changes = layout.takeChanges();
    const size = layout.partitions.size + layout.jobs.size;
    const changed = changes.partitions.size + changes.jobs.size;
    if (changed === 0) {
      return;
    }
    const isGrown = this.#sequenceIds.length + changed > Math.max(minRowsToCompact, size * growth);
    if (isGrown) {
      const old = this.#sequenceIds.map((id) => [id]);
      transaction.deleteRows(this.#path, { columns: ["sequence_id"], rows: old });
    }
    const partitions = isGrown ? layout.partitions.keys() : changes.partitions;
    const jobs = isGrown ? layout.jobs.keys() : changes.jobs;
    let next = (this.#sequenceIds.at(-1) ?? 0n) + 1n;
    const rows: RowValue[][] = [];
    const add = (state: string, key: string, value: YsonMap | undefined): void => {
      const flags = value === undefined ? removedFlag : 0n;
      const cell = value === undefined ? null : documentCell(value);
      rows.push([next, flags, textCell(state), textCell(key), textCell(""), cell]);
      next += 1n;
    };
    for (const id of partitions) {
      const partition = layout.partitions.get(id);
      add(partitionsState, id, partition && partitionToYson(partition));
    }
    for (const id of jobs) {
      const job = layout.jobs.get(id);
      add(jobsState, id, job && jobToYson(job));
    }
    transaction.insertRows(this.#path, { columns, rows });
    const added = rows.map(([id]) => (typeof id === "bigint" ? id : 0n));
    this.#sequenceIds = isGrown ? added : [...this.#sequenceIds, ...added];
  }

  #apply(row: readonly RowValue[], layout: Layout, jobs: Map<string, Job>): bigint {
    const [sequenceId, flags, state, key, , value] = row;
    if (typeof sequenceId !== "bigint") {
      throw new YtError(`A row of ${this.#path} has no "sequence_id"`);
    }
    this.#sequenceIds.push(sequenceId);
    const id = textOf(key);
    const isRemoved = flags === removedFlag;
    if (textOf(state) === partitionsState) {
      if (!isRemoved) {
        layout.putPartition(partitionFromYson(id, documentOf(value)));
      } else if (layout.partitions.has(id)) {
        layout.removePartition(id);
      }
    } else if (textOf(state) === jobsState) {
      if (isRemoved) {
        jobs.delete(id);
      } else {
        jobs.set(id, jobFromYson(id, documentOf(value)));
      }
    }
    return sequenceId;
  }
}

export function partitionToYson(partition: Partition): YsonMap {
  const { range, sourceKey, currentJobId } = partition;
  return mapOf({
    partition_id: partition.partitionId,
    computation_id: partition.computationId,
    lower_key: range === undefined ? undefined : [new Uint64(range.lower)],
    upper_key: range?.upper === undefined ? undefined : [new Uint64(range.upper)],
    source_key: sourceKey === undefined ? undefined : sourceKey.map(keyValueToYson),
    current_job_id: currentJobId,
    state: partition.state,
    state_timestamp: timestampToUint64(partition.stateTimestamp),
  });
}

export function jobToYson(job: Job): YsonMap {
  return mapOf({
    job_id: job.jobId,
    partition_id: job.partitionId,
    worker_address: job.workerAddress,
    worker_incarnation_id: job.workerIncarnation,
    finish_after_current_epoch: job.finishAfterCurrentEpoch,
  });
}

const partitionStates: ReadonlySet<string> = new Set<PartitionState>([
  "executing",
  "interrupting",
  "completing",
  "completed",
  "interrupted",
]);

function isPartitionState(text: string): text is PartitionState {
  return partitionStates.has(text);
}

function partitionFromYson(partitionId: string, value: YsonValue): Partition {
  const fields = isMap(value) ? value : new Map<string, YsonValue>();
  const state = String(fields.get("state"));
  if (!isPartitionState(state)) {
    throw new YtError(`Partition ${partitionId} of the layout has the unknown state "${state}"`);
  }
  const lower = firstOf(fields.get("lower_key"));
  return {
    partitionId,
    computationId: String(fields.get("computation_id")),
    range: lower === undefined ? undefined : { lower, upper: firstOf(fields.get("upper_key")) },
    sourceKey: keyFromYson(fields.get("source_key")),
    state,
    stateTimestamp: timestampFromYson(fields.get("state_timestamp") ?? 0n),
    currentJobId: undefined,
  };
}

function jobFromYson(jobId: string, value: YsonValue): Job {
  const fields = isMap(value) ? value : new Map<string, YsonValue>();
  return {
    jobId,
    partitionId: String(fields.get("partition_id")),
    workerAddress: String(fields.get("worker_address")),
    workerIncarnation: String(fields.get("worker_incarnation_id")),
    finishAfterCurrentEpoch: fields.get("finish_after_current_epoch") === true,
  };
}

function firstOf(value: YsonValue | undefined): bigint | undefined {
  const first = isList(value) ? value[0] : undefined;
  return first instanceof Uint64 ? first.value : undefined;
}

function keyValueToYson(value: RowValue): YsonValue {
  return value instanceof Uint8Array ? textOf(value) : typeof value === "bigint" ? value : null;
}

function keyFromYson(value: YsonValue | undefined): Key | undefined {
  if (!isList(value)) {
    return undefined;
  }
  return value.map((item) =>
    typeof item === "string" ? textCell(item) : typeof item === "bigint" ? item : null,
  );
}
