/**
 * Commands that race. No model can say which of them wins; what they leave behind must fit what each of
 * them was told.
 */
import { bare, defined, isMap, mapOf, Uint64, type YsonValue } from "@qyt/base";
import { writeYsonList } from "@qyt/yson";
import fc from "fast-check";
import { expect, it } from "vitest";
import { testFactor, testSeed } from "./histories.ts";
import { clusterName, codesOf, consumerPath, producerPath, RealCluster } from "./real-cluster.ts";

type Racer =
  | { readonly kind: "insert" | "push"; readonly partition: number; readonly rows: number }
  | { readonly kind: "transaction"; readonly rows: number }
  | { readonly kind: "advance"; readonly by: number }
  | { readonly kind: "unmount" | "freeze" | "mount" | "unfreeze"; readonly partition: number | undefined }
  | { readonly kind: "trim"; readonly partition: number };

const partitionCount = 2;
const partition = fc.nat(partitionCount - 1);
const rows = fc.integer({ min: 1, max: 3 });
const racer: fc.Arbitrary<Racer> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom("insert" as const, "push" as const), partition, rows }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("transaction" as const), rows }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), by: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("unmount" as const, "freeze" as const, "mount" as const, "unfreeze" as const),
      partition: fc.option(partition, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("trim" as const), partition }) },
);
/** Each starts so many turns of the event loop after the first. */
const start = fc.record({ racer, turns: fc.nat(4) });
const race = fc.array(start, { minLength: 2, maxLength: 8, size: "max" });

/** What a queue must hold: rows that were acknowledged, by partition, in any order between commands. */
class Raced {
  readonly #cluster: RealCluster;
  readonly #path: string;
  /** Rows of each acknowledged command and partition: they follow each other. */
  readonly #acknowledged: { readonly partition: number; readonly data: readonly string[] }[] = [];
  #serial = 0;
  #nextNumber = 0n;
  #offset = 0n;

  private constructor(cluster: RealCluster) {
    this.#cluster = cluster;
    this.#path = `//model/${cluster.freshName()}`;
  }

  static async create(cluster: RealCluster): Promise<Raced> {
    const raced = new Raced(cluster);
    await raced.#call("create", {
      type: "table",
      path: raced.#path,
      attributes: mapOf({
        dynamic: true,
        tablet_count: BigInt(partitionCount),
        schema: [mapOf({ name: "data", type: "string" })],
      }),
    });
    await raced.#call("mount_table", { path: raced.#path });
    await raced.#call("register_queue_consumer", {
      queue_path: raced.#path,
      consumer_path: consumerPath("one"),
      vital: false,
    });
    await raced.#call("create_queue_producer_session", raced.#session);
    return raced;
  }

  get #session(): Record<string, YsonValue> {
    return { producer_path: producerPath, queue_path: this.#path, session_id: "a" };
  }

  async #call(command: string, parameters: Record<string, YsonValue>, body?: Buffer) {
    return this.#cluster.door.call(command, parameters, body);
  }

  /** Runs a command. @returns its answer; nothing when it is refused with one of the codes */
  async #try(
    codes: readonly number[],
    command: string,
    parameters: Record<string, YsonValue>,
    body?: Buffer,
  ): Promise<YsonValue | undefined> {
    try {
      return (await this.#call(command, parameters, body)).value;
    } catch (thrown) {
      if (!codesOf(thrown).some((code) => codes.includes(code))) {
        throw thrown;
      }
      return undefined;
    }
  }

  async run(racers: readonly { readonly racer: Racer; readonly turns: number }[]): Promise<void> {
    const advances: { readonly to: bigint; readonly isDone: boolean }[] = [];
    const pushes: { readonly last: bigint; readonly skipped: bigint; readonly count: number }[] = [];
    const first = this.#nextNumber;
    await Promise.all(
      racers.map(async ({ racer, turns }) => {
        for (let turn = 0; turn < turns; turn++) {
          await nextTurn();
        }
        switch (racer.kind) {
          case "insert":
            await this.#insert(racer.partition, racer.rows);
            return;
          case "push": {
            const pushed = await this.#push(racer.partition, racer.rows, first);
            if (pushed !== undefined) {
              pushes.push(pushed);
            }
            return;
          }
          case "transaction":
            await this.#insertBoth(racer.rows);
            return;
          case "advance": {
            const to = this.#offset + BigInt(racer.by);
            advances.push({ to, isDone: await this.#advance(this.#offset, to) });
            return;
          }
          case "trim":
            await this.#try([1702], "trim_rows", {
              path: this.#path,
              tablet_index: BigInt(racer.partition),
              trimmed_row_count: 0n,
            });
            return;
          default:
            await this.#try([1706], `${racer.kind}_table`, { path: this.#path, ...rangeOf(racer.partition) });
        }
      }),
    );
    // All started from the same offset: one of them moves it, and of those that come first one always does.
    const done = advances.filter(({ isDone }) => isDone);
    expect(done.length).toBe(Math.min(1, advances.length));
    this.#offset = done[0]?.to ?? this.#offset;
    // All had the same first number: whoever came later had rows that were there, or more of them.
    const written = pushes.reduce((sum, { count, skipped }) => sum + BigInt(count) - skipped, 0n);
    this.#nextNumber += written;
    expect(pushes.every(({ last }) => last < this.#nextNumber)).toBe(true);
  }

  #body(partition: number | undefined, data: readonly string[]): Buffer {
    return writeYsonList(
      data.map((text) =>
        mapOf({ $tablet_index: partition === undefined ? undefined : BigInt(partition), data: text }),
      ),
      "binary",
    );
  }

  #fresh(count: number): string[] {
    return Array.from({ length: count }, () => `${this.#serial++}`);
  }

  async #insert(to: number, count: number): Promise<void> {
    const data = this.#fresh(count);
    const done = await this.#try([1702], "insert_rows", { path: this.#path }, this.#body(to, data));
    if (done !== undefined) {
      this.#acknowledged.push({ partition: to, data });
    }
  }

  async #push(to: number, count: number, first: bigint) {
    const data = this.#fresh(count);
    const answer = await this.#try(
      [1700, 1702],
      "push_queue_producer",
      { ...this.#session, epoch: 0n, sequence_number: first },
      this.#body(to, data),
    );
    if (answer === undefined) {
      return undefined;
    }
    const skipped = integer(answer, "skipped_row_count");
    this.#acknowledged.push({ partition: to, data: data.slice(Number(skipped)) });
    return { last: integer(answer, "last_sequence_number"), skipped, count };
  }

  /** Rows for both partitions in one transaction: all or none. */
  async #insertBoth(count: number): Promise<void> {
    const { value } = await this.#call("start_transaction", { type: "tablet", timeout: 60_000n });
    const id = isMap(value) ? bare(value.get("transaction_id") ?? null) : null;
    const parts = Array.from({ length: partitionCount }, (_, partition) => ({
      partition,
      data: this.#fresh(count),
    }));
    for (const { partition, data } of parts) {
      const parameters = { path: this.#path, transaction_id: id };
      if ((await this.#try([1702], "insert_rows", parameters, this.#body(partition, data))) === undefined) {
        await this.#call("abort_transaction", { transaction_id: id });
        return;
      }
    }
    if ((await this.#try([1702], "commit_transaction", { transaction_id: id })) !== undefined) {
      this.#acknowledged.push(...parts);
    }
  }

  async #advance(from: bigint, to: bigint): Promise<boolean> {
    const done = await this.#try([1700, 3100], "advance_queue_consumer", {
      consumer_path: consumerPath("one"),
      queue_path: this.#path,
      partition_index: 0n,
      old_offset: from,
      new_offset: to,
      client_side: false,
    });
    return done !== undefined;
  }

  /**
   * Every acknowledged row is there once, those of one command in a row, and no others; and a tablet that is
   * unmounted has all of them in chunks.
   */
  async check(): Promise<void> {
    const path = this.#path;
    await this.#call("unmount_table", { path });
    const flushed = await this.#flushedRowCounts();
    await this.#call("mount_table", { path });
    for (let index = 0; index < partitionCount; index++) {
      const found = await this.#rows(index);
      const parts = this.#acknowledged.filter(
        ({ partition, data }) => partition === index && data.length > 0,
      );
      const inOrder = parts
        .map(({ data }) => ({ at: found.indexOf(defined(data[0], "row")), data }))
        .sort((a, b) => a.at - b.at);
      expect(found).toEqual(inOrder.flatMap(({ data }) => data));
      expect(flushed[index]).toBe(BigInt(found.length));
    }
    const { rows: stored } = await this.#call(
      "lookup_rows",
      { path: consumerPath("one"), keep_missing_rows: true },
      writeYsonList(
        [mapOf({ queue_cluster: clusterName, queue_path: path, partition_index: new Uint64(0n) })],
        "binary",
      ),
    );
    const [row] = stored;
    expect(isMap(row ?? null) && row instanceof Map ? row.get("offset") : null).toEqual(
      this.#offset === 0n ? null : new Uint64(this.#offset),
    );
    const session = await this.#call("create_queue_producer_session", this.#session);
    expect(integer(session.value, "sequence_number")).toBe(this.#nextNumber - 1n);
  }

  /** Unmounted tablets have all their rows in chunks, so they can be joined. */
  async join(): Promise<void> {
    await this.#call("unmount_table", { path: this.#path });
    await this.#call("reshard_table", { path: this.#path, tablet_count: 1n });
    await this.#call("mount_table", { path: this.#path });
    expect((await this.#rows(0)).length).toBe(
      this.#acknowledged.reduce((sum, { data }) => sum + data.length, 0),
    );
    await this.#call("remove", { path: this.#path });
  }

  async #flushedRowCounts(): Promise<YsonValue[]> {
    const { value } = await this.#call("get", { path: `${this.#path}/@tablets` });
    const tablets = isMap(value) ? bare(value.get("value") ?? null) : null;
    return (Array.isArray(tablets) ? tablets : []).map((tablet) =>
      isMap(tablet) ? (tablet.get("flushed_row_count") ?? null) : null,
    );
  }

  async #rows(index: number): Promise<string[]> {
    const found: string[] = [];
    for (;;) {
      const { rows: page } = await this.#call("pull_queue", {
        queue_path: this.#path,
        partition_index: BigInt(index),
        offset: BigInt(found.length),
      });
      if (page.length === 0) {
        return found;
      }
      found.push(...page.map((row) => (isMap(row) ? String(row.get("data")) : "")));
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function rangeOf(only: number | undefined): Record<string, YsonValue> {
  return only === undefined ? {} : { first_tablet_index: BigInt(only), last_tablet_index: BigInt(only) };
}

function integer(value: YsonValue, name: string): bigint {
  const found = isMap(value) ? bare(value.get(name) ?? null) : null;
  if (typeof found !== "bigint") {
    throw new Error(`No integer "${name}" in the answer`);
  }
  return found;
}

it.each([
  { store: "memory" as const, count: 200 },
  { store: "lmdb" as const, count: 60 },
])(
  "commands that race leave what they were told, on the $store store",
  async ({ store, count }) => {
    const cluster = await RealCluster.start({ store, door: "driver" });
    try {
      await fc.assert(
        fc.asyncProperty(race, race, async (one, two) => {
          const raced = await Raced.create(cluster);
          await raced.run(one);
          await raced.run(two);
          await raced.check();
          await raced.join();
        }),
        { numRuns: count * testFactor(), seed: testSeed(`races, ${store}`) },
      );
    } finally {
      await cluster.close();
    }
  },
  60_000,
);
