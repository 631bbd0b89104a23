/**
 * `TSyncQueueSink`: rows are written in the transaction of the epoch.
 * Specified in: yt/yt/flow/library/cpp/connectors/common/sync_sink_base.cpp, connectors/queue/sink.cpp.
 */
import { mapOf, type YsonMap } from "@qyt/base";
import { rowValuesWeight, systemColumns } from "@qyt/schema";
import type { FlowTransaction } from "../../cluster/flow-cluster.ts";
import type { Message, MessageId } from "../../model/message.ts";
import { messageId } from "../../model/message-ids.ts";
import type { ConnectorContext, Sink, SinkContextSpec } from "../connector.ts";
import { onlyInput, RowBuilder } from "./row-builder.ts";
import { parseSinkDynamic, parseSyncSink, routingOf, syncSinkQueue } from "./sink-settings.ts";
import { TabletRouter } from "./tablet-router.ts";

export class SyncQueueSink implements Sink {
  readonly #path: string;
  readonly #rows: RowBuilder;
  readonly #router: TabletRouter | undefined;
  #maxPersisted: MessageId = messageId("");
  #queued: Message[] = [];

  /** @throws YtError for wrong parameters, more than one input stream, and expressions that do not fit it */
  constructor(context: ConnectorContext, spec: SinkContextSpec) {
    const settings = parseSyncSink(spec.parameters);
    const queue = syncSinkQueue(settings, context.pipelineCluster);
    onlyInput(spec.inputStreamIds);
    const schema = onlyInput(spec.inputSchemas);
    const expression = routingOf(settings);
    this.#path = queue.path;
    this.#rows = new RowBuilder({
      schema,
      columnFilter: settings.columnFilter,
      metaColumn: settings.writeFlowQueueMeta ? settings.flowQueueMetaColumn : undefined,
    });
    this.#router =
      expression === undefined
        ? undefined
        : new TabletRouter({
            context,
            queue,
            expression,
            schema,
            tabletCount: settings.tabletCount,
            refreshPeriodMs: settings.updatePartitionCountPeriod,
          });
  }

  async init(state: YsonMap | undefined): Promise<void> {
    const persisted = state?.get("max_persisted_message_id");
    this.#maxPersisted = messageId(typeof persisted === "string" ? persisted : "");
  }

  distribute(message: Message, done: () => void): void {
    // What an earlier epoch wrote is handed out again when its messages were not acknowledged before a crash.
    if (message.messageId > this.#maxPersisted) {
      this.#maxPersisted = message.messageId;
      this.#queued.push(message);
    }
    done();
  }

  async sync(transaction: FlowTransaction): Promise<YsonMap | undefined> {
    if (this.#queued.length === 0) {
      return undefined;
    }
    const messages = this.#queued;
    const indexes = await this.#router?.route(messages);
    this.#queued = [];
    transaction.insertRows(this.#path, {
      columns:
        indexes === undefined ? this.#rows.columns : [systemColumns.tabletIndex, ...this.#rows.columns],
      rows: messages.map((message, position) => {
        const row = this.#rows.build(message);
        return indexes === undefined ? row : [indexes[position] ?? null, ...row];
      }),
    });
    return mapOf({ max_persisted_message_id: this.#maxPersisted });
  }

  committed(): void {}

  get inflight(): { readonly count: number; readonly byteSize: number } {
    const byteSize = this.#queued.reduce((sum, { payload }) => sum + rowValuesWeight(payload), 0);
    return { count: this.#queued.length, byteSize };
  }

  reconfigure(dynamicParameters: YsonMap): void {
    parseSinkDynamic(dynamicParameters);
  }

  async close(): Promise<void> {
    await this.#router?.stop();
  }
}
