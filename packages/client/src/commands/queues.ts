/**
 * Commands of queues, consumers and producers that run in no transaction of the caller.
 * Specified in: yt/yt/client/driver/queue_commands.cpp; YTsaurus documentation, "Commands".
 */
import type { YsonValue } from "@qyt/base";
import { field, integer } from "../answers.ts";
import { pullPortion } from "../pulls.ts";
import type { CommandOptions, PathInput, ProducerSession, PulledPortion, PullOptions } from "../types.ts";
import { named } from "./family.ts";
import { TabletCommands } from "./tablets.ts";

export class QueueCommands extends TabletCommands {
  /** Lets a consumer read a queue. A vital one keeps rows from being trimmed until it has read them. */
  async registerQueueConsumer(
    queuePath: PathInput,
    consumerPath: PathInput,
    options: CommandOptions & { readonly vital: boolean; readonly partitions?: readonly bigint[] },
  ): Promise<void> {
    await this.write(
      "register_queue_consumer",
      {
        queue_path: queuePath,
        consumer_path: consumerPath,
        vital: options.vital,
        partitions: options.partitions,
      },
      options,
    );
  }

  /** Ends a registration. */
  async unregisterQueueConsumer(
    queuePath: PathInput,
    consumerPath: PathInput,
    options: CommandOptions = {},
  ): Promise<void> {
    await this.write(
      "unregister_queue_consumer",
      { queue_path: queuePath, consumer_path: consumerPath },
      options,
    );
  }

  /** Registrations of a queue, of a consumer, or all: maps of `queue_path`, `consumer_path`, `vital`, `partitions`. */
  async listQueueConsumerRegistrations(
    options: CommandOptions & { readonly queuePath?: PathInput; readonly consumerPath?: PathInput } = {},
  ): Promise<YsonValue> {
    const result = await this.read(
      "list_queue_consumer_registrations",
      { queue_path: options.queuePath, consumer_path: options.consumerPath },
      options,
    );
    return result ?? [];
  }

  /** The rows of `pullQueuePortion`. */
  async pullQueue(
    queuePath: PathInput,
    offset: bigint,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<Record<string, unknown>[]> {
    return (await this.pullQueuePortion(queuePath, offset, partitionIndex, options)).rows;
  }

  /** Rows of one partition from an offset on, with what is told about them. */
  pullQueuePortion(
    queuePath: PathInput,
    offset: bigint,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<PulledPortion> {
    const parameters = { queue_path: queuePath, offset, partition_index: BigInt(partitionIndex) };
    return pullPortion(this.requester, "pull_queue", parameters, options);
  }

  /** The rows of `pullQueueConsumerPortion`. */
  async pullQueueConsumer(
    consumerPath: PathInput,
    queuePath: PathInput,
    offset: bigint | null,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<Record<string, unknown>[]> {
    const portion = this.pullQueueConsumerPortion(consumerPath, queuePath, offset, partitionIndex, options);
    return (await portion).rows;
  }

  /** Rows of one partition, through a consumer. With `offset` null the stored offset of the consumer is used. */
  pullQueueConsumerPortion(
    consumerPath: PathInput,
    queuePath: PathInput,
    offset: bigint | null,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<PulledPortion> {
    const paths = { consumer_path: consumerPath, queue_path: queuePath };
    const parameters = { ...paths, offset, partition_index: BigInt(partitionIndex) };
    return pullPortion(this.requester, "pull_queue_consumer", parameters, options);
  }

  /** Opens a session: takes it over from whoever has it, and tells the last number that is written. */
  async createQueueProducerSession(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    options: CommandOptions & { readonly userMeta?: unknown } = {},
  ): Promise<ProducerSession> {
    const result = await this.write(
      "create_queue_producer_session",
      {
        producer_path: producerPath,
        queue_path: queuePath,
        session_id: sessionId,
        ...named(options),
      },
      options,
    );
    return {
      epoch: integer(field(result, "epoch")),
      sequenceNumber: integer(field(result, "sequence_number")),
      userMeta: field(result, "user_meta"),
    };
  }

  /** Removes a session; its numbers begin anew. */
  async removeQueueProducerSession(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    options: CommandOptions = {},
  ): Promise<void> {
    await this.write(
      "remove_queue_producer_session",
      { producer_path: producerPath, queue_path: queuePath, session_id: sessionId },
      options,
    );
  }
}
