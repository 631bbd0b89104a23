/**
 * Reads of one cluster: what the passes ask for in one turn of the event loop goes to the cluster in a few
 * `execute_batch` requests, and not more than so many queries run at once.
 *
 * The answers of a batch are handed out in slices, because each one lets a pass go on.
 */
import { toYtError, turn, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { outcomeOf, outputValue, requestOf, sendBatch } from "../clusters/batch.ts";
import { selectYson } from "../state/row-io.ts";

/** One read that every pass repeats: `refresh` asks all of them at once, ahead of the passes. */
export interface WatchedRead<T> {
  /**
   * The answer of the latest `refresh`, once; otherwise it is asked for now.
   * @throws YtError of the command
   */
  take(): Promise<T>;
  /** It is asked no more. */
  close(): void;
}

interface Watch {
  readonly request: YsonMap;
  /** Given the answer of a `refresh`. */
  accept(result: YsonValue | YtError): void;
}

interface Waiting {
  readonly request: YsonMap;
  readonly resolve: (value: YsonValue) => void;
  readonly reject: (error: YtError) => void;
}

export interface ClusterReadsOptions {
  /** Sub-requests of one request; the server takes up to 10,000, but a large answer is long to read. */
  readonly maxBatchSize?: number;
  /** Queries under way at once. */
  readonly maxQueries?: number;
  /** How long one request may take, in milliseconds: a cluster that hangs holds up only its own objects. */
  readonly timeoutMs?: number;
}

const answersPerTurn = 50;

export class ClusterReads {
  readonly #client: () => YtClient;
  readonly #maxBatchSize: number;
  readonly #maxQueries: number;
  readonly #timeoutMs: number;
  #waiting: Waiting[] = [];
  readonly #watches = new Set<Watch>();
  #queryCount = 0;
  readonly #queuedQueries: (() => void)[] = [];

  /** @param client asked for at each request: clients are renewed when a connection changes */
  constructor(client: () => YtClient, options: ClusterReadsOptions = {}) {
    this.#client = client;
    this.#maxBatchSize = options.maxBatchSize ?? 250;
    this.#maxQueries = options.maxQueries ?? 32;
    this.#timeoutMs = options.timeoutMs ?? 15_000;
  }

  /**
   * One structured command that changes nothing, sent with the others of this turn.
   * @returns its output
   * @throws YtError the command's own error, or that of the whole request
   */
  execute(command: string, parameters: Readonly<Record<string, YsonValue | undefined>>): Promise<YsonValue> {
    return this.#ask(requestOf({ command, parameters }));
  }

  #ask(request: YsonMap): Promise<YsonValue> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#waiting.length === 1) {
        void this.#flush();
      }
    });
  }

  /** @param decode makes something small of an output that is kept until it is taken */
  watch<T>(
    command: string,
    parameters: Readonly<Record<string, YsonValue | undefined>>,
    decode: (output: YsonValue) => T,
  ): WatchedRead<T> {
    let fresh: { readonly value: T } | YtError | undefined;
    const watch: Watch = {
      request: requestOf({ command, parameters }),
      accept: (result) => {
        try {
          fresh = result instanceof YtError ? result : { value: decode(result) };
        } catch (thrown) {
          fresh = toYtError(thrown);
        }
      },
    };
    this.#watches.add(watch);
    return {
      take: async () => {
        const taken = fresh;
        fresh = undefined;
        if (taken instanceof YtError) {
          throw taken;
        }
        return taken === undefined ? decode(await this.#ask(watch.request)) : taken.value;
      },
      close: () => this.#watches.delete(watch),
    };
  }

  /** Asks all watched reads. Never rejects: each has its own error. */
  async refresh(): Promise<void> {
    const watches = [...this.#watches];
    const batches: Promise<void>[] = [];
    for (let start = 0; start < watches.length; start += this.#maxBatchSize) {
      batches.push(this.#refreshSome(watches.slice(start, start + this.#maxBatchSize)));
      // Writing a batch takes a while.
      await turn();
    }
    await Promise.all(batches);
  }

  async #refreshSome(watches: readonly Watch[]): Promise<void> {
    let results: readonly YsonValue[];
    try {
      results = await this.#sendBatch(watches.map(({ request }) => request));
    } catch (thrown) {
      const error = toYtError(thrown);
      for (const watch of watches) {
        watch.accept(error);
      }
      return;
    }
    for (const [index, watch] of watches.entries()) {
      watch.accept(outcomeOf(results[index] ?? null));
    }
  }

  /** The value of `get`. @throws YtError */
  async get(path: string, attributes?: readonly string[]): Promise<YsonValue> {
    return outputValue(await this.execute("get", { path, attributes }));
  }

  /** The rows of a query as maps, with int64 and uint64 told apart. @throws YtError */
  async select(
    query: string,
    parameters: Readonly<Record<string, YsonValue | undefined>> = {},
  ): Promise<readonly YsonMap[]> {
    if (this.#queryCount >= this.#maxQueries) {
      await new Promise<void>((resolve) => this.#queuedQueries.push(resolve));
    }
    this.#queryCount += 1;
    try {
      return await selectYson(this.#client(), query, { parameters, timeoutMs: this.#timeoutMs });
    } finally {
      this.#queryCount -= 1;
      this.#queuedQueries.shift()?.();
    }
  }

  async #flush(): Promise<void> {
    await turn();
    const all = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < all.length; start += this.#maxBatchSize) {
      void this.#send(all.slice(start, start + this.#maxBatchSize));
    }
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    let results: readonly YsonValue[];
    try {
      results = await this.#sendBatch(batch.map(({ request }) => request));
    } catch (thrown) {
      const error = toYtError(thrown);
      for (const { reject } of batch) {
        reject(error);
      }
      return;
    }
    for (const [index, waiting] of batch.entries()) {
      settle(waiting, results[index] ?? null);
      if (index % answersPerTurn === answersPerTurn - 1) {
        await turn();
      }
    }
  }

  #sendBatch(requests: readonly YsonMap[]): Promise<readonly YsonValue[]> {
    return sendBatch(this.#client(), requests, false, { timeoutMs: this.#timeoutMs });
  }
}

function settle(waiting: Waiting, result: YsonValue): void {
  const output = outcomeOf(result);
  if (output instanceof YtError) {
    waiting.reject(output);
  } else {
    waiting.resolve(output);
  }
}
