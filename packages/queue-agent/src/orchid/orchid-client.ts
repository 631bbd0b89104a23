/** Asks another agent of the family for what it leads: the same question as ours, over HTTP. */
import { bare, isMap, toYtError, type YsonValue, YtError } from "@qyt/base";
import { type Transport, undiciTransport } from "@qyt/client";
import { errorFromYson, parseYson, writeYson } from "@qyt/yson";
import type { OrchidMethod } from "./orchid-node.ts";

const maxAnswerBytes = 64 * 1024 * 1024;

export interface OrchidAsker {
  /** @throws YtError 3104 when the agent does not answer; what it answers otherwise */
  ask(address: string, method: OrchidMethod, path: string, timeoutMs: number): Promise<YsonValue>;
  close(): Promise<void>;
}

export class OrchidClient implements OrchidAsker {
  readonly #transport: Transport = undiciTransport({ connectTimeoutMs: 3_000 });

  close(): Promise<void> {
    return this.#transport.close();
  }

  async ask(address: string, method: OrchidMethod, path: string, timeoutMs: number): Promise<YsonValue> {
    let body: Buffer;
    try {
      body = await this.#exchange(address, method, path, timeoutMs);
    } catch (thrown) {
      throw new YtError(`Queue agent ${address}, which leads the object, does not answer`, {
        code: "QueueAgentRetriableError",
        attributes: { queue_agent: address },
        inner: [toYtError(thrown)],
      });
    }
    const answer = bare(parseYson(body));
    const error = isMap(answer) ? answer.get("error") : undefined;
    if (error !== undefined) {
      throw errorFromYson(error);
    }
    return (isMap(answer) ? answer.get("value") : undefined) ?? null;
  }

  async #exchange(address: string, method: OrchidMethod, path: string, timeoutMs: number): Promise<Buffer> {
    const response = await this.#transport.send({
      method: "POST",
      url: `http://${address}/orchid`,
      headers: [["content-type", "application/x-yt-yson-text"]],
      body: writeYson(
        new Map([
          ["method", method],
          ["path", path],
        ]),
        "text",
      ),
      timeoutMs,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response.body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxAnswerBytes) {
        throw new YtError(`The answer is longer than ${maxAnswerBytes} bytes`);
      }
    }
    if (response.status !== 200) {
      throw new YtError(`HTTP status ${response.status}`);
    }
    return Buffer.concat(chunks, length);
  }
}
