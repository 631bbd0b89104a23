/**
 * Asking another process for a value that it has: `POST /orchid` with `{method; path}`, which answers
 * `{value}` or `{error}`. Queue agents answer so, and whatever a node `orchid` points at; controllers of pipelines
 * answer at a route of their own.
 */
import {
  bare,
  type Clock,
  isMap,
  limits,
  mapOf,
  type Timer,
  toYtError,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type Transport, undiciTransport } from "@qyt/client";
import { errorFromYson, parseYson, writeYson } from "@qyt/yson";
import { answerTimeoutMs, connectTimeoutMs } from "./remote-call.ts";

export interface OrchidQuestion {
  readonly method: "get" | "list" | "exists";
  /** YPath text, "" for the root. */
  readonly path: string;
}

export interface OrchidClientOptions {
  readonly clock: Clock;
  /** By default a real one. */
  readonly transport?: Transport;
}

const okStatus = 200;
const addressPattern = /^(?:[\w.-]+|\[[\da-f:.]+\]):\d{1,5}$/i;
const headers = [
  ["Content-Type", "application/x-yt-yson-text"],
  ["Accept", "application/x-yt-yson-text"],
] as const;

/** Whether the process did not answer at all, as opposed to answering with an error. */
export class NoAnswer extends YtError {}

export class OrchidClient {
  readonly #clock: Clock;
  readonly #transport: Transport;
  readonly #ownsTransport: boolean;

  constructor(options: OrchidClientOptions) {
    this.#clock = options.clock;
    this.#ownsTransport = options.transport === undefined;
    this.#transport = options.transport ?? undiciTransport({ connectTimeoutMs });
  }

  async close(): Promise<void> {
    if (this.#ownsTransport) {
      await this.#transport.close();
    }
  }

  /**
   * @param address "host:port"
   * @throws NoAnswer with code 100 or 3, naming the address; YtError the error of the answer
   */
  ask(address: string, { method, path }: OrchidQuestion, timeoutMs = answerTimeoutMs): Promise<YsonValue> {
    return this.call(address, "orchid", mapOf({ method, path }), timeoutMs);
  }

  /** Any question to a route of a process that answers in the same form. @throws as `ask` does */
  async call(address: string, route: string, body: YsonValue, timeoutMs: number): Promise<YsonValue> {
    if (!addressPattern.test(address)) {
      throw new NoAnswer(`"${address}" is not an address: expected "host:port"`, { attributes: { address } });
    }
    const answer = bare(parseYson(await this.#exchange(address, route, body, timeoutMs)));
    const error = isMap(answer) ? answer.get("error") : undefined;
    if (error !== undefined) {
      throw errorFromYson(error);
    }
    const value = isMap(answer) ? answer.get("value") : undefined;
    if (value === undefined) {
      throw new NoAnswer(`${address} answered neither with a value nor with an error`, {
        attributes: { address },
      });
    }
    return value;
  }

  /** The body of the answer. */
  async #exchange(address: string, route: string, question: YsonValue, timeoutMs: number): Promise<Buffer> {
    const controller = new AbortController();
    let isOver = false;
    const timer: Timer = this.#clock.after(timeoutMs, () => {
      isOver = true;
      controller.abort();
    });
    try {
      const response = await this.#transport.send({
        method: "POST",
        url: `http://${address}/${route}`,
        headers,
        body: writeYson(question, "text"),
        timeoutMs,
        signal: controller.signal,
      });
      const body = await readAll(response.body);
      if (response.status !== okStatus) {
        throw new YtError(`HTTP status ${response.status}`);
      }
      return body;
    } catch (thrown) {
      const options = { attributes: { address }, inner: [toYtError(thrown)] };
      throw isOver
        ? new NoAnswer(`${address} did not answer within ${timeoutMs} ms`, { code: "Timeout", ...options })
        : new NoAnswer(`${address} cannot be reached`, { code: "TransportError", ...options });
    } finally {
      timer.cancel();
    }
  }
}

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limits.maxStructuredBodyBytes) {
      throw new YtError(`The answer is longer than ${limits.maxStructuredBodyBytes} bytes`);
    }
  }
  return Buffer.concat(chunks, length);
}
