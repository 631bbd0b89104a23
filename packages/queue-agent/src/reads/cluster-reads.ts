/**
 * Reads of one cluster: what the passes ask for in one turn of the event loop goes to the cluster in a few
 * `execute_batch` requests, and not more than so many queries run at once.
 *
 * The answers of a batch are handed out in slices, because each one lets a pass go on.
 */
import {
  bare,
  isList,
  isMap,
  mapOf,
  toYtError,
  turn,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { errorFromYson, parseYsonList } from "@qyt/yson";

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
    const request = mapOf({ command, parameters: mapOf(parameters) });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#waiting.length === 1) {
        void this.#flush();
      }
    });
  }

  /** The value of `get`. @throws YtError */
  async get(path: string, attributes?: readonly string[]): Promise<YsonValue> {
    const output = await this.execute("get", { path, attributes });
    return isMap(output) && output.has("value") ? (output.get("value") ?? null) : output;
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
      const bytes = await this.#client().requester.receive({
        command: "select_rows",
        method: "GET",
        isVolatile: false,
        parameters: { query, ...parameters, output_format: "yson" },
        timeoutMs: this.#timeoutMs,
      });
      return parseYsonList(bytes).filter(isMap);
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
      results = await this.#sendBatch(batch);
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

  async #sendBatch(batch: readonly Waiting[]): Promise<readonly YsonValue[]> {
    const answer = await this.#client().requester.receiveValue({
      command: "execute_batch",
      method: "POST",
      // Only reads: sent again without a mutation id, and the server keeps no answer.
      isVolatile: false,
      parameters: { requests: batch.map(({ request }) => request) },
      timeoutMs: this.#timeoutMs,
    });
    const results = isMap(answer) ? answer.get("results") : answer;
    if (!isList(results) || results.length !== batch.length) {
      throw new YtError(
        "The proxy answered a batch of reads with another number of results than was asked for",
      );
    }
    return results;
  }
}

function settle(waiting: Waiting, result: YsonValue): void {
  const map = bare(result);
  if (!isMap(map)) {
    waiting.reject(new YtError("The proxy answered a read with a result that is not a map"));
    return;
  }
  const error = map.get("error");
  if (error !== undefined) {
    waiting.reject(errorFromYson(error));
  } else {
    waiting.resolve(map.get("output") ?? null);
  }
}
