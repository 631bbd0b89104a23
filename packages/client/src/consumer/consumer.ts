/**
 * A consumer: batches of rows of one or many queues, alone or as a member of a group of processes that share the
 * partitions. What it promises: each row is committed once, rows of a partition in their order; a reader that was
 * replaced, whether it was killed, stopped or only slow, commits nothing any more.
 */
import { secureRandom, sleep, YtError } from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import type { YtClient } from "../client.ts";
import type { Transaction } from "../transactions/transaction.ts";
import type { PathInput } from "../types.ts";
import type { Batch } from "./batch.ts";
import type { ConsumerEvent } from "./events.ts";
import { GroupTable } from "./group-table.ts";
import type { StartPolicy } from "./layout.ts";
import { GroupMembership, type Subscription } from "./membership.ts";
import type { Partition } from "./partition.ts";
import { PartitionSet } from "./partition-set.ts";
import { resolveLink } from "./queue-link.ts";
import { type PoisonPolicy, Settlement } from "./settlement.ts";
import { SoloMembership } from "./solo.ts";

/** A queue, and which of its partitions. */
export interface QueueSelection {
  readonly path: PathInput;
  /** Default: all, those of later reshards too. */
  readonly partitions?: readonly number[];
}

export interface ConsumerOptions {
  /** Path of the consumer, on the client's cluster. It must be registered for each of the queues. */
  readonly consumer: PathInput;
  /** On any cluster that the client's one knows. */
  readonly queues: readonly (string | QueueSelection)[];
  /**
   * Path of the table by which the processes of this consumer share the partitions; it is made when it is missing.
   * Default: the consumer's path with `-group` behind it. `false`: this process reads alone.
   */
  readonly group?: string | false;
  /** Begins the name of this member in the group's table. Default: `member`. */
  readonly memberName?: string;
  /** Where a consumer begins that has never read these partitions. Default: `first`. */
  readonly start?: StartPolicy;
  /** Of one batch at most. Default: 1,000. */
  readonly batchRows?: number;
  /** Of one batch at most, about, in bytes. Default: 16 MiB. */
  readonly batchBytes?: number;
  /** What is read ahead at most, over all partitions, and a batch a partition. Default: 10,000. */
  readonly prefetchRows?: number;
  /** Default: 64 MiB. */
  readonly prefetchBytes?: number;
  /** How long one request waits for rows, in milliseconds. Default: 5,000. */
  readonly waitTimeoutMs?: number;
  /** A member that was not heard of for so long is replaced, in milliseconds. Default: 6,000. */
  readonly sessionTimeoutMs?: number;
  /**
   * A batch that is out for longer, in milliseconds, lets others take its partition, though the process is alive;
   * `batch.extend()` begins the time anew. Default: 300,000.
   */
  readonly maxHandlerMs?: number;
  /** How often it is looked for new partitions, in milliseconds. Default: 5,000. */
  readonly layoutPeriodMs?: number;
  /** How long `close` waits for batches that are out, in milliseconds. Default: 30,000. */
  readonly closeTimeoutMs?: number;
  readonly poison?: PoisonPolicy;
  /** Told what happens besides rows. Must not throw. */
  readonly onEvent?: (event: ConsumerEvent) => void;
}

export interface RunOptions {
  /** How many batches are handled at a time, of different partitions. Default: 1. */
  readonly concurrency?: number;
}

/** Handles a batch. The offset is committed in the transaction when it resolves. */
export type BatchHandler = (batch: Batch, tx: Transaction) => Promise<void>;

const defaults = {
  batchRows: 1_000,
  batchBytes: 16 * 1024 * 1024,
  prefetchRows: 10_000,
  prefetchBytes: 64 * 1024 * 1024,
  waitTimeoutMs: 5_000,
  sessionTimeoutMs: 6_000,
  maxHandlerMs: 300_000,
  layoutPeriodMs: 5_000,
  closeTimeoutMs: 30_000,
};
const mountPauseMs = 100;

type Membership = GroupMembership | SoloMembership;

interface Opened {
  readonly partitions: PartitionSet;
  readonly membership: Membership;
}

export class Consumer implements AsyncIterable<Batch> {
  readonly #client: YtClient;
  readonly #options: ConsumerOptions & typeof defaults;
  #opened: Promise<Opened> | undefined;
  #isClosing = false;
  #closed: Promise<void> | undefined;
  #isPaused: (partition: Partition) => boolean = () => false;

  constructor(client: YtClient, options: ConsumerOptions) {
    this.#client = client;
    this.#options = { ...defaults, ...options };
    checkOptions(this.#options);
  }

  /**
   * Joins the group and begins to read ahead; the first batch asked for does so too.
   * @throws YtError 901 when the consumer is not registered for a queue, and errors of the cluster
   */
  async open(): Promise<void> {
    await this.#open();
  }

  /** Batches, one after the other, until `close`. Several iterations at once get different partitions. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, void> {
    const { partitions, membership } = await this.#open();
    let out: Batch[] = [];
    try {
      for (;;) {
        const batch = await partitions.next(
          () => !this.#isClosing,
          () => membership.isFresh(partitions.now()),
        );
        if (batch === undefined) {
          return;
        }
        out = [...out.filter(({ isSettled }) => !isSettled), batch];
        yield batch;
      }
    } finally {
      for (const batch of out.filter(({ isSettled }) => !isSettled)) {
        batch.release();
      }
    }
  }

  /**
   * Handles batches until `close`: each in a tablet transaction of its own, which the handler may write rows in and
   * which advances the offset. A handler that throws leaves nothing behind; its rows are handled again, one by one,
   * as the poison policy has it. Rows of one partition are handled in order, never two batches at a time.
   */
  async run(handler: BatchHandler, options: RunOptions = {}): Promise<void> {
    const lanes = Array.from({ length: options.concurrency ?? 1 }, async () => {
      for await (const batch of this) {
        await this.#handle(batch, handler);
      }
    });
    await Promise.all(lanes);
  }

  /** Hands out no more batches of these partitions, or of all; keeps them. What is out may be committed. */
  async pause(selection?: QueueSelection): Promise<void> {
    await this.#setPaused(selection, true);
  }

  /** Undoes `pause` for these partitions, or for all. */
  async resume(selection?: QueueSelection): Promise<void> {
    await this.#setPaused(selection, false);
  }

  /**
   * Hands out no more batches, waits for those that are out, and gives the partitions back, so that other members
   * take them at once. Call it from outside of the loop that handles batches, or after leaving the loop.
   */
  close(): Promise<void> {
    this.#isClosing = true;
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #handle(batch: Batch, handler: BatchHandler): Promise<void> {
    try {
      await this.#client.transaction(
        async (tx) => {
          try {
            await handler(batch, tx);
          } catch (thrown) {
            batch.failure = { thrown };
            throw thrown;
          }
          if (!batch.isSettled) {
            await batch.commit(tx);
          }
        },
        { type: "tablet" },
      );
    } catch (thrown) {
      // A batch that joined the transaction is settled by its end.
      if (!batch.isSettled) {
        await batch.fail(batch.failure === undefined ? asTransient(thrown) : batch.failure.thrown);
      }
    }
  }

  #open(): Promise<Opened> {
    if (this.#isClosing) {
      return Promise.reject(new YtError("The consumer is closed"));
    }
    this.#opened ??= this.#start();
    return this.#opened;
  }

  async #start(): Promise<Opened> {
    const options = this.#options;
    const client = this.#client;
    const { clock, random } = client.requester.options;
    const selections = options.queues.map((queue) => (typeof queue === "string" ? { path: queue } : queue));
    const subscriptions: Subscription[] = [];
    for (const { path, partitions } of selections) {
      const link = await resolveLink(client, options.consumer, path);
      subscriptions.push({ link, partitions: partitions ?? null });
    }
    const [first] = subscriptions;
    const name = first?.link.consumer;
    const tablePath = options.group === false ? undefined : (options.group ?? `${name?.path}-group`);
    const table = tablePath === undefined ? undefined : new GroupTable(client, tablePath, name?.name ?? "");
    await table?.open(() => sleep(clock, mountPauseMs));
    const memberId = `${options.memberName ?? "member"}-${secureRandom().uint32().toString(16)}${secureRandom().uint32().toString(16)}`;
    const emit = (event: ConsumerEvent): void => options.onEvent?.(event);
    const poison = options.poison ?? {};
    const settlement = new Settlement({ client, table, memberId, poison, clock, random, emit });
    const partitions = new PartitionSet({ ...options, clock, settlement, emit });
    partitions.setPaused((partition) => this.#isPaused(partition));
    const common = { subscriptions, start: options.start ?? "first", clock, host: partitions } as const;
    const membership =
      table === undefined
        ? new SoloMembership({ ...common, periodMs: options.layoutPeriodMs })
        : new GroupMembership({ ...common, ...options, start: common.start, client, table, memberId });
    await membership.join();
    return { partitions, membership };
  }

  async #setPaused(selection: QueueSelection | undefined, isPaused: boolean): Promise<void> {
    const before = this.#isPaused;
    const link =
      selection === undefined
        ? undefined
        : await resolveLink(this.#client, this.#options.consumer, selection.path);
    this.#isPaused = (partition) => {
      const isMeant =
        link === undefined ||
        (partition.link.key === link.key &&
          (selection?.partitions === undefined || selection.partitions.includes(partition.index)));
      return isMeant ? isPaused : before(partition);
    };
    const opened = await this.#opened;
    opened?.partitions.setPaused((partition) => this.#isPaused(partition));
  }

  async #close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined) {
      return;
    }
    const { partitions, membership } = opened;
    partitions.changed.notify();
    const endMs = partitions.now() + this.#options.closeTimeoutMs;
    const isOut = (): boolean => [...partitions.partitions.values()].some(({ isBusy }) => isBusy);
    while (isOut() && partitions.now() < endMs) {
      await partitions.changed.wait(endMs - partitions.now());
    }
    await membership.stop();
    for (const partition of partitions.partitions.values()) {
      if (!partition.isBusy) {
        void partitions.giveBack(partition);
      } else {
        partitions.drop(partition, "given back");
      }
    }
    // What could not be given back is taken by others when this member is not heard of.
    await partitions.givenBack();
    for (const partition of partitions.partitions.values()) {
      partitions.drop(partition, "given back");
    }
    await partitions.idle();
    await membership.leave().catch((thrown) => partitions.failed("leave the group", thrown));
  }
}

/** A consumer over the client, which stays open after it. Nothing is sent before the first batch is asked for. */
export function createConsumer(client: YtClient, options: ConsumerOptions): Consumer {
  return new Consumer(client, options);
}

/** Of a transaction that could not be started: no row is to blame. */
function asTransient(thrown: unknown): YtError {
  return new YtError("The rows were not handled", { code: "Canceled", cause: thrown });
}

function checkOptions(options: ConsumerOptions & typeof defaults): void {
  parseRichPath(options.consumer);
  if (options.queues.length === 0) {
    throw new YtError("A consumer needs at least one queue: name it in the option queues");
  }
  for (const name of ["batchRows", "batchBytes", "prefetchRows", "prefetchBytes"] as const) {
    if (!Number.isSafeInteger(options[name]) || options[name] < 1) {
      throw new YtError(`Option ${name} of a consumer must be a positive integer, not ${options[name]}`);
    }
  }
}
