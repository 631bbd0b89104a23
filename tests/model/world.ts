/**
 * The real side of one history: two queues of its own on a shared cluster. Every method does what the
 * model's method of the same name says, and fails when the answer is another one.
 */
import { defined, mapOf, Uint64 } from "@qyt/base";
import { toYson, writeYsonList } from "@qyt/yson";
import { agreeing, field, learn, pulled, rowsBody } from "./answers.ts";
import type { Parameters } from "./door.ts";
import {
  type AdvanceRequest,
  type Commit,
  type ConsumerName,
  hasSystemColumns,
  type LifecycleCommand,
  type Place,
  type PullAnswer,
  type PullRequest,
  type PushAnswer,
  type PushRequest,
  partitionCounts,
  type QueueModel,
  type QueueName,
  queueNames,
  Refusal,
  type RowToWrite,
  type Session,
} from "./queue-model.ts";
import { consumerPath, producerPath, type RealCluster } from "./real-cluster.ts";
import { expectSame } from "./same.ts";
import { WorldCalls } from "./world-calls.ts";

const systemColumns = [
  { name: "$timestamp", type: "uint64" },
  { name: "$cumulative_data_weight", type: "int64" },
];
const dataColumn = { name: "data", type: "string" };

export class World {
  readonly calls: WorldCalls;
  readonly #cluster: RealCluster;
  /** Ids of the open transactions, by slot. */
  readonly #transactions = new Map<number, string>();
  /** Real revisions by the model's, by queue. */
  readonly #revisions: Record<QueueName, Map<number, bigint>> = { first: new Map(), second: new Map() };
  readonly #registered = new Set<string>();

  private constructor(cluster: RealCluster) {
    this.#cluster = cluster;
    this.calls = new WorldCalls(cluster);
  }

  static async create(cluster: RealCluster): Promise<World> {
    const world = new World(cluster);
    await Promise.all(queueNames.map((queue) => world.#createQueue(queue)));
    return world;
  }

  async #createQueue(queue: QueueName): Promise<void> {
    const path = this.calls.path(queue);
    await this.calls.call("create", {
      type: "table",
      path,
      attributes: mapOf({
        dynamic: true,
        schema: toYson(hasSystemColumns[queue] ? [...systemColumns, dataColumn] : [dataColumn]),
        tablet_count: BigInt(partitionCounts[queue]),
      }),
      recursive: true,
    });
    await this.calls.call("mount_table", { path });
  }

  /** When it is needed for the first time: most histories use few of the pairs. */
  async #register(consumer: ConsumerName, queue: QueueName): Promise<void> {
    const pair = `${consumer}/${queue}`;
    if (!this.#registered.has(pair)) {
      this.#registered.add(pair);
      const paths = { queue_path: this.calls.path(queue), consumer_path: consumerPath(consumer) };
      await this.calls.call("register_queue_consumer", { ...paths, vital: false });
    }
  }

  /** Makes room for the histories to come. */
  async remove(): Promise<void> {
    for (const slot of [...this.#transactions.keys()]) {
      await this.abort(slot);
    }
    await this.calls.call("remove", { path: this.calls.directory, recursive: true });
  }

  #slot(slot: number | undefined): Parameters {
    return slot === undefined ? {} : { transaction_id: defined(this.#transactions.get(slot), "transaction") };
  }

  // Transactions

  async begin(slot: number): Promise<void> {
    const { value } = await this.calls.call("start_transaction", {
      type: "tablet",
      sticky: true,
      timeout: 600_000n,
    });
    this.#transactions.set(slot, String(field(value, "transaction_id")));
  }

  async commit(slot: number, expected: Refusal | undefined, commit: Commit | undefined): Promise<void> {
    const parameters = this.#slot(slot);
    this.#transactions.delete(slot);
    const answer = await agreeing(this.calls.call("commit_transaction", parameters), expected);
    const timestamp = answer === undefined ? undefined : field(answer.value, "primary_commit_timestamp");
    if (timestamp instanceof Uint64 && commit !== undefined) {
      commit.timestamp = timestamp.value;
    }
  }

  async abort(slot: number): Promise<void> {
    const parameters = this.#slot(slot);
    this.#transactions.delete(slot);
    await this.calls.call("abort_transaction", parameters);
  }

  async restart(): Promise<void> {
    await this.#cluster.restart();
    for (const slot of [...this.#transactions.keys()]) {
      await this.findEnded(slot);
    }
  }

  /** The transaction ended without being asked to. */
  async findEnded(slot: number): Promise<void> {
    const parameters = this.#slot(slot);
    this.#transactions.delete(slot);
    await agreeing(this.calls.call("ping_transaction", parameters), new Refusal("NoSuchTransaction"));
  }

  // Rows

  async #layout(queue: QueueName, layout: number | undefined): Promise<Parameters> {
    return layout === undefined ? {} : { tablet_layout_revision: await this.#revision(queue, layout) };
  }

  /** The real revision for one of the model's, which is known or the present one. */
  async #revision(queue: QueueName, layout: number): Promise<Uint64> {
    const known = this.#revisions[queue];
    const revision = known.get(layout) ?? (await this.#readRevision(queue));
    known.set(layout, revision);
    return new Uint64(revision);
  }

  async insert(
    slot: number | undefined,
    { queue, rows, layout }: { queue: QueueName; rows: readonly RowToWrite[]; layout: number | undefined },
    expected: Refusal | undefined,
  ): Promise<void> {
    const parameters = {
      path: this.calls.path(queue),
      ...this.#slot(slot),
      ...(await this.#layout(queue, layout)),
    };
    await agreeing(this.calls.call("insert_rows", parameters, rowsBody(rows)), expected);
  }

  /** Inserts rows for any partition that takes them, and tells which one the system chose. */
  async insertAnywhere(
    queue: QueueName,
    data: readonly string[],
    model: QueueModel,
  ): Promise<number | Refusal> {
    const places = model
      .partitions(queue)
      .flatMap((partition, index) => (partition.state === "mounted" ? [{ partition, index }] : []));
    const expected = places.length === 0 ? new Refusal("TabletNotMounted") : undefined;
    const body = writeYsonList(
      data.map((text) => mapOf({ data: text })),
      "binary",
    );
    await agreeing(this.calls.call("insert_rows", { path: this.calls.path(queue) }, body), expected);
    if (expected !== undefined) {
      return expected;
    }
    const counts = await this.calls.rowCounts(
      queue,
      places.map(({ index }) => index),
    );
    const grown = places.filter(
      ({ partition }, position) => counts[position]?.total !== BigInt(partition.rows.length),
    );
    expectSame(grown.length, 1);
    return defined(grown[0], "partition").index;
  }

  async trim(place: Place, count: number, expected: Refusal | undefined): Promise<void> {
    const parameters = {
      path: this.calls.path(place.queue),
      tablet_index: BigInt(place.partition),
      trimmed_row_count: BigInt(count),
    };
    await agreeing(this.calls.call("trim_rows", parameters), expected);
  }

  /** @param consumer reads through it, from its offset when the request names none */
  async pull(
    request: Omit<PullRequest, "offset"> & { readonly offset: bigint | undefined },
    consumer: ConsumerName | undefined,
    expected: PullAnswer | Refusal,
    layout: number,
  ): Promise<number> {
    const { queue, partition, offset, maxRowCount, maxDataWeight } = request;
    if (consumer !== undefined) {
      await this.#register(consumer, queue);
    }
    const pull = this.calls.call(consumer === undefined ? "pull_queue" : "pull_queue_consumer", {
      queue_path: this.calls.path(queue),
      partition_index: BigInt(partition),
      offset,
      max_row_count: BigInt(maxRowCount),
      max_data_weight: BigInt(maxDataWeight),
      ...(consumer === undefined ? {} : { consumer_path: consumerPath(consumer) }),
    });
    const answer = await agreeing(pull, expected instanceof Refusal ? expected : undefined);
    if (answer === undefined || expected instanceof Refusal) {
      return 0;
    }
    expectSame(
      answer.rows.map(pulled),
      expected.rows.map(({ index, data, cumulativeWeight }) => [
        BigInt(partition),
        BigInt(index),
        data,
        hasSystemColumns[queue] ? BigInt(cumulativeWeight) : null,
      ]),
    );
    for (const [position, { commit }] of expected.rows.entries()) {
      learn(commit, field(answer.rows[position] ?? null, "$timestamp"), hasSystemColumns[queue]);
    }
    expectSame(
      answer.responseParameters,
      mapOf({
        start_offset: expected.startOffset,
        start_row_index: expected.startOffset,
        skipped_row_count: expected.skippedRowCount === 0 ? undefined : BigInt(expected.skippedRowCount),
        tablet_layout_revision: await this.#revision(queue, layout),
      }),
    );
    return answer.rows.length;
  }

  // Consumers and sessions

  async advance(
    slot: number | undefined,
    request: AdvanceRequest,
    expected: Refusal | undefined,
  ): Promise<void> {
    if (!request.clientSide) {
      await this.#register(request.consumer, request.queue);
    }
    const advance = this.calls.call("advance_queue_consumer", {
      consumer_path: consumerPath(request.consumer),
      queue_path: this.calls.path(request.queue),
      partition_index: BigInt(request.partition),
      old_offset: request.oldOffset,
      new_offset: request.newOffset,
      client_side: request.clientSide,
      ...this.#slot(slot),
    });
    await agreeing(advance, expected);
  }

  #session(queue: QueueName, session: string): Parameters {
    return { producer_path: producerPath, queue_path: this.calls.path(queue), session_id: session };
  }

  async openSession(queue: QueueName, session: string, expected: Session): Promise<void> {
    const { value } = await this.calls.call("create_queue_producer_session", this.#session(queue, session));
    expectSame(value, mapOf({ epoch: expected.epoch, sequence_number: expected.number, user_meta: null }));
  }

  async removeSession(queue: QueueName, session: string): Promise<void> {
    await this.calls.call("remove_queue_producer_session", this.#session(queue, session));
  }

  async push(
    slot: number | undefined,
    request: PushRequest,
    expected: PushAnswer | Refusal,
    layout: number,
  ): Promise<void> {
    const { queue, session, epoch, numbers, isBatch, rows } = request;
    const push = this.calls.call(
      "push_queue_producer",
      {
        ...this.#session(queue, session),
        epoch,
        sequence_number: isBatch ? numbers[0] : undefined,
        ...this.#slot(slot),
        ...(await this.#layout(queue, request.layout)),
      },
      rowsBody(rows, isBatch ? undefined : numbers),
    );
    const answer = await agreeing(push, expected instanceof Refusal ? expected : undefined);
    if (answer !== undefined && !(expected instanceof Refusal)) {
      expectSame(
        answer.value,
        mapOf({
          last_sequence_number: expected.lastSequenceNumber,
          skipped_row_count: expected.skippedRowCount,
        }),
      );
      expectSame(
        answer.responseParameters,
        mapOf({
          tablet_layout_revision: await this.#revision(queue, layout),
        }),
      );
    }
  }

  // Tablets

  async changeState(
    queue: QueueName,
    only: number | undefined,
    command: LifecycleCommand,
    expected: Refusal | undefined,
    layouts: { readonly before: number; readonly after: number },
  ): Promise<void> {
    await this.#revision(queue, layouts.before);
    const range =
      only === undefined ? {} : { first_tablet_index: BigInt(only), last_tablet_index: BigInt(only) };
    await agreeing(this.calls.call(`${command}_table`, { path: this.calls.path(queue), ...range }), expected);
    // Where the layout is the same, the next pull compares the revision that it is told.
    if (layouts.after !== layouts.before) {
      const known = this.#revisions[queue];
      const revision = await this.#readRevision(queue);
      expectSame([...known.values()].includes(revision), false);
      known.set(layouts.after, revision);
    }
  }

  async #readRevision(queue: QueueName): Promise<bigint> {
    const { value } = await this.calls.call("get", {
      path: `${this.calls.path(queue)}/@tablet_layout_revision`,
    });
    const revision = field(value, "value");
    return revision instanceof Uint64 ? revision.value : -1n;
  }
}
