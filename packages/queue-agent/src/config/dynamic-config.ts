/**
 * The dynamic configuration: the node `<root>/config`, applied to a running agent.
 *
 * Specified in: yt/yt/server/queue_agent/config.h. Durations are milliseconds in the node and here.
 * Where this project's default differs from the real one, the field says so.
 */

export interface RetryBackoff {
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly multiplier: number;
  /** Share of the backoff that is random, 0 to 1. */
  readonly jitter: number;
}

export interface QueueExporterConfig {
  /** `false`: no task starts; exports stay configured and hold trimming. */
  readonly enable: boolean;
  readonly passPeriodMs: number;
  readonly maxExportedTableCountPerTask: number;
  readonly retryBackoff: RetryBackoff;
  readonly implementation: "old" | "new";
  readonly enableRowCountCheck: boolean;
}

export interface ControllerConfig {
  readonly passPeriodMs: number;
  /** Here on by default (upstream off). */
  readonly enableAutomaticTrimming: boolean;
  /** `null`: with every pass. */
  readonly trimmingPeriodMs: number | null;
  readonly queueExporter: QueueExporterConfig;
  /** References of objects whose passes wait `controllerDelayMs` first: for tests. */
  readonly delayedObjects: ReadonlySet<string>;
  readonly controllerDelayMs: number;
  /** Thresholds of the alerts that operators ask for; of qyt. */
  readonly stuckVitalConsumerThresholdMs: number;
  readonly lostRowsThresholdMs: number;
  readonly stuckOffsetThresholdMs: number;
}

interface SynchronizerConfig {
  readonly passPeriodMs: number;
  readonly enable: boolean;
  /** Here `watching` by default (upstream `polling`). */
  readonly policy: "polling" | "watching";
  /** Watched clusters; `null` (the default here): all known ones. */
  readonly clusters: readonly string[] | null;
  readonly writeReplicatedTableMapping: boolean;
}

export interface DynamicConfig {
  readonly alertCollectionPeriodMs: number;
  readonly sharding: {
    /** Here 500 by default (upstream 5000). */
    readonly passPeriodMs: number;
    readonly syncBannedInstancesPeriodMs: number;
  };
  readonly synchronizer: SynchronizerConfig;
  readonly agent: {
    /** Here 500 by default (upstream 1000): a new object has its status within 2 seconds. */
    readonly passPeriodMs: number;
    /** Here on by default (upstream off): their statuses say that they are not followed. */
    readonly handleReplicatedObjects: boolean;
    readonly inactiveObjectDisplayLimit: number;
    readonly queueAgentChannelRequestTimeoutMs: number;
    readonly controller: ControllerConfig;
    /** Export tasks started per second by one instance. */
    readonly exportRateLimit: number;
  };
}

export const defaultDynamicConfig: DynamicConfig = {
  alertCollectionPeriodMs: 500,
  sharding: { passPeriodMs: 500, syncBannedInstancesPeriodMs: 5_000 },
  synchronizer: {
    passPeriodMs: 500,
    enable: true,
    policy: "watching",
    clusters: null,
    writeReplicatedTableMapping: false,
  },
  agent: {
    passPeriodMs: 500,
    handleReplicatedObjects: true,
    inactiveObjectDisplayLimit: 10,
    queueAgentChannelRequestTimeoutMs: 60_000,
    exportRateLimit: 4,
    controller: {
      passPeriodMs: 1_000,
      enableAutomaticTrimming: true,
      trimmingPeriodMs: null,
      delayedObjects: new Set(),
      controllerDelayMs: 0,
      stuckVitalConsumerThresholdMs: 600_000,
      lostRowsThresholdMs: 600_000,
      stuckOffsetThresholdMs: 600_000,
      queueExporter: {
        enable: true,
        passPeriodMs: 1_000,
        maxExportedTableCountPerTask: 10,
        retryBackoff: { minBackoffMs: 1_000, maxBackoffMs: 300_000, multiplier: 1.5, jitter: 0.1 },
        implementation: "old",
        enableRowCountCheck: true,
      },
    },
  },
};
