/** The commands of the Queue API. Specified in: yt/yt/client/driver/queue_commands.cpp. */
import { limits, mapOf, Uint64, type YsonMap, YtError } from "@qyt/base";
import { Deadline } from "../../clusters/index.ts";
import * as queues from "../../queues/index.ts";
import { needs, open, remarked, right, when } from "../access.ts";
import type { CommandContext } from "../define.ts";
import { defineCommand, stream, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { readRows } from "../rows.ts";
import { reading, writing } from "./kinds.ts";

function queueContext(context: CommandContext): queues.QueueContext {
  const { timeout } = context.common;
  return {
    user: context.user,
    peer: context.request.peer,
    signal: context.request.signal,
    endOfWait: context.request.halfCloseSignal,
    checkUserAgain: async () => {
      await context.request.authenticateAgain?.();
      context.services.access.checkUser(context.user);
    },
    ...(timeout === undefined ? {} : { deadline: new Deadline(context.services.cell.clock, timeout) }),
  };
}

const registerQueueConsumer = defineCommand({
  name: "register_queue_consumer",
  versions: [4],
  ...writing,
  access: remarked(
    needs(right("register_queue_consumer", "node", "queue_path")),
    "by an entry whose `vital` covers the vitality that is asked for; nothing on the consumer",
  ),
  summary: "Lets a consumer read a queue, on any cluster.",
  parameters: {
    queue_path: parameter.path,
    consumer_path: parameter.path,
    vital: parameter.boolean,
    partitions: optional(parameter.list(parameter.int64)),
  },
  async execute(context, { queue_path, consumer_path, vital, partitions }) {
    await queues.registerQueueConsumer(context.services.queues, queueContext(context), {
      queuePath: queue_path,
      consumerPath: consumer_path,
      vital,
      ...(partitions === undefined ? {} : { partitions }),
    });
    return context.nothing();
  },
});

const unregisterQueueConsumer = defineCommand({
  name: "unregister_queue_consumer",
  versions: [4],
  ...writing,
  access: needs(
    when(
      "both are there",
      right("remove", "node", "queue_path"),
      right("write", "node", "queue_path"),
      right("remove", "node", "consumer_path"),
      right("write", "node", "consumer_path"),
    ),
  ),
  summary: "Ends a registration; the stored offsets stay.",
  parameters: { queue_path: parameter.path, consumer_path: parameter.path },
  async execute(context, { queue_path, consumer_path }) {
    await queues.unregisterQueueConsumer(context.services.queues, queueContext(context), {
      queuePath: queue_path,
      consumerPath: consumer_path,
    });
    return context.nothing();
  },
});

const listQueueConsumerRegistrations = defineCommand({
  name: "list_queue_consumer_registrations",
  versions: [4],
  ...reading,
  access: open("registrations are no secret"),
  summary: "Lists registrations of a queue, of a consumer, of both, or all.",
  parameters: { queue_path: optional(parameter.path), consumer_path: optional(parameter.path) },
  async execute(context, { queue_path, consumer_path }) {
    const found = await queues.listQueueConsumerRegistrations(
      context.services.queues,
      queueContext(context),
      {
        queuePath: queue_path,
        consumerPath: consumer_path,
      },
    );
    return structured(found.map(queues.registrationToYson));
  },
});

/**
 * What both pulls take. Limits are checked by the queue room, with its texts.
 *
 * Response parameters: `start_offset` and `start_row_index`, the index of the first row returned, or the
 * asked offset when there is none; `skipped_row_count`, present when the offset lies below the first row
 * that is left: so many rows from the offset on were trimmed, and the answer goes on behind them;
 * `tablet_layout_revision`, of the queue's tablets, to be named in pushes that are routed by them.
 */
const pullParameters = {
  queue_path: parameter.path,
  partition_index: parameter.int32,
  max_row_count: withDefault(parameter.int64, queues.defaultMaxRowCount),
  max_data_weight: withDefault(parameter.int64, queues.defaultMaxDataWeight),
  data_weight_per_row_hint: optional(parameter.int64),
  replica_consistency: withDefault(parameter.oneOf("EReplicaConsistency", ["none", "sync"]), "none"),
  wait_timeout: withDefault(parameter.duration, 0),
};

const pullQueue = defineCommand({
  name: "pull_queue",
  versions: [4],
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "queue_path"), right("read", "columns", "queue_path")),
  summary: "Reads rows of one partition from an offset on.",
  parameters: {
    ...pullParameters,
    offset: withDefault(parameter.int64, 0n),
    // Said by a trusted cluster only, whose user pulls through a consumer there.
    consumer_path: optional(parameter.path),
  },
  async execute(context, parameters) {
    const result = await queues.pullQueue(context.services.queues, queueContext(context), {
      ...limitsOf(parameters),
      queuePath: parameters.queue_path,
      consumerPath: parameters.consumer_path,
      offset: parameters.offset,
      format: context.outputFormat(),
    });
    return pullResponse(result);
  },
});

const pullQueueConsumer = defineCommand({
  name: "pull_queue_consumer",
  aliases: ["pull_consumer"],
  versions: [4],
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: remarked(needs(right("read", "node", "consumer_path")), "and a registration; nothing on the queue"),
  summary: "Reads rows of a queue, on any cluster, through a registered consumer.",
  parameters: { ...pullParameters, consumer_path: parameter.path, offset: optional(parameter.int64) },
  async execute(context, parameters) {
    const result = await queues.pullQueueConsumer(context.services.queues, queueContext(context), {
      ...limitsOf(parameters),
      consumerPath: parameters.consumer_path,
      queuePath: parameters.queue_path,
      offset: parameters.offset,
      format: context.outputFormat(),
    });
    return pullResponse(result);
  },
});

interface PullLimits {
  readonly partition_index: number;
  readonly max_row_count: bigint;
  readonly max_data_weight: bigint;
  readonly data_weight_per_row_hint: bigint | undefined;
  readonly replica_consistency: "none" | "sync";
  readonly wait_timeout: number;
}

function limitsOf(parameters: PullLimits): queues.PullLimits {
  if (!(parameters.wait_timeout >= 0)) {
    throw new YtError(`Parameter "wait_timeout" cannot be negative, got ${parameters.wait_timeout}`);
  }
  return {
    partitionIndex: parameters.partition_index,
    maxRowCount: parameters.max_row_count,
    maxDataWeight: parameters.max_data_weight,
    dataWeightPerRowHint: parameters.data_weight_per_row_hint,
    replicaConsistency: parameters.replica_consistency,
    waitTimeoutMs: Math.min(parameters.wait_timeout, limits.maxPullWaitMs),
  };
}

function pullResponse(result: queues.PullResult): ReturnType<typeof stream> {
  return stream(result.chunks, {
    responseParameters: () => {
      const { startOffset, skippedRowCount, layoutRevision } = result.summary();
      return mapOf({
        start_offset: startOffset,
        start_row_index: startOffset,
        skipped_row_count: skippedRowCount > 0n ? skippedRowCount : undefined,
        tablet_layout_revision: layoutRevision === undefined ? undefined : new Uint64(layoutRevision),
      });
    },
  });
}

/** Of commands that change tables, in the caller's tablet transaction or in an own one. */
const changeParameters = {
  atomicity: withDefault(parameter.oneOf("EAtomicity", ["full", "none"]), "full"),
  durability: withDefault(parameter.oneOf("EDurability", ["sync", "async"]), "sync"),
};

function changeOptions(
  context: CommandContext,
  { atomicity, durability }: Pick<queues.ChangeOptions, "atomicity" | "durability">,
): queues.ChangeOptions {
  return {
    transactionId: context.common.transaction_id,
    ...(atomicity === undefined ? {} : { atomicity }),
    ...(durability === undefined ? {} : { durability }),
  };
}

const advanceQueueConsumer = defineCommand({
  name: "advance_queue_consumer",
  aliases: ["advance_consumer"],
  versions: [4],
  ...writing,
  access: remarked(
    needs(
      right("write", "node", "consumer_path"),
      when("on the server's side, or with `old_offset`", right("read", "node", "consumer_path")),
    ),
    "on the server's side also a registration",
  ),
  summary: "Sets the offset of one partition, in the given tablet transaction if there is one.",
  parameters: {
    consumer_path: parameter.path,
    queue_path: parameter.path,
    partition_index: parameter.int64,
    old_offset: optional(parameter.int64),
    new_offset: parameter.int64,
    client_side: withDefault(parameter.boolean, false),
    ...changeParameters,
  },
  async execute(context, parameters) {
    await queues.advanceQueueConsumer(context.services.queues, queueContext(context), {
      consumerPath: parameters.consumer_path,
      queuePath: parameters.queue_path,
      partitionIndex: parameters.partition_index,
      oldOffset: parameters.old_offset,
      newOffset: parameters.new_offset,
      clientSide: parameters.client_side,
      ...changeOptions(context, parameters),
    });
    return context.nothing();
  },
});

const sessionParameters = {
  producer_path: parameter.path,
  queue_path: parameter.path,
  session_id: parameter.string,
};

const createQueueProducerSession = defineCommand({
  name: "create_queue_producer_session",
  versions: [4],
  ...writing,
  access: needs(right("write", "node", "producer_path")),
  summary: "Opens a session or takes it over; answers its epoch and last number.",
  parameters: { ...sessionParameters, user_meta: optional(parameter.yson) },
  async execute(context, parameters) {
    const answerOf = (session: queues.SessionState): YsonMap =>
      mapOf({ epoch: session.epoch, sequence_number: session.sequenceNumber, user_meta: session.userMeta });
    const session = await queues.createProducerSession(
      context.services.queues,
      queueContext(context),
      {
        producerPath: parameters.producer_path,
        queuePath: parameters.queue_path,
        sessionId: parameters.session_id,
        userMeta: parameters.user_meta,
        mutationId: context.common.mutation_id,
      },
      (state) => context.requireWritable(answerOf(state)),
    );
    return structured(answerOf(session));
  },
});

const removeQueueProducerSession = defineCommand({
  name: "remove_queue_producer_session",
  versions: [4],
  ...writing,
  access: needs(right("write", "node", "producer_path")),
  summary: "Forgets a session.",
  parameters: sessionParameters,
  async execute(context, parameters) {
    await queues.removeProducerSession(context.services.queues, queueContext(context), {
      producerPath: parameters.producer_path,
      queuePath: parameters.queue_path,
      sessionId: parameters.session_id,
    });
    return context.nothing();
  },
});

/**
 * With `tablet_layout_revision` the push is refused (1704, nothing written) unless the queue's tablets have
 * that layout, now and at the commit: for rows whose `$tablet_index` was chosen by it. The revision is the
 * attribute `@tablet_layout_revision` of the queue, and a response parameter of pulls and pushes.
 */
const pushQueueProducer = defineCommand({
  name: "push_queue_producer",
  versions: [4],
  input: "tabular",
  output: "structured",
  isVolatile: true,
  isHeavy: false,
  access: needs(right("write", "node", "producer_path"), right("write", "node", "queue_path")),
  summary: "Writes numbered rows; those that the session already has are skipped.",
  parameters: {
    ...sessionParameters,
    epoch: parameter.int64,
    sequence_number: optional(parameter.int64),
    user_meta: optional(parameter.yson),
    require_sync_replica: withDefault(parameter.boolean, true),
    tablet_layout_revision: optional(parameter.uint64),
    ...changeParameters,
  },
  async execute(context, parameters) {
    const push: queues.PushParameters = {
      producerPath: parameters.producer_path,
      queuePath: parameters.queue_path,
      sessionId: parameters.session_id,
      epoch: parameters.epoch,
      sequenceNumber: parameters.sequence_number,
      userMeta: parameters.user_meta,
      requireSyncReplica: parameters.require_sync_replica,
      layoutRevision: parameters.tablet_layout_revision,
      ...changeOptions(context, parameters),
    };
    const services = context.services.queues;
    const tables = queues.pushTables(services, queueContext(context), push);
    const rows = await readRows(context, tables.queue.producerWriteSchema, {
      rowKind: "producer",
      tabletCount: tables.queue.tabletCount,
    });
    // The Python library sends a compressed push again without its rows: they were in the first request,
    // which may have come to nothing. Taken for a push of no rows, they would be lost without a word. By
    // this code that library begins the push anew, outside a transaction; others have to.
    if (rows.rowCount === 0 && context.common.retry === true) {
      throw new YtError("A repeated push has no rows: push them anew", { code: "TransactionLockConflict" });
    }
    const result = await queues.pushQueueProducer(services, queueContext(context), push, tables, rows);
    return structured(
      mapOf({ last_sequence_number: result.lastSequenceNumber, skipped_row_count: result.skippedRowCount }),
      mapOf({ tablet_layout_revision: new Uint64(result.layoutRevision) }),
    );
  },
});

export const queueCommands = [
  registerQueueConsumer,
  unregisterQueueConsumer,
  listQueueConsumerRegistrations,
  pullQueue,
  pullQueueConsumer,
  advanceQueueConsumer,
  createQueueProducerSession,
  removeQueueProducerSession,
  pushQueueProducer,
];
