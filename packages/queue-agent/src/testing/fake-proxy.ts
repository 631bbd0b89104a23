/** A proxy that answers reads as a test says, and tells what it was asked. */
import {
  isList,
  isMap,
  mapOf,
  seededRandom,
  systemClock,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { createClient, type Transport, type TransportRequest } from "@qyt/client";
import { errorToYson, parseYson, writeJson, writeYson, writeYsonList } from "@qyt/yson";
import { ClusterReads, type ClusterReadsOptions } from "../reads/cluster-reads.ts";
import { bodyOf } from "./fake-wire.ts";

export interface FakeAnswers {
  /** The output of a structured command. @throws YtError its error */
  readonly execute?: (command: string, parameters: YsonMap) => YsonValue;
  /** The rows of a query. @throws YtError its error */
  readonly select?: (query: string) => readonly YsonMap[];
}

export class FakeProxy {
  /** The sub-requests of each `execute_batch`. */
  readonly batches: (readonly YsonMap[])[] = [];
  readonly queries: string[] = [];
  isDown = false;
  mostQueriesAtOnce = 0;
  #queriesAtOnce = 0;
  readonly #answers: FakeAnswers;

  constructor(answers: FakeAnswers = {}) {
    this.#answers = answers;
  }

  readonly transport: Transport = {
    send: async (request) => {
      if (this.isDown) {
        throw new Error("connection refused");
      }
      try {
        const body = request.url.endsWith("/select_rows")
          ? await this.#rows(request)
          : this.#results(parseYson(bodyOf(request) ?? Buffer.alloc(0)));
        return answer(200, body);
      } catch (thrown) {
        if (thrown instanceof YtError) {
          return answer(400, writeJson(errorToYson(thrown)));
        }
        throw thrown;
      }
    },
    close: async () => {},
  };

  reads(options: ClusterReadsOptions = {}): ClusterReads {
    const client = createClient({
      proxy: "localhost:1",
      transport: this.transport,
      retries: false,
      clock: systemClock,
      random: seededRandom(1),
    });
    return new ClusterReads(() => client, options);
  }

  #results(parameters: YsonValue): Buffer {
    const requests = isMap(parameters) ? parameters.get("requests") : undefined;
    const items = (isList(requests) ? requests : []).filter(isMap);
    this.batches.push(items);
    return writeYson(mapOf({ results: items.map((item) => this.#result(item)) }), "binary");
  }

  #result(item: YsonMap): YsonMap {
    const given = item.get("parameters") ?? null;
    const parameters: YsonMap = isMap(given) ? given : new Map();
    try {
      return mapOf({ output: this.#answers.execute?.(String(item.get("command")), parameters) ?? null });
    } catch (thrown) {
      if (thrown instanceof YtError) {
        return mapOf({ error: errorToYson(thrown) });
      }
      throw thrown;
    }
  }

  async #rows(request: TransportRequest): Promise<Buffer> {
    this.#queriesAtOnce += 1;
    this.mostQueriesAtOnce = Math.max(this.mostQueriesAtOnce, this.#queriesAtOnce);
    await new Promise((resolve) => setImmediate(resolve));
    this.#queriesAtOnce -= 1;
    const header = request.headers.find(([name]) => name === "x-yt-parameters")?.[1] ?? "{}";
    const parameters = parseYson(header);
    const query = isMap(parameters) ? String(parameters.get("query")) : "";
    this.queries.push(query);
    return writeYsonList(this.#answers.select?.(query) ?? [], "binary");
  }
}

function answer(status: number, body: Buffer): Awaited<ReturnType<Transport["send"]>> {
  return {
    status,
    headers: new Map(),
    trailers: () => new Map(),
    body: (async function* () {
      yield body;
    })(),
  };
}
