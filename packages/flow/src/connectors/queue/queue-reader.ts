/**
 * Reads rows of a queue's partition through a consumer, and understands them.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/source.cpp.
 */
import { toYtError, YtError } from "@qyt/base";
import { type RowValue, systemColumns, type TableSchema } from "@qyt/schema";
import type { ClusterPath, PullLimits } from "../../cluster/flow-cluster.ts";
import type { FlowTimestamp } from "../../model/message.ts";
import { timestampOfWrite, undefinedTimestamp } from "../../model/timestamps.ts";
import type { SourceRecord } from "../common/record-summary.ts";
import type { ConnectorContext } from "../connector.ts";
import { type FlowQueueMeta, parseFlowQueueMeta } from "./flow-queue-meta.ts";

export interface QueueReaderOptions {
  readonly context: ConnectorContext;
  readonly queue: ClusterPath;
  readonly consumer: ClusterPath;
  readonly partitionIndex: number;
  /** Of the meta; `undefined`: it is not understood. */
  readonly metaColumn: string | undefined;
  readonly ignoresMalformedMeta: boolean;
}

/** Where the columns are that a row needs. */
interface Columns {
  readonly rowIndex: number;
  readonly timestamp: number;
  readonly meta: number;
}

export class QueueReader {
  readonly #options: QueueReaderOptions;
  #schema: TableSchema | undefined;
  #columns: Columns = { rowIndex: -1, timestamp: -1, meta: -1 };

  constructor(options: QueueReaderOptions) {
    this.#options = options;
  }

  /** The queue's columns, those of the system among them; known after the first answer. */
  get schema(): TableSchema | undefined {
    return this.#schema;
  }

  /** @throws YtError when the rows cannot be had or understood */
  async read(
    offset: bigint,
    limits: PullLimits,
    call: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<readonly SourceRecord[]> {
    const { context, consumer, queue, partitionIndex } = this.#options;
    const { schema, rows } = await context.clusters
      .cluster(consumer.cluster)
      .pullQueueConsumer(consumer, queue, partitionIndex, offset, limits, call);
    this.#use(schema);
    if (rows.length > 0) {
      this.#require(this.#columns.rowIndex, systemColumns.rowIndex);
      this.#require(this.#columns.timestamp, systemColumns.timestamp);
    }
    return rows.map((row) => this.#record(row));
  }

  /** The same schema stays the same object, so that what was compiled for it stays good. */
  #use(schema: TableSchema): void {
    if (this.#schema?.equals(schema) === true) {
      return;
    }
    const { metaColumn } = this.#options;
    this.#schema = schema;
    this.#columns = {
      rowIndex: schema.indexOf(systemColumns.rowIndex),
      timestamp: schema.indexOf(systemColumns.timestamp),
      meta: metaColumn === undefined ? -1 : schema.indexOf(metaColumn),
    };
  }

  #require(index: number, name: string): void {
    if (index < 0) {
      throw new YtError(
        `Queue ${this.#options.queue.path} has no column "${name}"; a source needs the time of each row: add the column with alter_table`,
      );
    }
  }

  #record(row: readonly RowValue[]): SourceRecord {
    const offset = row[this.#columns.rowIndex];
    const written = row[this.#columns.timestamp];
    if (typeof offset !== "bigint") {
      throw new YtError(`A row of queue ${this.#options.queue.path} has no row index`);
    }
    const writeTimestamp = typeof written === "bigint" ? timestampOfWrite(written) : undefinedTimestamp;
    if (writeTimestamp === undefinedTimestamp) {
      throw new YtError("WriteTimestamp is undefined", { attributes: { row_index: offset } });
    }
    const meta = this.#meta(row[this.#columns.meta] ?? null, offset);
    if (meta?.eventTimestamp === undefinedTimestamp) {
      throw new YtError("EventTimestamp is undefined", { attributes: { row_index: offset } });
    }
    return {
      offset,
      payloads: meta?.isPureHeartbeat === true ? [] : [row],
      writeTimestamp,
      eventTimestamp: meta?.eventTimestamp,
      eventTimestampDeltas: meta?.eventTimestampDeltas ?? [],
      eventWatermark: positive(meta?.eventWatermark),
    };
  }

  #meta(cell: RowValue, offset: bigint): FlowQueueMeta | undefined {
    const { metaColumn, ignoresMalformedMeta, context, partitionIndex, consumer, queue } = this.#options;
    if (metaColumn === undefined || cell === null) {
      return undefined;
    }
    try {
      return parseFlowQueueMeta(cell, metaColumn);
    } catch (thrown) {
      const error = toYtError(thrown);
      if (ignoresMalformedMeta) {
        context.log("warn", "Malformed flow queue meta was ignored", {
          queue: queue.path,
          partition: partitionIndex,
          offset,
          reason: error.message,
        });
        return undefined;
      }
      throw new YtError(
        `Failed to parse flow queue meta from "${metaColumn}" at offset ${offset} of partition ${partitionIndex} of queue ${queue.cluster}:${queue.path}. Reading stays there until you either set "ignore_malformed_flow_queue_meta" (the row is then taken with its write time) or skip the row: yt advance-queue-consumer ${consumer.path} ${queue.path} --partition-index ${partitionIndex} --new-offset ${offset + 1n}`,
        {
          inner: error.innerErrors,
          attributes: { partition_index: BigInt(partitionIndex), offset },
        },
      );
    }
  }
}

/** A watermark of 0 promises nothing. */
function positive(timestamp: FlowTimestamp | undefined): FlowTimestamp | undefined {
  return timestamp === undefinedTimestamp ? undefined : timestamp;
}
