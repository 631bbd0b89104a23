/** A transport over which requests, or their answers, are lost where a test says so. */
import { type Transport, type TransportRequest, type TransportResponse, undiciTransport } from "@qyt/client";

export class LossyLine implements Transport {
  readonly #inner = undiciTransport();
  readonly #requests = new Map<string, number>();
  readonly #answers = new Map<string, number>();

  /** Loses the next `count` requests of a command on their way to the proxy. */
  loseRequests(command: string, count: number): void {
    this.#requests.set(command, count);
  }

  /** Loses the answers to the next `count` requests of a command, which the proxy has taken. */
  loseAnswers(command: string, count: number): void {
    this.#answers.set(command, count);
  }

  /** From now on nothing is lost. */
  mend(): void {
    this.#requests.clear();
    this.#answers.clear();
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const command = request.url.slice(request.url.lastIndexOf("/") + 1);
    if (isNext(this.#requests, command)) {
      throw hangUp();
    }
    const isLost = isNext(this.#answers, command);
    const response = await this.#inner.send(request);
    if (isLost) {
      for await (const _ of response.body) {
        // The proxy has done its work when the answer is complete.
      }
      throw hangUp();
    }
    return response;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

function isNext(losses: Map<string, number>, command: string): boolean {
  const left = losses.get(command) ?? 0;
  losses.set(command, Math.max(0, left - 1));
  return left > 0;
}

function hangUp(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}
