/** An HTTP proxy before a cluster that loses requests and answers as it was told. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/**
 * - `refuse`: answers 503, and the cluster never sees the request;
 * - `cut`: the cluster answers, and the connection ends before a byte of that answer;
 * - `tear`: the connection ends within the answer: its head comes, and half of its body.
 */
export type Fault = "refuse" | "cut" | "tear";

export interface SeenRequest {
  readonly command: string;
  readonly fault: Fault | undefined;
}

export class FaultyProxy {
  readonly #target: URL;
  readonly #server: Server;
  readonly #planned = new Map<string, Fault[]>();
  readonly #seen: SeenRequest[] = [];

  private constructor(targetAddress: string) {
    this.#target = new URL(`http://${targetAddress}`);
    this.#server = createServer((incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch(() => incoming.socket.destroy());
    });
  }

  static async start(targetAddress: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetAddress);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get address(): string {
    const address = this.#server.address();
    return address !== null && typeof address === "object" ? `127.0.0.1:${address.port}` : "";
  }

  /** The next requests for the command get these faults, one each; later ones get none. */
  plan(command: string, faults: readonly Fault[]): void {
    this.#planned.set(command, [...faults]);
  }

  /** What came for the commands that had a plan, in order; forgets it, and what was not used of the plans. */
  takeSeen(): SeenRequest[] {
    this.#planned.clear();
    return this.#seen.splice(0);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const command = /^\/api\/v\d\/(\w+)/.exec(incoming.url ?? "")?.[1] ?? "";
    const plan = this.#planned.get(command);
    const fault = plan?.shift();
    if (plan !== undefined) {
      this.#seen.push({ command, fault });
    }
    const body = await buffer(incoming);
    if (fault === "refuse") {
      outgoing.writeHead(503, { "content-type": "application/json" });
      outgoing.end('{"code":2100,"message":"This proxy is banned","attributes":{}}');
      return;
    }
    const answer = await this.#forward(incoming, body);
    const answerBody = await buffer(answer);
    if (fault === "cut") {
      incoming.socket.destroy();
      return;
    }
    const {
      "transfer-encoding": _chunked,
      "content-length": _length,
      trailer: _trailer,
      ...headers
    } = answer.headers;
    if (fault === "tear") {
      // In chunks: the library takes no notice of a length that is not reached.
      outgoing.writeHead(answer.statusCode ?? 502, headers);
      outgoing.write(answerBody.subarray(0, answerBody.length >> 1), () => incoming.socket.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, { ...headers, "content-length": answerBody.length });
    outgoing.end(answerBody);
  }

  #forward(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { "transfer-encoding": _chunked, ...headers } = incoming.headers;
    return new Promise((resolve, reject) => {
      const { hostname: host, port } = this.#target;
      const { method = "GET", url: path = "/" } = incoming;
      request({ host, port, method, path, headers: { ...headers, "content-length": body.length } }, resolve)
        .once("error", reject)
        .end(body);
    });
  }
}
