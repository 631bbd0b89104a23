/**
 * Stands for the controller in simulations of the runtime: a fixed layout, jobs where workers live, leases, and
 * watermarks as the minimum over partitions. It never fails itself.
 */
import { type Clock, type YsonValue, YtError } from "@qyt/base";
import type { FlowCluster } from "../cluster/flow-cluster.ts";
import type { FlowTimestamp, PartitionId } from "../model/message.ts";
import { flowTimestamp, undefinedTimestamp } from "../model/timestamps.ts";
import type {
  Heartbeat,
  HeartbeatAnswer,
  JobStatus,
  PartitionLayout,
  PipelineState,
  Traverse,
} from "../protocol/protocol.ts";
import { parsePipelineSpec } from "../spec/pipeline-spec.ts";
import { globalStreamName, streamsOf } from "../spec/stream-graph.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { grantLeases, type LeaseTables, touchDeadline } from "../tables/leases.ts";
import { mergeTraverse } from "../watermarks/traverse.ts";

interface Assigned {
  layout: PartitionLayout;
  /** Granted: the job may be told to its worker. */
  isGranted: boolean;
  lastReport: JobStatus | undefined;
}

const deadlineSeconds = 1_000_000;
const lostWorkerMs = 10_000;

export class FixedLayout {
  readonly #cluster: FlowCluster;
  readonly #clock: Clock;
  readonly #spec: YsonValue;
  readonly #parsed;
  readonly #partitions = new Map<PartitionId, Assigned>();
  readonly #workers = new Map<string, { incarnation: string; lastMs: number }>();
  readonly #traverse = new Map<string, Traverse>();
  readonly #tables: LeaseTables;
  dynamicSpec: { version: bigint; value: YsonValue };
  state: PipelineState = "working";
  #layoutVersion = 1n;
  #jobCount = 0;
  /** Errors of failed jobs. */
  readonly failures: YtError[] = [];

  constructor(options: {
    readonly cluster: FlowCluster;
    readonly clock: Clock;
    readonly pipelinePath: string;
    readonly spec: YsonValue;
    readonly dynamicSpec: YsonValue;
    readonly partitions: readonly Pick<
      PartitionLayout,
      "partitionId" | "computationId" | "range" | "sourceKey"
    >[];
  }) {
    this.#cluster = options.cluster;
    this.#clock = options.clock;
    this.#spec = options.spec;
    this.#parsed = parsePipelineSpec(options.spec).spec;
    this.dynamicSpec = { version: 1n, value: options.dynamicSpec };
    const at = (name: "flow_control" | "leases" | "partition_transactions"): string =>
      pipelineTablePath(options.pipelinePath, name);
    this.#tables = {
      flowControl: at("flow_control"),
      leases: at("leases"),
      partitionTransactions: at("partition_transactions"),
    };
    for (const partition of options.partitions) {
      this.#partitions.set(partition.partitionId, {
        layout: { ...partition, state: "executing", currentJobId: undefined, workerAddress: undefined },
        isGranted: false,
        lastReport: undefined,
      });
    }
  }

  get isCompleted(): boolean {
    return [...this.#partitions.values()].every(({ layout }) => layout.state === "completed");
  }

  /** All streams of all partitions are drained or further. */
  get isDrained(): boolean {
    const traverses = [...this.#traverse.values()];
    return traverses.length > 0 && traverses.every((traverse) => traverse.state !== "active");
  }

  get partitions(): readonly PartitionLayout[] {
    return [...this.#partitions.values()].map(({ layout }) => layout);
  }

  /** What is known of each partition, for messages of failed tests. */
  describe(): string {
    return [...this.#partitions.values()]
      .map(({ layout, lastReport }) => {
        const streams = [...(lastReport?.streams ?? [])].map(
          ([id, { state, eventWatermark, systemWatermark, inflight }]) =>
            `${id} ${state} ${eventWatermark} ${systemWatermark} ${inflight.count}`,
        );
        return `${layout.partitionId} ${layout.state} ${layout.currentJobId} epoch ${lastReport?.epoch}: ${streams.join(", ")}`;
      })
      .join("\n");
  }

  traverseOf(stream: string): Traverse | undefined {
    return this.#traverse.get(stream);
  }

  /** No jobs: what is under way is left as it is. They are started again by the next cycles once it is `working`. */
  pause(): void {
    this.state = "paused";
    for (const partition of this.#partitions.values()) {
      this.#dismiss(partition);
    }
  }

  /** One cycle: jobs that are lost or over are started anew elsewhere; streams are united. */
  async cycle(): Promise<void> {
    const nowMs = this.#clock.monotonic();
    for (const [address, worker] of this.#workers) {
      if (worker.lastMs < nowMs - lostWorkerMs) {
        this.#workers.delete(address);
      }
    }
    if (this.state !== "paused") {
      for (const partition of this.#partitions.values()) {
        await this.#place(partition);
      }
    }
    this.#unite();
  }

  async #place(partition: Assigned): Promise<void> {
    const { workerAddress, state, currentJobId } = partition.layout;
    const isLost = currentJobId !== undefined && !this.#workers.has(workerAddress ?? "");
    if (state === "completed" || (currentJobId !== undefined && !isLost)) {
      return;
    }
    const addresses = [...this.#workers.keys()];
    const address = addresses[this.#jobCount % Math.max(1, addresses.length)];
    if (address === undefined) {
      return;
    }
    this.#jobCount += 1;
    const { partitionId } = partition.layout;
    const jobId = `job-${this.#jobCount}`;
    partition.layout = { ...partition.layout, currentJobId: jobId, workerAddress: address };
    partition.isGranted = false;
    this.#layoutVersion += 1n;
    for (;;) {
      try {
        const transaction = await this.#cluster.startTransaction();
        touchDeadline(transaction, this.#tables, deadlineSeconds);
        grantLeases(transaction, this.#tables, [{ partitionId, jobId }]);
        await transaction.commit();
        break;
      } catch {
        // Tried again: a lease is granted in the end.
      }
    }
    partition.isGranted = true;
  }

  /** Takes a worker's report. */
  heartbeat(heartbeat: Heartbeat): HeartbeatAnswer {
    const { workerAddress, incarnation } = heartbeat;
    const known = this.#workers.get(workerAddress);
    if (known !== undefined && known.incarnation !== incarnation) {
      this.#forgetJobsOf(workerAddress);
    }
    this.#workers.set(workerAddress, { incarnation, lastMs: this.#clock.monotonic() });
    for (const status of heartbeat.jobs) {
      this.#takeStatus(status);
    }
    return this.#answer(heartbeat);
  }

  #forgetJobsOf(address: string): void {
    for (const partition of this.#partitions.values()) {
      if (partition.layout.workerAddress === address) {
        this.#dismiss(partition);
      }
    }
  }

  #dismiss(partition: Assigned): void {
    partition.layout = { ...partition.layout, currentJobId: undefined, workerAddress: undefined };
    this.#layoutVersion += 1n;
  }

  #takeStatus(status: JobStatus): void {
    const partition = this.#partitions.get(status.partitionId);
    if (partition === undefined || partition.layout.currentJobId !== status.jobId) {
      return;
    }
    if (status.streams.size > 0) {
      partition.lastReport = status;
    }
    if (status.isFinished) {
      if (status.error !== undefined) {
        this.failures.push(status.error);
      } else {
        const isLast = partition.layout.state === "completing";
        partition.layout = { ...partition.layout, state: isLast ? "completed" : "completing" };
      }
      this.#dismiss(partition);
    }
  }

  #unite(): void {
    const united = new Map<string, Traverse>();
    const incomplete = new Set<string>();
    for (const { layout, lastReport } of this.#partitions.values()) {
      const computation = this.#parsed.computations.get(layout.computationId);
      if (computation === undefined) {
        throw new YtError("no such computation");
      }
      for (const [streamId, kind] of streamsOf(computation)) {
        if (kind === "input") {
          continue;
        }
        const name = globalStreamName(layout.computationId, streamId, kind);
        const report = lastReport?.streams.get(streamId);
        const known = united.get(name);
        if (report === undefined) {
          incomplete.add(name);
        } else {
          united.set(name, known === undefined ? report : mergeTraverse(known, report));
        }
      }
    }
    for (const [name, traverse] of united) {
      if (!incomplete.has(name)) {
        this.#traverse.set(name, traverse);
      }
    }
  }

  #answer(heartbeat: Heartbeat): HeartbeatAnswer {
    const partitions = [...this.#partitions.values()];
    return {
      leaderIncarnation: "leader",
      pipelineState: this.state,
      spec: heartbeat.knownSpecVersion === 1n ? undefined : { version: 1n, value: this.#spec },
      dynamicSpec:
        heartbeat.knownDynamicSpecVersion === this.dynamicSpec.version ? undefined : this.dynamicSpec,
      layout:
        heartbeat.knownLayoutVersion === this.#layoutVersion
          ? undefined
          : { version: this.#layoutVersion, partitions: partitions.map(({ layout }) => layout) },
      jobs: partitions.flatMap(({ layout, isGranted }) =>
        isGranted && layout.workerAddress === heartbeat.workerAddress && layout.currentJobId !== undefined
          ? [{ jobId: layout.currentJobId, partitionId: layout.partitionId, finishAfterCurrentEpoch: false }]
          : [],
      ),
      watermarks: {
        currentTimestamp: this.#now(),
        streams: this.#traverse,
        alignmentGroups: new Map(),
      },
      inputTraverse: this.#traverse,
      blockedStreams: new Map(),
    };
  }

  /** Not ahead of the cluster's own time. */
  #now(): FlowTimestamp {
    return flowTimestamp(this.#clock.now() / 1_000) ?? undefinedTimestamp;
  }
}
