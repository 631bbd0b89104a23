/** A process that answers as a queue agent does, from a tree of plain data, and shows itself in a cluster. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isList, isMap, mapOf, toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson, parseYson, tokenizeYPath, toYson, writeYson } from "@qyt/yson";
import type { TestCluster } from "../queue-api/fixture.ts";

export class FakeAgent {
  readonly #server: Server;
  /** `queue_agent/queues/<cluster:path>`, and so on. */
  readonly #objects = new Map<string, YsonValue>();
  /** Objects that were just given to an agent which has not taken them over. */
  readonly moving = new Set<string>();
  /** What was asked for, in order: `get /queue_agent/…`. */
  readonly questions: string[] = [];

  readonly address: string;

  private constructor(server: Server) {
    this.#server = server;
    this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<FakeAgent> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const agent = new FakeAgent(server);
    server.on("request", async (request: IncomingMessage, response) => {
      const answer = await agent.#answer(request);
      response.setHeader("Content-Type", "application/x-yt-yson-text");
      response.end(writeYson(answer, "text"));
    });
    return agent;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** @param kind "queues" or "consumers"; @param reference `primary://tmp/q` */
  knows(
    kind: string,
    reference: string,
    parts: { readonly status?: unknown; readonly partitions?: unknown },
  ): void {
    this.#objects.set(`${kind}/${reference}`, toYson(parts));
  }

  /** Makes itself known in a cluster as a live agent of a stage. Gives the transaction of its lock. */
  async join(cluster: TestCluster, stage: string): Promise<string> {
    const instance = `//sys/queue_agents/instances/${this.address}`;
    await cluster.root.create("map_node", instance, { attributes: mapOf({ queue_agent_stage: stage }) });
    await cluster.root.create("orchid", `${instance}/orchid`, {
      attributes: mapOf({ remote_addresses: mapOf({ default: this.address }) }),
    });
    const transactionId = await cluster.root.startTransaction({ timeoutMs: 60_000 });
    await cluster.root.execute("lock", {
      path: instance,
      mode: "shared",
      attribute_key: "presence",
      transaction_id: transactionId,
    });
    return transactionId;
  }

  async #answer(request: IncomingMessage): Promise<YsonMap> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const question = parseYson(Buffer.concat(chunks));
    if (request.method !== "POST" || request.url !== "/orchid" || !isMap(question)) {
      return mapOf({ error: errorToYson(new YtError("This is no question")) });
    }
    const method = String(question.get("method"));
    const path = String(question.get("path"));
    this.questions.push(`${method} ${path}`);
    try {
      return mapOf({ value: this.#look(method, path) });
    } catch (thrown) {
      return mapOf({ error: errorToYson(toYtError(thrown)) });
    }
  }

  #look(method: string, path: string): YsonValue {
    const names = tokenizeYPath(`/${path}`).steps.map((step) => (step.kind === "child" ? step.name : `@`));
    const [service, kind, reference, ...rest] = names;
    if (service === "pass_index") {
      return 7n;
    }
    if (kind !== "queues" && kind !== "consumers") {
      throw new YtError(`Node /queue_agent has no child with key "${kind}"`, { code: "ResolveError" });
    }
    if (this.moving.has(`${kind}/${reference}`)) {
      throw new YtError(`Object ${reference} is missing`, {
        code: "QueueAgentRetriableError",
        inner: [new YtError("Node has no child", { code: "ResolveError" })],
      });
    }
    const object = this.#objects.get(`${kind}/${reference}`);
    if (object === undefined) {
      throw new YtError(`Object ${reference} is not mapped to any queue agent`, {
        code: "QueueAgentObjectIsNotMapped",
      });
    }
    let value: YsonValue | undefined = object;
    for (const name of rest) {
      value = isMap(value) ? value.get(name) : isList(value) ? value[Number(name)] : undefined;
      if (value === undefined) {
        if (method === "exists") {
          return false;
        }
        throw new YtError(`Node has no child with key "${name}"`, { code: "ResolveError" });
      }
    }
    if (method === "exists") {
      return true;
    }
    return method === "list" && isMap(value) ? [...value.keys()] : (value ?? null);
  }
}
