/**
 * Histories of transactions by several clients over HTTP, while the real process is killed under them: whatever was
 * answered is so afterwards, nothing else is, and who locks what he reads is serialisable. `QYT_TEST_SEED` repeats a
 * run's choices. The same checks in process, over a store that forgets and fails, are in
 * `packages/server/src/tablets/transactions/histories.test.ts`.
 */
import { join } from "node:path";
import {
  Attributed,
  assert,
  bare,
  isList,
  isMap,
  type Random,
  type YsonMap,
  type YsonValue,
} from "@qyt/base";
import {
  between,
  chance,
  checkHistory,
  freePort,
  type HistoryRead,
  type HistoryTransaction,
  type HistoryVersion,
  type ProgramProcess,
  startProcess,
  temporaryDirectory,
  testRandom,
} from "@qyt/testing";
import { parseYson, parseYsonList } from "@qyt/yson";
import { expect, it } from "vitest";

const lives = 15;
const historiesPerLife = 4;
const clientsPerHistory = 4;
const keysPerHistory = 4;
const path = "//histories";
const schema = "<unique_keys=%true>[{name=k;type=int64;sort_order=ascending};{name=v;type=int64}]";

/** Nobody answers any more. */
class Gone extends Error {}

/** One request, sent once. @throws Gone when the server is, Error for a refusal */
type Call = (command: string, parameters: string, body?: string) => Promise<Buffer>;

function caller(address: string): Call {
  return async (command, parameters, body) => {
    let reply: Response;
    let bytes: Buffer;
    try {
      reply = await fetch(`http://${address}/api/v4/${command}`, {
        method: body === undefined ? "POST" : "PUT",
        headers: { "x-yt-header-format": "<format=text>yson", "x-yt-parameters": parameters },
        ...(body === undefined ? {} : { body }),
      });
      bytes = Buffer.from(await reply.arrayBuffer());
    } catch (error) {
      throw new Gone("no answer", { cause: error });
    }
    if (reply.status !== 200) {
      throw new Error(`${command}: ${reply.headers.get("x-yt-error") ?? bytes.toString()}`);
    }
    return bytes;
  };
}

function mapIn(value: YsonValue | undefined): YsonMap {
  const plain = bare(value ?? null);
  assert(isMap(plain), "the answer has a map");
  return plain;
}

function fieldsOf(bytes: Buffer): YsonMap {
  return mapIn(parseYson(bytes));
}

async function timestampNow(call: Call): Promise<bigint> {
  const fields = fieldsOf(await call("generate_timestamp", "{output_format=yson}"));
  return BigInt(String(fields.get("timestamp")));
}

/** A transaction as its client knows it. */
interface Seen {
  readonly id: number;
  /** Newest commit that somebody had been told of when it began: it sees that. */
  readonly earliest: bigint;
  /** A time when it had started. */
  latest: bigint;
  outcome: HistoryTransaction["outcome"];
  commit: bigint | undefined;
  readonly reads: HistoryRead[];
  readonly writes: Map<number, number>;
}

let lastValue = 0;

class History {
  readonly seen: Seen[] = [];
  readonly #call: Call;
  readonly #random: Random;
  readonly #firstKey: number;
  #lastId = 0;
  #acknowledged = 0n;

  readonly #onEnd: () => void;

  /** @param onEnd is called when a transaction has ended */
  constructor(call: Call, random: Random, firstKey: number, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#call = call;
    this.#random = random;
    this.#firstKey = firstKey;
  }

  get keys(): number[] {
    return Array.from({ length: keysPerHistory }, (_, index) => this.#firstKey + index);
  }

  /** Clients at work until the server is gone. */
  async run(): Promise<void> {
    const client = async (): Promise<void> => {
      try {
        for (;;) {
          await this.#transaction();
          this.#onEnd();
        }
      } catch (error) {
        if (!(error instanceof Gone)) {
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: clientsPerHistory }, client));
  }

  async #transaction(): Promise<void> {
    const call = this.#call;
    const random = this.#random;
    const seen: Seen = {
      id: ++this.#lastId,
      earliest: this.#acknowledged,
      latest: 0n,
      outcome: "refused",
      commit: undefined,
      reads: [],
      writes: new Map(),
    };
    const answer = await call(
      "start_transaction",
      "{type=tablet;sticky=%true;timeout=30000;output_format=yson}",
    );
    const within = `transaction_id="${String(fieldsOf(answer).get("transaction_id"))}"`;
    seen.latest = await timestampNow(call);
    this.seen.push(seen);
    const locksReads = chance(random, 0.5);
    for (let step = between(random, 1, 4); step > 0; step--) {
      const key = this.#firstKey + random.below(keysPerHistory);
      if (chance(random, 0.5) && !seen.writes.has(key)) {
        await this.#read(seen, key, within, locksReads);
      } else {
        const value = ++lastValue;
        seen.writes.set(key, value);
        await call("insert_rows", `{path="${path}";${within};input_format=yson}`, `{k=${key};v=${value}}`);
      }
    }
    if (chance(random, 0.1)) {
      await call("abort_transaction", `{${within}}`);
      return;
    }
    await this.#commit(seen, within);
  }

  async #read(seen: Seen, key: number, within: string, isLocked: boolean): Promise<void> {
    const parameters = `{path="${path}";${within};input_format=yson;output_format=yson}`;
    if (isLocked) {
      await this.#call("lock_rows", `{path="${path}";${within};input_format=yson}`, `{k=${key}}`);
    }
    const [row] = parseYsonList(await this.#call("lookup_rows", parameters, `{k=${key}}`));
    const value = row === undefined ? undefined : Number(mapIn(row).get("v"));
    seen.reads.push({ key, value, isLocked });
  }

  async #commit(seen: Seen, within: string): Promise<void> {
    seen.outcome = "unknown";
    try {
      const answer = await this.#call("commit_transaction", `{${within};output_format=yson}`);
      seen.commit = BigInt(String(fieldsOf(answer).get("primary_commit_timestamp")));
      seen.outcome = "committed";
      // One without writes is over at once, and says nothing of commits that are under way.
      if (seen.writes.size > 0 && seen.commit > this.#acknowledged) {
        this.#acknowledged = seen.commit;
      }
    } catch (error) {
      if (error instanceof Gone) {
        throw error;
      }
      seen.outcome = "refused";
    }
  }

  /** What is wrong, by the versions that the next server finds. */
  async problems(): Promise<string[]> {
    const versions = new Map<number, readonly HistoryVersion[]>();
    for (const key of this.keys) {
      versions.set(key, await storedVersions(this.#call, key));
    }
    const transactions = this.seen.map(({ earliest, latest, writes, ...others }): HistoryTransaction => {
      const written = [...writes].map(([key, value]) => ({ key, value }));
      return { ...others, writes: written, start: startOf(earliest, latest, others.reads, versions) };
    });
    return checkHistory(transactions, versions);
  }
}

/** The latest time at which the transaction may have started, by what it read; the earliest when there is none. */
function startOf(
  earliest: bigint,
  latest: bigint,
  reads: readonly HistoryRead[],
  versions: ReadonlyMap<number, readonly HistoryVersion[]>,
): bigint {
  const changes = [...versions.values()]
    .flat()
    .map(({ timestamp }) => timestamp - 1n)
    .filter((time) => time >= earliest && time < latest)
    .sort((left, right) => (left < right ? 1 : -1));
  const fits = (time: bigint): boolean =>
    reads.every(({ key, value }) => {
      const older = (versions.get(key) ?? []).filter(({ timestamp }) => timestamp <= time);
      return older.reduce<HistoryVersion | undefined>(newer, undefined)?.value === value;
    });
  return [latest, ...changes].find(fits) ?? earliest;
}

function newer(left: HistoryVersion | undefined, right: HistoryVersion): HistoryVersion {
  return left === undefined || right.timestamp > left.timestamp ? right : left;
}

async function storedVersions(call: Call, key: number): Promise<HistoryVersion[]> {
  const parameters = `{path="${path}";versioned=%true;input_format=yson;output_format=yson}`;
  const [row] = parseYsonList(await call("lookup_rows", parameters, `{k=${key}}`));
  const values = row === undefined ? [] : bare(mapIn(row).get("v") ?? null);
  assert(isList(values), "a column of a versioned row is a list");
  return values.map((value) => {
    assert(value instanceof Attributed, "a version has a time");
    return { timestamp: BigInt(String(value.attributes.get("timestamp"))), value: Number(value.value) };
  });
}

/** Kills the server after so many transactions, at a random moment of the next ones. */
async function liveAndDie(
  server: ProgramProcess,
  call: Call,
  random: Random,
  firstKey: number,
): Promise<History[]> {
  let left = between(random, 1, 60);
  let onMoment = (): void => {};
  const moment = new Promise<void>((resolve) => {
    onMoment = resolve;
  });
  const onEnd = (): void => {
    if (--left === 0) {
      setTimeout(onMoment, random.below(15));
    }
  };
  const histories = Array.from(
    { length: historiesPerLife },
    (_, index) => new History(call, random, firstKey + index * keysPerHistory, onEnd),
  );
  const running = Promise.all(histories.map((history) => history.run()));
  try {
    // Who finds something wrong ends the test at once.
    await Promise.race([moment, running]);
  } finally {
    await server.kill();
  }
  await running;
  return histories;
}

it(`${lives * historiesPerLife} histories have no anomaly over ${lives} kills`, {
  timeout: 240_000,
}, async () => {
  const random = testRandom("histories with kills");
  const directory = await temporaryDirectory("histories");
  const address = `127.0.0.1:${await freePort()}`;
  const args = [
    ...["--data-dir", join(directory.path, "data"), "--cluster", `histories=${address}`],
    "--no-queue-agent",
  ];
  const call = caller(address);
  const outcomes = { committed: 0, refused: 0, unknown: 0 };
  let server = await startProcess({ args });
  try {
    // Every version stays, so that the checker sees all there ever were.
    const attributes = `dynamic=%true;schema=${schema};min_data_versions=100000;max_data_versions=100000`;
    await call("create", `{type=table;path="${path}";attributes={${attributes}}}`);
    await call("mount_table", `{path="${path}"}`);
    for (let life = 0; life < lives; life++) {
      const firstKey = life * historiesPerLife * keysPerHistory;
      const histories = await liveAndDie(server, call, random, firstKey);
      server = await startProcess({ args });
      for (const history of histories) {
        expect(await history.problems(), `life ${life}`).toEqual([]);
        for (const { outcome } of history.seen) {
          outcomes[outcome]++;
        }
      }
    }
  } finally {
    await server.kill();
    await directory.remove();
  }
  console.info(`histories with kills: ${JSON.stringify(outcomes)}`);
  // Not because nothing happened.
  expect([outcomes.committed > 2 * lives, outcomes.refused > lives, outcomes.unknown > 0]).toEqual([
    true,
    true,
    true,
  ]);
});
