/** A cluster in this process with authentication on, its users, and requests as anybody may send them. */
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { mapOf, type YsonValue } from "@qyt/base";
import { type ClientOptions, createClient, type YtClient } from "@qyt/client";
import type { Cluster, ClusterOptions } from "@qyt/server";
import { writeYsonText } from "@qyt/yson";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  /** Names in lower case, the last of duplicates. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** Of the error, the outermost; 0 without one. */
  readonly code: number;
  /** Message of the error. */
  readonly message: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: readonly Header[];
  readonly body?: string;
}

/** `Authorization` with a token. */
export function bearer(token: string): Header {
  return ["Authorization", `OAuth ${token}`];
}

export function basic(user: string, password: string): Header {
  return ["Authorization", `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`];
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export class GuardedCluster {
  readonly cluster: Cluster;
  readonly rootToken: string;
  readonly root: YtClient;
  readonly #clients: YtClient[] = [];

  private constructor(cluster: Cluster, rootToken: string) {
    this.cluster = cluster;
    this.rootToken = rootToken;
    this.root = this.client({ token: rootToken });
  }

  static async start(options: Partial<ClusterOptions> = {}): Promise<GuardedCluster> {
    const cluster = await startTestCluster({
      name: "pythia",
      authentication: { peersByUser: new Map(), peersByToken: new Map() },
      ...options,
    });
    const token = randomBytes(16).toString("hex");
    await cluster.issueFirstToken(token, async () => {});
    return new GuardedCluster(cluster, token);
  }

  /** Without retries. */
  client(options: Omit<ClientOptions, "proxy">): YtClient {
    const client = createClient({ retries: false, proxy: this.cluster.address, ...options });
    this.#clients.push(client);
    return client;
  }

  /** A new user, and a token of his. */
  async user(name: string): Promise<string> {
    await this.root.execute("create", { type: "user", attributes: mapOf({ name }) });
    return this.issueToken(name);
  }

  async issueToken(user: string): Promise<string> {
    return String(await this.root.execute("issue_token", { user }));
  }

  async setPassword(user: string, password: string): Promise<void> {
    await this.root.execute("set_user_password", { user, new_password_sha256: sha256(password) });
  }

  async set(path: string, value: YsonValue): Promise<void> {
    await this.root.set(path, Buffer.from(writeYsonText(value)));
  }

  /** Opens a session, and gives the value of its cookie. */
  async login(user: string, password: string): Promise<string> {
    const reply = await this.send("/login", { headers: [basic(user, password)] });
    const cookie = /^YTCypressCookie=([0-9A-F]{64});/.exec(reply.headers.get("set-cookie") ?? "")?.[1];
    if (cookie === undefined) {
      throw new Error(`No session: ${reply.status} ${reply.text}`);
    }
    return cookie;
  }

  /** One request on a connection of its own, its headers as they are given. */
  send(path: string, sent: Sent = {}): Promise<Reply> {
    const [host = "", port = ""] = this.cluster.address.split(":");
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host,
          port,
          path,
          method: sent.method ?? "GET",
          agent: false,
          headers: [["Host", this.cluster.address], ...(sent.headers ?? [])].flat(),
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.once("error", reject);
          response.once("end", () => {
            const headers = new Map<string, string>();
            for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) {
              headers.set((response.rawHeaders[i] ?? "").toLowerCase(), response.rawHeaders[i + 1] ?? "");
            }
            resolve({
              status: response.statusCode ?? 0,
              headers,
              text,
              code: Number(headers.get("x-yt-response-code") ?? 0),
              message: headers.get("x-yt-response-message") ?? "",
            });
          });
        },
      );
      call.once("error", reject);
      call.end(sent.body);
    });
  }

  /** A command with its parameters in the header. */
  call(command: string, parameters: Readonly<Record<string, YsonValue>>, sent: Sent = {}): Promise<Reply> {
    return this.send(`/api/v4/${command}`, {
      ...sent,
      headers: [
        ["X-YT-Header-Format", "<format=text>yson"],
        ["X-YT-Parameters", writeYsonText(mapOf(parameters))],
        ...(sent.headers ?? []),
      ],
    });
  }

  /** Sends text as it is; what came back until the connection was closed. */
  raw(text: string): Promise<string> {
    const [host = "", port = ""] = this.cluster.address.split(":");
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), host, () => socket.write(text));
      let answer = "";
      socket.setEncoding("latin1").on("data", (chunk: string) => {
        answer += chunk;
      });
      socket.once("error", reject);
      socket.once("close", () => resolve(answer));
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.cluster.close(1000);
  }
}
