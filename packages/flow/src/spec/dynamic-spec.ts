/**
 * The dynamic spec: what may change while a pipeline works.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp (`TDynamicPipelineSpec`, `TDynamicComputationSpec`).
 */
import { emptyMap, type YsonValue } from "@qyt/base";
import { z } from "zod";
import {
  anything,
  boolean,
  double,
  duration,
  freeMap,
  integer,
  mapOfFields,
  nested,
  type ParsedSpec,
  parseSpec,
  size,
  struct,
  text,
} from "./fields.ts";

const tableRequest = nested({
  selectMinLimit: integer({ min: 1 }).prefault(10),
  selectLimitMultiplier: integer({ min: 1 }).prefault(5),
  selectMaxLimit: integer({ min: 1 }).prefault(10_000),
});

const store = nested({
  tableRequest,
  compressionCodec: text.prefault("zstd_6"),
  maxChunkMessageCount: integer({ min: 1, max: 2 ** 20 }).prefault(1_024),
});

const withParameters = struct({ parameters: freeMap });

export const dynamicComputationSpec = struct({
  /** In milliseconds, as all durations here. */
  batchDuration: duration.prefault("1s"),
  maxRowsPerBatch: integer({ min: 1 }).prefault(1_000),
  maxBytesPerBatch: size.prefault("10Mi"),
  draining: boolean.prefault(false),
  emptyBatchBackoff: duration.prefault("250ms"),
  leaseCheckPeriod: duration.prefault("60s"),
  retryableRequest: freeMap,
  tracer: freeMap,
  parameters: freeMap,
  processingFunctionParameters: anything.optional(),
  sourceStreams: mapOfFields(struct({ parameters: freeMap, draining: boolean.prefault(false) })),
  keyVisitorStreams: mapOfFields(
    struct({
      period: duration.prefault("1d"),
      bufferRowLimit: integer({ min: 1 }).prefault(5_000),
      maxScanRowsPerIteration: integer({ min: 1 }).prefault(10_000),
      backgroundFillPeriod: duration.prefault("500ms"),
      catchupLagThreshold: duration.prefault("1m"),
      catchupSpeedupMultiplier: double.prefault(1.2),
      finite: boolean.prefault(true),
      fullFinalPass: boolean.prefault(true),
    }),
  ),
  sinks: mapOfFields(withParameters),
  externalStateManagers: mapOfFields(freeMap),
  externalStateJoiners: mapOfFields(freeMap),
  stateJoiners: mapOfFields(freeMap),
  stateManager: freeMap,
  inputStore: store,
  timerStore: store,
  outputStore: store,
  timerStoreCountLimit: size.prefault("250K"),
  timerStoreByteSizeLimit: size.prefault("100Mi"),
  outputStoreCountLimit: size.prefault("1G"),
  outputStoreByteSizeLimit: size.prefault("100Gi"),
  blockedTimeWindow: duration.prefault("10m"),
  inputRowsThrottlerId: text.optional(),
  inputRowsThrottlerClassId: text.optional(),
  inputBytesThrottlerId: text.optional(),
  inputBytesThrottlerClassId: text.optional(),
  skipIfExpression: text.optional(),
});

const throttlerSpec = struct({
  /** Per second; unset: no limit. */
  limit: double.optional(),
  period: duration.prefault("10s"),
  requestPeriod: duration.prefault("5s"),
  retryingChannel: freeMap,
  rpcTimeout: duration.prefault("30s"),
  classes: mapOfFields(struct({ weight: double.prefault(1) })),
  maxGrantAmount: size.optional(),
});

const jobManager = nested({
  minimumWorkerCount: integer({ min: 0 }).prefault(1),
  lostJobTimeout: duration.prefault("10s"),
  faultyAddressWindow: duration.prefault("5m"),
  faultyAddressAttempts: integer({ min: 0 }).prefault(5),
  workerGroupOverride: anything.optional(),
  balancerType: z.enum(["cpu_aware", "greedy"]).prefault("cpu_aware"),
  rebalanceDelayAfterPipelineSync: duration.prefault("30s"),
  rebalanceTargetDeviation: double.prefault(0.1),
  rebalanceHotModeCoeff: double.prefault(2),
  rebalanceActionMinTime: duration.prefault("4s"),
  rebalanceActionMaxTime: duration.prefault("12s"),
  rebalanceSyncPeriod: duration.prefault("10s"),
  rebalanceCountExceededAllowed: double.prefault(1.2),
  rebalanceMinCpuSpread: double.prefault(1),
  rebalanceMinCpuRatio: double.prefault(1.2),
  asyncBalancing: boolean.prefault(true),
  gracefulMove: boolean.prefault(true),
  zeroQueueLatency: duration.prefault("1s"),
  planningHorizon: duration.prefault("10m"),
});

const messageDistributor = nested({
  sendQueueMaxRowsPerBatch: integer({ min: 1 }).prefault(10_000),
  sendQueueMaxBytesPerBatch: size.prefault("10Mi"),
  sendQueueBatchDuration: duration.prefault("100ms"),
  pushMessagesTimeout: duration.prefault("10s"),
  compressionCodec: text.prefault("lz4"),
  threadCount: integer({ min: 1 }).prefault(4),
  hungTaskThreshold: duration.prefault("5m"),
  maxProcessedBatchSize: integer({ min: 1 }).prefault(500_000),
});

const jobBuffer = nested({
  fairSharePool: size.prefault("3Gi"),
  jobGuarantee: size.prefault("5Mi"),
  jobLimit: size.prefault("500Mi"),
  maxDuration: duration.prefault("60s"),
  jobOverrides: freeMap,
});

const jobTracker = nested({
  jobControlThreads: integer({ min: 1 }).prefault(3),
  jobThreads: integer({ min: 1 }).optional(),
  bufferStateManager: nested({
    managePeriod: duration.prefault("1s"),
    demandWindow: duration.prefault("60s"),
    inputBuffer: jobBuffer,
    outputBuffer: jobBuffer,
  }),
  loadThroughputThrottler: freeMap,
  stateCache: nested({
    compressedCacheWeight: size.prefault("1Gi"),
    uncompressedCacheWeight: size.prefault("100Mi"),
  }),
});

const controllerConnector = nested({
  controllerWaitTimeout: duration.prefault("5m"),
  controllerDiscoverPeriod: duration.prefault("10s"),
  controllerHeartbeatPeriod: duration.prefault("1s"),
  controllerHeartbeatRpcTimeout: duration.prefault("10s"),
  controllerHeartbeatFailureBackoff: duration.prefault("1s"),
  controllerHandshakeRpcTimeout: duration.prefault("10s"),
  controllerHandshakeFailureBackoff: duration.prefault("1s"),
  orchidUpdatePeriod: duration.prefault("1s"),
});

export const pipelineStates = [
  "unknown",
  "stopped",
  "paused",
  "working",
  "draining",
  "pausing",
  "completed",
] as const;

export const dynamicPipelineSpec = struct({
  targetState: z.enum(pipelineStates).prefault("unknown"),
  computations: mapOfFields(dynamicComputationSpec),
  resources: mapOfFields(freeMap),
  throttlers: mapOfFields(throttlerSpec),
  jobManager,
  messageDistributor,
  jobTracker,
  controllerConnector,
  enableMermaidGraphDescribe: boolean.prefault(false),
  flowViewCacheCodec: text.prefault("zstd_2"),
});

export type DynamicPipelineSpec = z.output<typeof dynamicPipelineSpec>;
export type DynamicComputationSpec = z.output<typeof dynamicComputationSpec>;

/** @throws YtError 1 naming the path of a wrong field. What concerns several fields is `validateDynamicSpec`'s. */
export function parseDynamicSpec(value: YsonValue): ParsedSpec<DynamicPipelineSpec> {
  return parseSpec(dynamicPipelineSpec, value, "dynamic pipeline spec");
}

/** The settings of a computation that the dynamic spec does not mention. */
export const defaultDynamicComputationSpec: DynamicComputationSpec = parseSpec(
  dynamicComputationSpec,
  emptyMap,
  "dynamic computation spec",
).spec;
