/**
 * The flow view: everything the leading controller knows, as `get-flow-view` shows it.
 * Specified in: yt/yt/flow/library/cpp/common/flow_view.cpp; documentation "Flow", flow view.
 */
import { emptyMap, mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { timestampToUint64 } from "../model/timestamps.ts";
import type { InflightReport, Traverse } from "../protocol/protocol.ts";
import { jobToYson, partitionToYson } from "./layout-log.ts";
import type { Leader } from "./leader.ts";
import { versionedToYson } from "./versioned.ts";
import type { TrackedStatus } from "./workers.ts";

/** `{state; feedback; ephemeral_state}`. */
export function flowView(leader: Leader): YsonMap {
  return mapOf({
    state: stateView(leader),
    feedback: feedbackView(leader),
    ephemeral_state: ephemeralView(leader),
  });
}

function stateView(leader: Leader): YsonValue {
  const { layout, specs, progress, workers } = leader;
  return mapOf({
    current_timestamp: timestampToUint64(leader.now),
    epoch: leader.epoch,
    workers: mapValues(workers.workers, (worker) =>
      mapOf({
        rpc_address: worker.address,
        incarnation_id: worker.incarnation,
        groups: worker.groups,
        banned: worker.isBanned,
      }),
    ),
    traverse_data: mapOf({ streams: mapValues(progress?.streams ?? new Map(), traverseToYson) }),
    job_manager_state: mapOf({
      failed_jobs: BigInt(leader.failures.failedCount),
      succeeded_jobs: BigInt(leader.failures.succeededCount),
      lost_jobs: BigInt(leader.failures.lostCount),
    }),
    execution_spec: mapOf({
      pipeline_state: mapOf({ value: leader.state }),
      pipeline_spec: versionedToYson(specs.spec),
      dynamic_pipeline_spec: versionedToYson(specs.dynamicSpec),
      layout: mapOf({
        partitions: mapValues(layout.partitions, partitionToYson),
        jobs: mapValues(layout.jobs, jobToYson),
      }),
      input_streams_traverse: mapValues(progress?.streams ?? new Map(), traverseToYson),
      watermark_state:
        progress === undefined
          ? emptyMap
          : mapOf({
              current_timestamp: timestampToUint64(progress.watermarks.currentTimestamp),
              streams: mapValues(progress.watermarks.streams, (stream) =>
                mapOf({
                  system_watermark: timestampToUint64(stream.systemWatermark),
                  event_watermark: timestampToUint64(stream.eventWatermark),
                }),
              ),
              alignment_groups: mapValues(progress.watermarks.alignmentGroups, timestampToUint64),
            }),
    }),
  });
}

function feedbackView(leader: Leader): YsonValue {
  const { layout, workers } = leader;
  const statuses = new Map<string, YsonValue>();
  for (const partition of layout.partitions.values()) {
    const status =
      partition.currentJobId === undefined ? undefined : workers.statuses.get(partition.currentJobId);
    statuses.set(
      partition.partitionId,
      mapOf({
        current_job_id: partition.currentJobId,
        current_job_status: status === undefined ? undefined : jobStatusToYson(status),
      }),
    );
  }
  return mapOf({ partition_job_statuses: statuses });
}

function ephemeralView(leader: Leader): YsonValue {
  return mapOf({
    pipeline_path: leader.options.pipelinePath,
    partitions: mapValues(leader.layout.partitions, (partition) => {
      const last = leader.failures.of(partition.partitionId).at(-1);
      return mapOf({
        previous_job_finish_reason: last?.reason,
        previous_job_fail_error: last?.message,
        previous_job_fail_worker: last?.workerAddress,
      });
    }),
    errors: mapValues(leader.errors, errorToYson),
  });
}

export function jobStatusToYson(status: TrackedStatus): YsonMap {
  return mapOf({
    job_id: status.jobId,
    is_finished: status.isFinished,
    error: status.error === undefined ? undefined : errorToYson(status.error),
    epoch: status.epoch,
    retryable_errors: status.retryableErrors.map(({ path, error }) =>
      mapOf({ path, error: errorToYson(error) }),
    ),
    from_partition_traverse_data: mapOf({
      streams: mapValues(status.streams, (stream) =>
        mapOf({ ...fieldsOf(stream), inflight_metrics: inflightToYson(stream.inflight) }),
      ),
    }),
    performance_metrics: mapOf({ cpu_usage_30s: status.metrics.cpu }),
    input_metrics: mapOf({
      messages_per_second: status.metrics.messagesPerSecond,
      bytes_per_second: status.metrics.bytesPerSecond,
    }),
    epoch_per_second: status.metrics.epochsPerSecond,
  });
}

export function traverseToYson(traverse: Traverse): YsonMap {
  return mapOf(fieldsOf(traverse));
}

function fieldsOf(traverse: Traverse): Record<string, YsonValue> {
  return {
    epoch: traverse.epoch,
    state: traverse.state,
    system_watermark: timestampToUint64(traverse.systemWatermark),
    event_watermark: timestampToUint64(traverse.eventWatermark),
  };
}

function inflightToYson(inflight: InflightReport): YsonMap {
  return mapOf({
    count: BigInt(Math.round(inflight.count)),
    byte_size: BigInt(Math.round(inflight.byteSize)),
    idle_duration:
      inflight.idleDuration === undefined ? undefined : new Uint64(BigInt(inflight.idleDuration)),
    last_idle_timestamp:
      inflight.lastIdleTimestamp === undefined ? undefined : timestampToUint64(inflight.lastIdleTimestamp),
    unavailable_instant:
      inflight.unavailableInstant === undefined ? undefined : timestampToUint64(inflight.unavailableInstant),
  });
}

export function mapValues<Item>(
  items: ReadonlyMap<string, Item>,
  toYson: (item: Item) => YsonValue,
): YsonMap {
  return new Map([...items].map(([name, item]): [string, YsonValue] => [name, toYson(item)]));
}
