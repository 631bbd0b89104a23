/**
 * A worker as a process: listens for other workers, finds the leading controller by the pipeline's node, and sends
 * it heartbeats.
 */
import { type Clock, type Random, YtError } from "@qyt/base";
import { bare } from "@qyt/yson";
import type { ClusterDirectory } from "../cluster/flow-cluster.ts";
import type { ConnectorContext, ConnectorRegistry } from "../connectors/connector.ts";
import type { FunctionRegistry } from "../functions/process-function.ts";
import { heartbeatAnswerFromYson, heartbeatToYson } from "../protocol/heartbeat-codec.ts";
import { HttpNetwork, listenForCalls } from "../protocol/http-network.ts";
import type { Heartbeat, HeartbeatAnswer } from "../protocol/protocol.ts";
import { Worker } from "./worker.ts";

/** The method of controllers that takes heartbeats. */
export const heartbeatMethod = "heartbeat";

const heartbeatTimeoutMs = 10_000;

export interface WorkerProcessOptions {
  readonly pipelinePath: string;
  readonly pipelineCluster: string;
  readonly clusters: ClusterDirectory;
  readonly registry: ConnectorRegistry;
  readonly functions: FunctionRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ConnectorContext["log"];
  /** The host under which other workers reach this process. */
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly workerGroups: readonly string[];
  /** How much memory messages on their way may take, in bytes. */
  readonly messageMemory?: number;
}

export interface WorkerProcess {
  readonly address: string;
  /** Ends the jobs after their epochs. */
  stop(): Promise<void>;
}

/** Starts a worker in this process. @throws when it cannot listen */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const network = new HttpNetwork();
  let worker: Worker | undefined;
  const endpoint = await listenForCalls(
    async (method, body) => {
      if (worker === undefined) {
        throw new YtError("Worker is starting", { code: "Unavailable" });
      }
      return await worker.handle(method, body);
    },
    options.host,
    options.port,
  );
  const leader = new LeaderFinder(options);
  worker = new Worker({
    ...options,
    address: endpoint.address,
    network,
    incarnation: newIncarnation(options.random),
    heartbeat: async (heartbeat: Heartbeat): Promise<HeartbeatAnswer> => {
      const address = await leader.address();
      try {
        const answer = await network.call(address, heartbeatMethod, heartbeatToYson(heartbeat), {
          timeoutMs: heartbeatTimeoutMs,
        });
        return heartbeatAnswerFromYson(answer);
      } catch (thrown) {
        leader.forget();
        throw thrown;
      }
    },
  });
  worker.start();
  const started = worker;
  return {
    address: endpoint.address,
    async stop() {
      await started.stop();
      await endpoint.close();
      network.close();
    },
  };
}

/** `leader_controller_address` of the pipeline's node, read again after a failure. */
class LeaderFinder {
  readonly #options: Pick<WorkerProcessOptions, "clusters" | "pipelineCluster" | "pipelinePath" | "clock">;
  #address: string | undefined;

  constructor(
    options: Pick<WorkerProcessOptions, "clusters" | "pipelineCluster" | "pipelinePath" | "clock">,
  ) {
    this.#options = options;
  }

  async address(): Promise<string> {
    this.#address ??= await this.#read();
    return this.#address;
  }

  forget(): void {
    this.#address = undefined;
  }

  async #read(): Promise<string> {
    const { clusters, pipelineCluster, pipelinePath } = this.#options;
    const value = bare(
      await clusters.cluster(pipelineCluster).get(`${pipelinePath}/@leader_controller_address`),
    );
    if (typeof value !== "string" || value === "") {
      throw new YtError(`No controller leads pipeline ${pipelinePath}: start one with "qyt flow controller"`);
    }
    return value;
  }
}

const incarnationWords = 4;

function newIncarnation(random: Random): string {
  return Array.from({ length: incarnationWords }, () => random.uint32().toString(16)).join("-");
}
