/**
 * How many partitions a queue has, as the controller knows it: asked for again and again, the last answer kept.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/queue_info.cpp.
 */
import { bare, isMap, mapOf, toYtError, type YsonMap, YtError } from "@qyt/base";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import { Periodic } from "../common/periodic.ts";
import type { ConnectorContext } from "../connector.ts";

const stateName = "queue_info/v0";
const statusPath = "/queue_info/update_partition_count";

export interface QueueInfoOptions {
  readonly context: ConnectorContext;
  /** Of a queue on several clusters the largest count holds. */
  readonly queues: readonly ClusterPath[];
  readonly periodMs: number;
  readonly retryMinBackoffMs: number;
  /** Called after each answer. */
  readonly onCount?: (count: number) => void;
}

export class QueueInfo {
  readonly #options: QueueInfoOptions;
  readonly #refresh: Periodic;
  #count: number | undefined;

  constructor(options: QueueInfoOptions) {
    this.#options = options;
    this.#refresh = new Periodic({
      clock: options.context.clock,
      random: options.context.random,
      periodMs: () => options.periodMs,
      minBackoffMs: options.retryMinBackoffMs,
      work: (signal) => this.#update(signal),
    });
  }

  /** `undefined` until it was told once. */
  get partitionCount(): number | undefined {
    return this.#count;
  }

  /** What a controller stores. */
  get state(): YsonMap {
    const count = this.#count === undefined ? undefined : BigInt(this.#count);
    return mapOf({ [stateName]: mapOf({ cached_partition_count: count }) });
  }

  start(state: YsonMap | undefined): void {
    const own = bare(state?.get(stateName) ?? null);
    const count = isMap(own) ? bare(own.get("cached_partition_count") ?? null) : null;
    this.#count = typeof count === "bigint" ? Number(count) : undefined;
    this.#refresh.start();
  }

  async stop(): Promise<void> {
    await this.#refresh.stop();
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    const { context, queues, onCount } = this.#options;
    try {
      const counts = await Promise.all(queues.map((queue) => readTabletCount(context, queue, signal)));
      this.#count = Math.max(...counts);
      context.status.report(statusPath, undefined);
      onCount?.(this.#count);
      return true;
    } catch (thrown) {
      if (!signal.aborted) {
        const inner = toYtError(thrown);
        const error = new YtError("Failed to update partition count", { code: inner.code, inner: [inner] });
        context.status.report(statusPath, error);
      }
      return false;
    }
  }
}

/** @throws YtError when the queue cannot be read, or tells no positive number */
export async function readTabletCount(
  { clusters }: Pick<ConnectorContext, "clusters">,
  { cluster, path }: ClusterPath,
  signal?: AbortSignal,
): Promise<number> {
  const options = signal === undefined ? {} : { signal };
  const value = bare(await clusters.cluster(cluster).get(`${path}/@tablet_count`, options));
  if (typeof value !== "bigint") {
    throw new YtError(`Queue ${path} has no @tablet_count; is it a mounted dynamic table?`);
  }
  return Number(value);
}
