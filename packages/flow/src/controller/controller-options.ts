/** What a controller is given. */
import type { Clock, Random, YtError } from "@qyt/base";
import type { FlowCluster } from "../cluster/flow-cluster.ts";
import type { ConnectorContext, ConnectorRegistry } from "../connectors/connector.ts";

export interface ControllerOptions {
  /** The cluster of the pipeline. */
  readonly cluster: FlowCluster;
  readonly pipelinePath: string;
  /** Where workers and the cluster reach this controller. */
  readonly address: string;
  /** New with each start. */
  readonly incarnationId: string;
  readonly registry: ConnectorRegistry;
  /** A context for connectors' controllers, whose status goes to `report`. */
  readonly connectorContext: (report: (path: string, error: YtError | undefined) => void) => ConnectorContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: (level: "info" | "warn" | "error", message: string, fields?: Record<string, unknown>) => void;
  /** Between two cycles, in milliseconds. */
  readonly cyclePeriodMs: number;
  /** How long the leader's lease holds without being prolonged, in seconds. */
  readonly leaderLeaseSeconds: number;
  /** How long jobs may commit after the leader was heard last, in seconds. */
  readonly jobLeaseSeconds: number;
}
