/**
 * The controller's side of queue sinks: how many partitions they write to, and heartbeats with the watermark of
 * their input.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/sink.cpp.
 */
import { toYtError, type YsonMap, YtError } from "@qyt/base";
import { systemColumns } from "@qyt/schema";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import type { FlowTimestamp, StreamId } from "../../model/message.ts";
import { minTimestamp } from "../../model/timestamps.ts";
import { Periodic } from "../common/periodic.ts";
import type { ConnectorContext, SinkController } from "../connector.ts";
import { heartbeatCell } from "./flow-queue-meta.ts";
import { QueueInfo } from "./queue-info.ts";
import type { SyncSinkSettings } from "./sink-settings.ts";

const statusPath = "/write_meta";

export interface QueueSinkControllerOptions {
  readonly context: ConnectorContext;
  readonly queues: readonly ClusterPath[];
  readonly settings: Pick<
    SyncSinkSettings,
    | "updatePartitionCountPeriod"
    | "updatePartitionCountRetryMinBackoff"
    | "writeFlowQueueMeta"
    | "flowQueueMetaColumn"
  >;
  readonly heartbeatPeriodMs: number;
  /** @throws YtError naming the parameter */
  readonly parseHeartbeatPeriodMs: (dynamicParameters: YsonMap) => number;
}

export class QueueSinkController implements SinkController {
  readonly #options: QueueSinkControllerOptions;
  readonly #info: QueueInfo;
  readonly #heartbeats: Periodic | undefined;
  #periodMs: number;
  #watermarks: ReadonlyMap<StreamId, FlowTimestamp> | undefined;

  constructor(options: QueueSinkControllerOptions) {
    this.#options = options;
    this.#periodMs = options.heartbeatPeriodMs;
    const { context, settings, queues } = options;
    this.#info = new QueueInfo({
      context,
      queues,
      periodMs: settings.updatePartitionCountPeriod,
      retryMinBackoffMs: settings.updatePartitionCountRetryMinBackoff,
    });
    this.#heartbeats = settings.writeFlowQueueMeta
      ? new Periodic({
          clock: context.clock,
          random: context.random,
          periodMs: () => this.#periodMs,
          isFirstAtOnce: false,
          work: (signal) => this.#writeHeartbeats(signal),
        })
      : undefined;
  }

  channelCount(): number | undefined {
    return this.#info.partitionCount;
  }

  get state(): YsonMap {
    return this.#info.state;
  }

  start(state: YsonMap | undefined): void {
    this.#info.start(state);
    this.#heartbeats?.start();
  }

  setWatermarks(watermarks: ReadonlyMap<StreamId, FlowTimestamp> | undefined): void {
    this.#watermarks = watermarks;
  }

  reconfigure(dynamicParameters: YsonMap): void {
    const periodMs = this.#options.parseHeartbeatPeriodMs(dynamicParameters);
    if (periodMs !== this.#periodMs) {
      this.#periodMs = periodMs;
      this.#heartbeats?.reschedule();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#info.stop(), this.#heartbeats?.stop()]);
  }

  async #writeHeartbeats(signal: AbortSignal): Promise<boolean> {
    const { context, queues } = this.#options;
    const partitionCount = this.#info.partitionCount;
    const watermarks = [...(this.#watermarks?.values() ?? [])];
    if (partitionCount === undefined || watermarks.length === 0) {
      context.log("warn", "Heartbeat was skipped: the watermark or the partition count is not known", {});
      return true;
    }
    const watermark = watermarks.reduce(minTimestamp);
    try {
      await Promise.all(queues.map((queue) => this.#writeTo(queue, watermark, partitionCount, signal)));
      context.status.report(statusPath, undefined);
      return true;
    } catch (thrown) {
      if (!signal.aborted) {
        const inner = toYtError(thrown);
        const message = "Failed to write flow queue meta heartbeat";
        context.status.report(statusPath, new YtError(message, { code: inner.code, inner: [inner] }));
      }
      return false;
    }
  }

  async #writeTo(
    { cluster, path }: ClusterPath,
    watermark: FlowTimestamp,
    partitionCount: number,
    signal: AbortSignal,
  ): Promise<void> {
    const cell = heartbeatCell(watermark);
    const transaction = await this.#options.context.clusters.cluster(cluster).startTransaction({ signal });
    transaction.insertRows(path, {
      columns: [this.#options.settings.flowQueueMetaColumn, systemColumns.tabletIndex],
      rows: Array.from({ length: partitionCount }, (_, index) => [cell, BigInt(index)]),
    });
    await transaction.commit({ signal });
  }
}
