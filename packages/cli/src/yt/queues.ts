/** Commands of the Queue API. */
import { type Argument, answerFormat, flag, hybrid, option, rowFormat, toggle } from "./argument.ts";
import type { YtFamily } from "./command.ts";

const queue = hybrid(
  "queue_path",
  "the queue; of another cluster: '<cluster=freud>//tmp/q' or freud://tmp/q",
);
const consumer = hybrid("consumer_path", "the consumer, of any cluster");
const producer = hybrid("producer_path", "the producer");
const sessionId = option("session_id", "text", "name of the session", { required: true });
const partition = option("partition_index", "integer", "the partition", { required: true });

/** Of both commands that read rows. */
const pulling: readonly Argument[] = [
  partition,
  option("max_row_count", "integer", "how many rows at most"),
  option("max_data_weight", "integer", "how many bytes at most"),
  option("replica_consistency", "text", "of a replicated queue: which replicas may be read", {
    choices: ["none", "sync"],
  }),
  rowFormat("format of the rows, e.g. '<format=text>yson' or json", ["output_format"]),
];

const advancing: readonly Argument[] = [
  consumer,
  queue,
  partition,
  option("old_offset", "integer", "refuse unless the offset is this now"),
  option("new_offset", "integer", "index of the first row that is not processed yet", { required: true }),
  flag("client_side", "let the server look up what the consumer's meta is to say (not in `yt`)", {
    options: [],
    off: ["--server-side"],
  }),
];

export const queues: YtFamily = {
  title: "Queues",
  commands: [
    {
      name: "register-queue-consumer",
      summary: "Register a consumer for a queue.",
      arguments: [
        queue,
        consumer,
        toggle("vital", "whether rows that it has not read hold back the trimming of the queue", "non", {
          required: true,
        }),
        option("partitions", "integer", "the partitions that it reads; default: all", { repeat: "many" }),
      ],
      examples: ['register-queue-consumer //tmp/queue "<cluster=freud>//tmp/consumer" --vital'],
      run: { command: "register_queue_consumer", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "unregister-queue-consumer",
      summary: "Take the registration of a consumer back.",
      arguments: [queue, consumer],
      examples: ['unregister-queue-consumer //tmp/queue "<cluster=freud>//tmp/consumer"'],
      run: {
        command: "unregister_queue_consumer",
        method: "POST",
        isVolatile: true,
        output: { kind: "none" },
      },
    },
    {
      name: "list-queue-consumer-registrations",
      summary: "Print registrations: of a queue, of a consumer, or all.",
      arguments: [
        option("queue_path", "path", "only those of this queue"),
        option("consumer_path", "path", "only those of this consumer"),
        answerFormat,
      ],
      examples: ["list-queue-consumer-registrations --queue-path //tmp/queue"],
      run: { command: "list_queue_consumer_registrations", method: "GET", output: { kind: "printed" } },
    },
    {
      name: "pull-queue",
      summary: "Print rows of a partition, from an offset on.",
      arguments: [
        queue,
        option("offset", "integer", "index of the first row", { required: true }),
        ...pulling,
      ],
      examples: ["pull-queue //tmp/queue --partition-index 0 --offset 0 --format '<format=text>yson'"],
      run: { command: "pull_queue", method: "GET", output: { kind: "stream" } },
    },
    {
      name: "pull-queue-consumer",
      summary: "Print rows of a partition for a consumer.",
      details: "Without --offset, which `yt` needs, from the offset of the consumer on.",
      arguments: [consumer, queue, option("offset", "integer", "index of the first row"), ...pulling],
      examples: [
        'pull-queue-consumer //tmp/consumer "<cluster=pythia>//tmp/queue" --partition-index 0 --max-row-count 5 --format json',
      ],
      run: { command: "pull_queue_consumer", method: "GET", output: { kind: "stream" } },
    },
    {
      name: "pull-consumer",
      summary: "The old name of pull-queue-consumer.",
      arguments: [consumer, queue, option("offset", "integer", "index of the first row"), ...pulling],
      examples: ["pull-consumer //tmp/consumer //tmp/queue --partition-index 0 --offset 0 --format json"],
      run: { command: "pull_consumer", method: "GET", output: { kind: "stream" } },
    },
    {
      name: "advance-queue-consumer",
      summary: "Move the offset of a consumer in a partition.",
      details:
        "As `yt` does, the client tells the offsets and the server looks at the consumer alone; with --server-side it checks the registration and writes the consumer's meta as well.",
      arguments: advancing,
      examples: [
        'advance-queue-consumer //tmp/consumer "<cluster=pythia>//tmp/queue" --partition-index 0 --old-offset 0 --new-offset 42',
      ],
      run: {
        command: "advance_queue_consumer",
        method: "POST",
        fixed: { client_side: true },
        output: { kind: "none" },
      },
    },
    {
      name: "advance-consumer",
      summary: "The old name of advance-queue-consumer.",
      arguments: advancing,
      examples: ["advance-consumer //tmp/consumer //tmp/queue --partition-index 0 --new-offset 42"],
      run: {
        command: "advance_consumer",
        method: "POST",
        fixed: { client_side: true },
        output: { kind: "none" },
      },
    },
    {
      name: "create-queue-producer-session",
      summary: "Open a session of a producer, or open it anew with the next epoch.",
      arguments: [
        option("producer_path", "path", "the producer"),
        option("queue_path", "path", "the queue"),
        sessionId,
        option("user_meta", "yson", "what the session is to keep for the user (not in `yt`)"),
        answerFormat,
      ],
      examples: [
        "create-queue-producer-session --producer-path //tmp/producer --queue-path //tmp/queue --session-id one",
      ],
      run: {
        command: "create_queue_producer_session",
        method: "POST",
        isVolatile: true,
        output: { kind: "printed" },
      },
    },
    {
      name: "push-queue-producer",
      summary: "Write rows from standard input to a queue, each once.",
      details:
        "Rows have their $sequence_number, unless --sequence-number gives that of the first. Rows whose number is not above the last one of the session are skipped.",
      arguments: [
        producer,
        queue,
        sessionId,
        option("epoch", "integer", "epoch of the session", { required: true }),
        option("sequence_number", "integer", "number of the first row; the others follow on (not in `yt`)"),
        option("user_meta", "yson", "what the session is to keep for the user (not in `yt`)"),
        toggle("require_sync_replica", "of a replicated queue: refuse without a synchronous replica, or not"),
        rowFormat("format of the rows", ["input_format"], "input_format"),
        option("output_format", "format", "format of the answer: yson or json, with attributes"),
      ],
      examples: [
        `echo '{data=a; "$sequence_number"=1}' | qyt push-queue-producer //tmp/producer //tmp/queue --session-id one --epoch 0 --input-format yson`,
      ],
      run: { command: "push_queue_producer", method: "PUT", hasBody: true, output: { kind: "printed" } },
    },
    {
      name: "remove-queue-producer-session",
      summary: "Forget a session of a producer.",
      arguments: [
        option("producer_path", "path", "the producer"),
        option("queue_path", "path", "the queue"),
        sessionId,
      ],
      examples: [
        "remove-queue-producer-session --producer-path //tmp/producer --queue-path //tmp/queue --session-id one",
      ],
      run: {
        command: "remove_queue_producer_session",
        method: "POST",
        isVolatile: true,
        output: { kind: "none" },
      },
    },
  ],
};
