/**
 * The controller's side of a queue source: a key for each partition that is to be read, and word of where reading
 * begins when the source was pointed at another queue.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/source_controller_base.cpp, connectors/queue/source.cpp.
 */
import { bare, isMap, toYtError, type YsonMap, type YsonValue } from "@qyt/base";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import type { Key } from "../../model/message.ts";
import type { ConnectorContext, SourceController } from "../connector.ts";
import { isSelected, onCluster } from "./parameter-types.ts";
import { readPartitionEnds } from "./partition-info.ts";
import { QueueInfo } from "./queue-info.ts";
import type { SourceSettings } from "./queue-source.ts";
import { queueIdentity, queueKey } from "./source-key.ts";

/** Offsets of so many partitions are told one by one. */
const maxToldPartitions = 100;

export class QueueSourceController implements SourceController {
  readonly #context: ConnectorContext;
  readonly #settings: SourceSettings;
  readonly #queue: ClusterPath;
  readonly #consumer: ClusterPath;
  readonly #identity: string;
  readonly #info: QueueInfo;
  /** The queue of the state that was found, if it is another one. */
  #former: string | undefined;
  #told: Promise<void> | undefined;

  constructor(context: ConnectorContext, settings: SourceSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#queue = onCluster(settings.queuePath, "QueuePath should have cluster");
    this.#consumer = onCluster(settings.consumerPath, "ConsumerPath should have cluster");
    this.#identity = queueIdentity(this.#queue);
    this.#info = new QueueInfo({
      context,
      queues: [this.#queue],
      periodMs: settings.updatePartitionCountPeriod,
      retryMinBackoffMs: settings.updatePartitionCountRetryMinBackoff,
      onCount: (count) => this.#tellChange(count),
    });
  }

  listKeys(): readonly Key[] | undefined {
    const count = this.#info.partitionCount;
    if (count === undefined) {
      return undefined;
    }
    const keys: Key[] = [];
    for (let partitionIndex = 0; partitionIndex < count; ++partitionIndex) {
      if (isSelected(this.#settings.partitionFilter, partitionIndex)) {
        keys.push(queueKey({ identity: this.#identity, partitionIndex }));
      }
    }
    return keys;
  }

  /** Belongs to one queue: it is kept under the queue's identity. */
  get state(): YsonMap {
    const state = new Map<string, YsonValue>(this.#info.state);
    state.set("queue", `${this.#queue.cluster}:${this.#queue.path}`);
    return new Map([[this.#identity, state]]);
  }

  start(state: YsonMap | undefined): void {
    const own = bare(state?.get(this.#identity) ?? null);
    if (!isMap(own)) {
      const [former] = state?.values() ?? [];
      const queue = isMap(former) ? bare(former.get("queue") ?? null) : null;
      this.#former = typeof queue === "string" ? queue : undefined;
    }
    this.#info.start(isMap(own) ? own : undefined);
  }

  async stop(): Promise<void> {
    await this.#info.stop();
    await this.#told;
  }

  #tellChange(partitionCount: number): void {
    const former = this.#former;
    if (former !== undefined) {
      this.#former = undefined;
      this.#told = this.#tell(former, partitionCount);
    }
  }

  async #tell(former: string, partitionCount: number): Promise<void> {
    const { cluster, path } = this.#queue;
    const selected: number[] = [];
    for (let index = 0; index < partitionCount && selected.length < maxToldPartitions; ++index) {
      if (isSelected(this.#settings.partitionFilter, index)) {
        selected.push(index);
      }
    }
    const starts = await Promise.all(selected.map((index) => this.#startOf(index)));
    const more = partitionCount > maxToldPartitions ? ", …" : "";
    this.#context.log(
      "warn",
      `The source reads queue ${cluster}:${path} now and no longer ${former}: its former partitions and their offsets are dropped, and the new ones start from the consumer's offsets: ${starts.join(", ")}${more}`,
      { queue: `${cluster}:${path}`, former_queue: former },
    );
  }

  async #startOf(index: number): Promise<string> {
    try {
      const home = this.#context.clusters.cluster(this.#consumer.cluster);
      const [stored = 0n, { trimmedRowCount }] = await Promise.all([
        home.consumerOffset(this.#consumer, this.#queue, index),
        readPartitionEnds(this.#context, this.#queue, index, {}),
      ]);
      return stored >= trimmedRowCount && stored > 0n
        ? `partition ${index} from ${stored}`
        : `partition ${index} from ${trimmedRowCount} (the oldest row)`;
    } catch (thrown) {
      return `partition ${index} from an offset that cannot be read now (${toYtError(thrown).message})`;
    }
  }
}
