/**
 * The messages that a transform has processed: looked up before, written in the epoch's transaction.
 * Specified in: yt/yt/flow/library/cpp/computation/stores/input_store.cpp.
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { FlowCluster, FlowTransaction, Rowset } from "../cluster/flow-cluster.ts";
import type { ComputationId, KeyedMessage } from "../model/message.ts";
import { textCell } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { deduplicationKeys, keyCell } from "../tables/input-keys.ts";

export interface InputStoreOptions {
  readonly cluster: FlowCluster;
  readonly pipelinePath: string;
  readonly computationId: ComputationId;
  readonly keyTypes: readonly PhysicalType[];
  /** `use_compact_input_messages`: needs a first key column of type uint64. */
  readonly isCompact: boolean;
}

export class InputStore {
  readonly #cluster: FlowCluster;
  readonly #path: string;
  readonly #keyColumns: readonly string[];
  readonly #rowOf: (message: KeyedMessage) => RowValue[];
  #registered: KeyedMessage[] = [];

  constructor(options: InputStoreOptions) {
    const { computationId, keyTypes, isCompact, pipelinePath } = options;
    this.#cluster = options.cluster;
    this.#path = pipelineTablePath(pipelinePath, isCompact ? "compact_input_messages" : "input_messages");
    if (isCompact) {
      const keyOf = deduplicationKeys(computationId);
      this.#keyColumns = ["deduplication_message_key"];
      this.#rowOf = ({ message, key }) => [keyOf(message.messageId, key)];
    } else {
      const computation = textCell(computationId);
      this.#keyColumns = ["computation_id", "key", "message_id"];
      this.#rowOf = ({ message, key }) => [computation, keyCell(key, keyTypes), textCell(message.messageId)];
    }
  }

  /** Which of the messages have been processed already. */
  async contains(messages: readonly KeyedMessage[]): Promise<readonly boolean[]> {
    if (messages.length === 0) {
      return [];
    }
    const keys: Rowset = { columns: this.#keyColumns, rows: messages.map(this.#rowOf) };
    const rows = await this.#cluster.lookupRows(this.#path, keys, {
      columns: ["system_timestamp"],
      timestamp: "sync_last_committed",
    });
    return rows.map((row) => row !== null);
  }

  /** The messages are processed in this epoch. */
  register(messages: readonly KeyedMessage[]): void {
    this.#registered.push(...messages);
  }

  write(transaction: FlowTransaction): void {
    if (this.#registered.length > 0) {
      const rows = this.#registered.map((keyed) => [
        ...this.#rowOf(keyed),
        BigInt(keyed.message.systemTimestamp),
      ]);
      transaction.insertRows(this.#path, { columns: [...this.#keyColumns, "system_timestamp"], rows });
      this.#registered = [];
    }
  }
}
