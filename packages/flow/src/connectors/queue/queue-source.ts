/**
 * `TQueueSource`: one partition of a queue, read through a consumer.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/source.cpp; documentation "Flow", queue connector.
 */
import { toYtError, type YsonMap, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import type { Key, StreamId } from "../../model/message.ts";
import { largest } from "../common/offset-tracker.ts";
import { OrderedSourceBase } from "../common/ordered-source.ts";
import { Periodic } from "../common/periodic.ts";
import type { SourceRecord } from "../common/record-summary.ts";
import type { ConnectorContext } from "../connector.ts";
import { onCluster } from "./parameter-types.ts";
import {
  type ParsedParameters,
  parseParameters,
  sourceDynamicParameters,
  sourceParameters,
} from "./parameters.ts";
import { readPartitionEnds } from "./partition-info.ts";
import { QueueReader } from "./queue-reader.ts";
import { parseQueueKey } from "./source-key.ts";

const infoStatus = "/update_partition_info";

export type SourceSettings = ParsedParameters<typeof sourceParameters>;

export interface QueueSourceOptions {
  readonly context: ConnectorContext;
  readonly streamId: StreamId;
  readonly key: Key;
  readonly settings: SourceSettings;
  readonly dynamicParameters: YsonMap;
}

export class QueueSource extends OrderedSourceBase {
  readonly #queue: ClusterPath;
  readonly #consumer: ClusterPath;
  readonly #partitionIndex: number;
  readonly #reader: QueueReader;
  readonly #refresh: Periodic;
  #dynamic: ParsedParameters<typeof sourceDynamicParameters>;
  /** Of the first report: rows before it are not this source's. */
  #initialOffset: bigint | undefined;

  /** @throws YtError as `parseQueueKey` and the parameters do */
  constructor({ context, streamId, key, settings, dynamicParameters }: QueueSourceOptions) {
    const queue = onCluster(settings.queuePath, "QueuePath should have cluster");
    const consumer = onCluster(settings.consumerPath, "ConsumerPath should have cluster");
    const { partitionIndex } = parseQueueKey(key);
    super({
      context,
      streamId,
      title: `${queue.cluster}:${queue.path}, partition ${partitionIndex}`,
      byteSizeAlpha: settings.byteSizeAlpha,
      isFinite: settings.finite,
    });
    this.#queue = queue;
    this.#consumer = consumer;
    this.#partitionIndex = partitionIndex;
    this.#dynamic = parseDynamic(dynamicParameters);
    this.#reader = new QueueReader({
      context,
      queue,
      consumer,
      partitionIndex,
      metaColumn: settings.tryParseFlowQueueMeta ? settings.flowQueueMetaColumn : undefined,
      ignoresMalformedMeta: settings.ignoreMalformedFlowQueueMeta,
    });
    this.#refresh = new Periodic({
      clock: context.clock,
      random: context.random,
      periodMs: () => settings.updateInfoPeriod,
      work: (signal) => this.#update(signal),
    });
  }

  get payloadSchema(): TableSchema | undefined {
    return this.#reader.schema;
  }

  reconfigure(dynamicParameters: YsonMap): void {
    this.#dynamic = parseDynamic(dynamicParameters);
  }

  protected get unavailableThresholdMs(): number {
    return this.#dynamic.unavailableThreshold;
  }

  protected start(): void {
    this.#refresh.start();
  }

  protected async stop(): Promise<void> {
    await this.#refresh.stop();
  }

  protected publishOffsetSoon(): void {
    this.#refresh.trigger();
  }

  protected async readRecords(
    offset: bigint,
    { maxRows, maxBytes }: { readonly maxRows: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly SourceRecord[]> {
    const limits = { maxRowCount: BigInt(maxRows), maxDataWeight: BigInt(maxBytes) };
    const call = { signal, timeoutMs: this.#dynamic.pullQueueTimeout };
    const records = await this.#reader.read(offset, limits, call);
    const initial = this.#initialOffset ?? 0n;
    return records.filter((record) => {
      if (record.offset < initial) {
        this.context.log("warn", "Row before the consumer's first offset was skipped", {
          queue: this.#queue.path,
          partition: this.#partitionIndex,
          offset: record.offset,
          initial_offset: initial,
        });
      }
      return record.offset >= initial;
    });
  }

  /** Asks for the partition's ends and the consumer's offset, and publishes the own position to the consumer. */
  async #update(signal: AbortSignal): Promise<boolean> {
    const { clusters, clock, status } = this.context;
    const home = clusters.cluster(this.#consumer.cluster);
    const link = [this.#consumer, this.#queue, this.#partitionIndex] as const;
    try {
      const atMs = clock.now();
      const [stored, { trimmedRowCount, totalRowCount }] = await Promise.all([
        home.consumerOffset(...link, { signal }),
        readPartitionEnds(this.context, this.#queue, this.#partitionIndex, { signal }),
      ]);
      const committed = stored ?? 0n;
      const start = committed > trimmedRowCount ? committed : trimmedRowCount;
      this.#tellStart(stored, start);
      this.#initialOffset ??= committed;
      this.report({ committed: start, max: totalRowCount, atMs });
      const durable = this.durableOffset;
      if (durable > committed) {
        await home.advanceConsumer(...link, { oldOffset: committed, newOffset: durable }, { signal });
        this.report({
          committed: largest(durable, trimmedRowCount),
          max: totalRowCount,
          atMs,
        });
      }
      status.report(infoStatus, this.#remade(totalRowCount, durable));
      return true;
    } catch (thrown) {
      if (!signal.aborted) {
        const inner = toYtError(thrown);
        const attributes = { queue_path: this.#queue.path, partition_index: BigInt(this.#partitionIndex) };
        status.report(
          infoStatus,
          new YtError("Failed to update partition info", { code: inner.code, inner: [inner], attributes }),
        );
      }
      return false;
    }
  }

  /** A partition without state says where it begins. */
  #tellStart(stored: bigint | undefined, start: bigint): void {
    if (this.#initialOffset !== undefined || !this.position.isNew) {
      return;
    }
    const reason =
      stored === undefined
        ? "the consumer has no offset, so from the oldest row that is left"
        : stored < start
          ? `the consumer's offset ${stored} is trimmed, so from the oldest row that is left`
          : "the consumer's offset";
    this.context.log(
      "info",
      `Partition ${this.#partitionIndex} of queue ${this.#queue.cluster}:${this.#queue.path} is read anew from offset ${start}: ${reason}`,
      { partition: this.#partitionIndex, offset: start },
    );
  }

  /** A queue that has fewer rows than were read from it is another one. */
  #remade(totalRowCount: bigint, durable: bigint): YtError | undefined {
    return durable <= totalRowCount
      ? undefined
      : new YtError(
          `Partition ${this.#partitionIndex} of queue ${this.#queue.cluster}:${this.#queue.path} has ${totalRowCount} rows, but ${durable} were processed: was the queue removed and made anew? Rows before offset ${durable} will not be read. To read them, stop the pipeline, give the queue another path or recreate the pipeline, and advance the consumer to 0`,
          {
            attributes: {
              partition_index: BigInt(this.#partitionIndex),
              total_row_count: totalRowCount,
              offset: durable,
            },
          },
        );
  }
}

function parseDynamic(parameters: YsonMap): ParsedParameters<typeof sourceDynamicParameters> {
  return parseParameters(sourceDynamicParameters, parameters, "dynamic parameters of the queue source");
}

export function parseSourceSettings(parameters: YsonMap): SourceSettings {
  return parseParameters(sourceParameters, parameters, "parameters of the queue source");
}
