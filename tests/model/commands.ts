/**
 * What may happen in a history. A command holds plain choices and turns them into a request by what the
 * model knows when it runs, so that it makes sense in any place of any history, shrunk ones too.
 */
import fc from "fast-check";
import {
  consumerNames,
  type LifecycleCommand,
  lifecycleCommands,
  type Place,
  type PushRequest,
  partitionCounts,
  type QueueModel,
  type QueueName,
  queueNames,
  Refusal,
  type RowToWrite,
  sessionKey,
} from "./queue-model.ts";
import { sessionNames } from "./stored-state.ts";
import type { World } from "./world.ts";

type Run<T> = (choices: T, model: QueueModel, world: World) => Promise<void>;

class Command<T> implements fc.AsyncCommand<QueueModel, World> {
  readonly #name: string;
  readonly #choices: T;
  readonly #run: Run<T>;

  constructor(name: string, choices: T, run: Run<T>) {
    this.#name = name;
    this.#choices = choices;
    this.#run = run;
  }

  check(): boolean {
    return true;
  }

  run(model: QueueModel, world: World): Promise<void> {
    return this.#run(this.#choices, model, world);
  }

  toString(): string {
    return `${this.#name}(${fc.stringify(this.#choices)})`;
  }
}

function command<T>(
  name: string,
  weight: number,
  choices: fc.Arbitrary<T>,
  run: Run<T>,
): { weight: number; arbitrary: fc.Arbitrary<fc.AsyncCommand<QueueModel, World>> } {
  return { weight, arbitrary: choices.map((chosen) => new Command(name, chosen, run)) };
}

/** The first of a few three times as often as another: what meets is what is worth testing. */
function mostly<T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(first) },
    ...others.map((other) => ({ weight: 1, arbitrary: fc.constant(other) })),
  );
}

const queue = mostly(...queueNames);
const consumer = mostly(...consumerNames);
const session = mostly(...sessionNames);
const rarely = fc.oneof(
  { weight: 9, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
);
/** Taken modulo the number of partitions. */
const partition = fc.nat(1);
const slot = mostly(0, 1, 2);
/** A transaction to do it in; it is begun if it is not open. */
const maybeSlot = fc.option(slot, { nil: undefined, freq: 2 });
/** Bytes of a row's data. Long ones take several records of the store. */
const size = fc.oneof(
  { weight: 15, arbitrary: fc.nat(30) },
  { weight: 1, arbitrary: fc.integer({ min: 3000, max: 20_000 }) },
);
const row = fc.record({ partition, size });
/** Which layout of the tablets the writer names: none, the present one, or one from before. */
const layout = fc.oneof(
  { weight: 5, arbitrary: fc.constant("none" as const) },
  { weight: 2, arbitrary: fc.constant("present" as const) },
  { weight: 1, arbitrary: fc.constant("earlier" as const) },
);

function placeOf(chosen: { readonly queue: QueueName; readonly partition: number }): Place {
  return { queue: chosen.queue, partition: chosen.partition % partitionCounts[chosen.queue] };
}

function freshData(model: QueueModel, length: number): string {
  return `${model.serial++}:`.padEnd(length, "x");
}

function freshRows(
  model: QueueModel,
  name: QueueName,
  rows: readonly { readonly partition: number; readonly size: number }[],
): RowToWrite[] {
  return rows.map((chosen) => ({
    partition: chosen.partition % partitionCounts[name],
    data: freshData(model, chosen.size),
  }));
}

function layoutOf(
  model: QueueModel,
  name: QueueName,
  chosen: "none" | "present" | "earlier",
): number | undefined {
  const present = model.layouts[name];
  return chosen === "none" ? undefined : chosen === "present" ? present : Math.max(0, present - 1);
}

async function ensureOpen(
  chosen: number | undefined,
  model: QueueModel,
  world: World,
): Promise<number | undefined> {
  if (chosen !== undefined && !model.transactions.has(chosen)) {
    model.begin(chosen);
    await world.begin(chosen);
  }
  return chosen;
}

const begin = command("begin", 2, slot, async (chosen, model, world) => {
  await ensureOpen(chosen, model, world);
});

/** One of the open transactions, if there is any. */
function openSlot(model: QueueModel, chosen: number): number | undefined {
  const open = [...model.transactions.keys()];
  return open[chosen % Math.max(1, open.length)];
}

const commit = command("commit", 9, fc.nat(2), async (chosen, model, world) => {
  const open = openSlot(model, chosen);
  if (open !== undefined) {
    const before = model.now;
    const expected = model.commit(open);
    await world.commit(open, expected, model.now > before ? model.commits.at(-1) : undefined);
  }
});

const abort = command("abort", 1, fc.nat(2), async (chosen, model, world) => {
  const open = openSlot(model, chosen);
  if (open !== undefined) {
    model.abort(open);
    await world.abort(open);
  }
});

const insert = command(
  "insert",
  6,
  fc.record({ slot: maybeSlot, queue, rows: fc.array(row, { minLength: 1, maxLength: 4 }), layout }),
  async (chosen, model, world) => {
    const used = await ensureOpen(chosen.slot, model, world);
    const append = {
      queue: chosen.queue,
      rows: freshRows(model, chosen.queue, chosen.rows),
      layout: layoutOf(model, chosen.queue, chosen.layout),
    };
    await world.insert(used, append, model.insert(used, append));
  },
);

const insertAnywhere = command(
  "insertAnywhere",
  2,
  fc.record({ queue, sizes: fc.array(size, { minLength: 1, maxLength: 3 }) }),
  async (chosen, model, world) => {
    const data = chosen.sizes.map((length) => freshData(model, length));
    const found = await world.insertAnywhere(chosen.queue, data, model);
    if (!(found instanceof Refusal)) {
      const added = model.newCommit();
      for (const text of data) {
        model.append(added, { queue: chosen.queue, partition: found }, text);
      }
    }
  },
);

async function open(name: QueueName, session: string, model: QueueModel, world: World): Promise<void> {
  await world.openSession(name, session, model.openSession(name, session));
}

async function push(
  used: number | undefined,
  request: PushRequest,
  model: QueueModel,
  world: World,
): Promise<void> {
  model.lastPushes.set(sessionKey(request.queue, request.session), request);
  await world.push(used, request, model.push(used, request), model.layouts[request.queue]);
  if (used !== undefined && !model.transactions.has(used)) {
    await world.findEnded(used);
  }
}

const pushRows = command(
  "push",
  8,
  fc.record({
    slot: maybeSlot,
    queue,
    session,
    /** Of the epoch that the session has: a zombie below, nobody yet above. */
    epoch: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
    ),
    /** Number of the first row, counted from the one that is due. */
    first: fc.oneof(
      { weight: 1, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -4, max: 2 }) },
    ),
    rows: fc.array(row, { maxLength: 4, size: "max" }),
    /** Steps between the numbers of rows; 0 is not allowed by the API. */
    steps: fc.option(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 4, maxLength: 4 }), {
      nil: undefined,
    }),
    isDisordered: rarely,
    layout,
    /** Opens the session first if there is none. */
    opens: rarely.map((isClosed) => !isClosed),
  }),
  async (chosen, model, world) => {
    if (chosen.opens && model.session(chosen.queue, chosen.session) === undefined) {
      await open(chosen.queue, chosen.session, model, world);
    }
    const used = await ensureOpen(chosen.slot, model, world);
    const seen = model.sessionSeen(used, chosen.queue, chosen.session);
    let number = (seen?.number ?? -1n) + 1n + BigInt(chosen.first);
    const numbers: bigint[] = [];
    for (const index of chosen.rows.keys()) {
      numbers.push(number);
      number += BigInt(chosen.steps?.[index] ?? 1);
    }
    if (chosen.isDisordered && chosen.steps !== undefined) {
      numbers.reverse();
    }
    const request: PushRequest = {
      queue: chosen.queue,
      session: chosen.session,
      epoch: (seen?.epoch ?? 0n) + BigInt(chosen.epoch),
      numbers,
      isBatch: chosen.steps === undefined,
      rows: freshRows(model, chosen.queue, chosen.rows),
      layout: layoutOf(model, chosen.queue, chosen.layout),
    };
    await push(used, request, model, world);
  },
);

/** A client that got no answer sends the very same push once more, maybe in another transaction. */
const pushAgain = command(
  "pushAgain",
  3,
  fc.record({ slot: maybeSlot, queue, session }),
  async (chosen, model, world) => {
    const last = model.lastPushes.get(sessionKey(chosen.queue, chosen.session));
    if (last !== undefined) {
      await push(await ensureOpen(chosen.slot, model, world), last, model, world);
    }
  },
);

const openSession = command("openSession", 2, fc.record({ queue, session }), async (chosen, model, world) => {
  await open(chosen.queue, chosen.session, model, world);
});

const removeSession = command(
  "removeSession",
  1,
  fc.record({ queue, session }),
  async (chosen, model, world) => {
    model.removeSession(chosen.queue, chosen.session);
    await world.removeSession(chosen.queue, chosen.session);
  },
);

/** A row index near the rows that are there: a share of their number, and a bit. */
const near = fc.record({ share: fc.constantFrom(0, 0.3, 0.5, 0.8, 1), more: fc.constantFrom(0, 0, 1, 3) });

function indexNear(model: QueueModel, place: Place, chosen: { share: number; more: number }): number {
  return Math.floor(model.partition(place).rows.length * chosen.share) + chosen.more;
}

const pull = command(
  "pull",
  5,
  fc.record({
    queue,
    partition,
    /** `undefined`: pull_queue. */
    consumer: fc.option(consumer, { nil: undefined, freq: 2 }),
    /** `undefined`: the consumer's offset. */
    offset: fc.option(near, { nil: undefined, freq: 3 }),
    maxRowCount: fc.constantFrom(1000, 1, 2, 3),
    /** As much as so many rows weigh, and a byte less or more; `undefined`: no limit that counts. */
    weight: fc.option(
      fc.record({ rows: fc.integer({ min: 1, max: 3 }), more: fc.integer({ min: -1, max: 1 }) }),
      {
        nil: undefined,
        freq: 2,
      },
    ),
  }),
  async (chosen, model, world) => {
    const place = placeOf(chosen);
    const offset =
      chosen.offset === undefined
        ? chosen.consumer === undefined
          ? 0n
          : model.offset(undefined, chosen.consumer, place)
        : BigInt(indexNear(model, place, chosen.offset));
    const maxDataWeight =
      chosen.weight === undefined
        ? 1 << 24
        : Math.max(1, model.pulledWeight(place, Number(offset), chosen.weight.rows) + chosen.weight.more);
    const request = { ...place, offset, maxRowCount: chosen.maxRowCount, maxDataWeight };
    await world.pull(
      chosen.offset === undefined ? { ...request, offset: undefined } : request,
      chosen.consumer,
      model.pull(request),
      model.layouts[place.queue],
    );
  },
);

const advance = command(
  "advance",
  6,
  fc.record({
    slot: maybeSlot,
    queue,
    partition,
    consumer,
    old: fc.constantFrom("none" as const, "right" as const, "right" as const, "wrong" as const),
    offset: near,
    clientSide: fc.boolean(),
  }),
  async (chosen, model, world) => {
    const used = await ensureOpen(chosen.slot, model, world);
    const place = placeOf(chosen);
    const current = model.offset(used, chosen.consumer, place);
    const request = {
      ...place,
      consumer: chosen.consumer,
      oldOffset: chosen.old === "none" ? undefined : chosen.old === "right" ? current : current + 1n,
      newOffset: BigInt(indexNear(model, place, chosen.offset)),
      clientSide: chosen.clientSide,
    };
    await world.advance(used, request, model.advance(used, request));
  },
);

const trim = command(
  "trim",
  3,
  fc.record({ queue, partition, count: near }),
  async (chosen, model, world) => {
    const place = placeOf(chosen);
    const count = indexNear(model, place, chosen.count);
    await world.trim(place, count, model.trim(place, count));
  },
);

/** @param only one partition, or all */
export async function changeTablets(
  name: QueueName,
  only: number | undefined,
  change: LifecycleCommand,
  model: QueueModel,
  world: World,
): Promise<void> {
  const before = model.layouts[name];
  const expected = model.changeState(name, only, change);
  await world.changeState(name, only, change, expected, { before, after: model.layouts[name] });
}

const changeState = command(
  "changeState",
  4,
  fc.record({
    queue,
    /** One partition, or all. */
    partition: fc.option(partition, { nil: undefined, freq: 2 }),
    // Twice as often back to work as away from it.
    commands: fc.oneof(
      fc.constantFrom(["freeze", "unfreeze"] as const, ["unmount", "mount"] as const),
      fc.constantFrom(...lifecycleCommands.map((name) => [name] as const)),
      fc.constantFrom(["mount"] as const, ["unfreeze"] as const),
    ),
  }),
  async (chosen, model, world) => {
    const only =
      chosen.partition === undefined ? undefined : chosen.partition % partitionCounts[chosen.queue];
    for (const name of chosen.commands) {
      await changeTablets(chosen.queue, only, name, model, world);
    }
  },
);

const restart = command("restart", 4, fc.constant(undefined), async (_, model, world) => {
  model.restart();
  await world.restart();
});

const always = [
  begin,
  commit,
  abort,
  insert,
  insertAnywhere,
  pushRows,
  pushAgain,
  openSession,
  removeSession,
  pull,
  advance,
  trim,
  changeState,
];

const maxCommands = 36;

function histories(
  list: readonly (typeof begin)[],
): fc.Arbitrary<Iterable<fc.AsyncCommand<QueueModel, World>>> {
  return fc.commands([fc.oneof(...list)], { maxCommands, size: "max" });
}

export const history = histories(always);
export const historyWithRestarts = histories([...always, restart]);
