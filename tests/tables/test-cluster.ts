/** A cluster in this process behind a real socket, and a client that hides nothing. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { type Clock, systemClock, type YtError } from "@qyt/base";
import { type Cluster, MemoryStore, type Store } from "@qyt/server";
import { ForgetfulStore } from "@qyt/testing";
import { errorFromYson, parseJson } from "@qyt/yson";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT";
  readonly version?: 3 | 4;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** A row of an answer: JSON has no 64-bit integers, and tests stay below 2^53. */
export type Row = Record<string, unknown>;

const putCommands = new Set(["insert_rows", "delete_rows", "lock_rows", "lookup_rows", "set", "write_table"]);
const getCommands = new Set(["get", "list", "exists", "select_rows", "read_table", "pull_queue"]);
const formats = new Set(["insert_rows", "delete_rows", "lock_rows", "lookup_rows", "write_table", "set"]);

export class TestCluster {
  readonly cluster: Cluster;
  /** What survives a restart. */
  readonly store: Store;
  readonly #clock: Clock;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(cluster: Cluster, store: Store, clock: Clock) {
    this.cluster = cluster;
    this.store = store;
    this.#clock = clock;
  }

  static async start(options: { readonly store?: Store; readonly clock?: Clock } = {}): Promise<TestCluster> {
    const store = options.store ?? new MemoryStore();
    const clock = options.clock ?? systemClock;
    const cluster = await startTestCluster({
      name: "pythia",
      // Closing the cluster leaves the store beneath open for the next one.
      store: new ForgetfulStore(store),
      clock,
    });
    return new TestCluster(cluster, store, clock);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.cluster.close(1_000);
  }

  /** Stops the cluster and starts another one over what it has stored. */
  async restart(): Promise<TestCluster> {
    await this.stop();
    return TestCluster.start({ store: this.store, clock: this.#clock });
  }

  /** @param parameters a map in text YSON, `{path="//tmp/t"}` */
  call(command: string, parameters: string, options: CallOptions = {}): Promise<Reply> {
    return this.request(`/api/v${options.version ?? 4}/${command}`, {
      ...options,
      method:
        options.method ?? (putCommands.has(command) ? "PUT" : getCommands.has(command) ? "GET" : "POST"),
      headers: {
        "X-YT-Header-Format": "<format=text>yson",
        "X-YT-Parameters": parameters,
        ...options.headers,
      },
    });
  }

  /** A request as it stands, without any parameters of its own. */
  request(path: string, options: CallOptions = {}): Promise<Reply> {
    const [host, port] = this.cluster.address.split(":");
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host,
          port,
          path,
          method: options.method ?? "GET",
          agent: this.#agent,
          headers: { ...options.headers },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const body = Buffer.concat(chunks);
            const { statusCode, headers } = response;
            resolve({ status: statusCode ?? 0, headers, body, text: body.toString("utf8") });
          });
        },
      );
      sent.on("error", reject);
      sent.end(options.body);
    });
  }

  /** The body of an answer that has to be 200. */
  async ok(
    command: string,
    parameters: string,
    body?: string | Buffer,
    options: CallOptions = {},
  ): Promise<string> {
    const reply = await this.call(command, withFormats(command, parameters), {
      ...options,
      ...(body === undefined ? {} : { body }),
    });
    if (reply.status !== 200) {
      throw errorOf(reply);
    }
    return reply.text;
  }

  /** The error of an answer that has to be 400. */
  async error(command: string, parameters: string, body?: string | Buffer): Promise<YtError> {
    const reply = await this.call(
      command,
      withFormats(command, parameters),
      body === undefined ? {} : { body },
    );
    if (reply.status !== 400) {
      throw new Error(`${command} was expected to fail, but answered ${reply.status}: ${reply.text}`);
    }
    return errorOf(reply);
  }

  /** A structured answer as plain data. */
  async value(command: string, parameters: string): Promise<unknown> {
    return JSON.parse(await this.ok(command, withParameter(parameters, "output_format=json")));
  }

  async get(path: string, more = ""): Promise<unknown> {
    return this.value("get", `{path="${path}";return_only_value=%true;${more}}`);
  }

  /** @param value in text YSON */
  async set(path: string, value: string): Promise<void> {
    await this.ok("set", `{path="${path}"}`, value);
  }

  /** @param attributes the inside of a map in text YSON */
  async createTable(path: string, attributes: string): Promise<void> {
    await this.ok("create", `{type=table;path="${path}";attributes={${attributes}}}`);
  }

  /** Schema `[{name=key;type=int64};{name=value;type=string}]`, mounted unless told otherwise. */
  async createQueue(
    path: string,
    options: { readonly tablets?: number; readonly attributes?: string; readonly isMounted?: boolean } = {},
  ): Promise<void> {
    await this.createTable(
      path,
      `dynamic=%true;schema=${queueSchema};tablet_count=${options.tablets ?? 1};${options.attributes ?? ""}`,
    );
    if (options.isMounted !== false) {
      await this.mount(path);
    }
  }

  /** Schema `key int64 ascending, value string`, mounted. */
  async createSorted(path: string, schema: string = sortedSchema, attributes = ""): Promise<void> {
    await this.createTable(path, `dynamic=%true;schema=${schema};${attributes}`);
    await this.mount(path);
  }

  async mount(path: string, more = ""): Promise<void> {
    await this.ok("mount_table", `{path="${path}";${more}}`);
  }

  async unmount(path: string, more = ""): Promise<void> {
    await this.ok("unmount_table", `{path="${path}";${more}}`);
  }

  /** Flushes by unmounting, as the spec's cases do. */
  async flush(path: string): Promise<void> {
    await this.unmount(path);
    await this.mount(path);
  }

  /** @param rows a list fragment in text YSON */
  async insert(path: string, rows: string, more = ""): Promise<void> {
    await this.ok("insert_rows", `{path="${path}";${more}}`, rows);
  }

  async select(query: string, more = ""): Promise<Row[]> {
    return rowsOf(await this.ok("select_rows", `{query="${query}";output_format=json;${more}}`));
  }

  async lookup(path: string, keys: string, more = ""): Promise<(Row | null)[]> {
    return maybeRowsOf(await this.ok("lookup_rows", `{path="${path}";output_format=json;${more}}`, keys));
  }

  async read(path: string): Promise<Row[]> {
    return rowsOf(await this.ok("read_table", `{path="${path}";output_format=json}`));
  }

  async startTransaction(more = "type=tablet;sticky=%true"): Promise<string> {
    const answer = await this.value("start_transaction", `{timeout=30000;${more}}`);
    return String(fieldOf(answer, "transaction_id"));
  }

  async commit(id: string): Promise<void> {
    await this.ok("commit_transaction", `{transaction_id="${id}"}`);
  }
}

export const queueSchema = "[{name=key;type=int64};{name=value;type=string}]";
export const sortedSchema = "[{name=key;type=int64;sort_order=ascending};{name=value;type=string}]";

/** JSON lines; a name that begins with `$` is written with two. */
export function rowsOf(text: string): Row[] {
  return maybeRowsOf(text).map((row) => {
    if (row === null) {
      throw new Error("A row was expected, not an entity");
    }
    return row;
  });
}

function maybeRowsOf(text: string): (Row | null)[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Row | null => {
      const row: Row | null = JSON.parse(line);
      return row === null
        ? null
        : Object.fromEntries(Object.entries(row).map(([name, value]) => [name.replace(/^\$\$/, "$"), value]));
    });
}

/** A field of an answer, which has to be a map. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) {
    throw new Error(`A map was expected: ${JSON.stringify(value)}`);
  }
  return Reflect.get(value, name);
}

/** Numbers from `from` to below `to` as rows in text YSON. */
export function numberedRows(from: number, to: number, more = ""): string {
  let text = "";
  for (let key = from; key < to; key++) {
    text += `{key=${key};value="v${key}";${more}};`;
  }
  return text;
}

function errorOf(reply: Reply): YtError {
  const header = reply.headers["x-yt-error"];
  if (typeof header !== "string") {
    throw new Error(`An error was expected, but the answer was ${reply.status}: ${reply.text}`);
  }
  return errorFromYson(parseJson(Buffer.from(header)));
}

function withFormats(command: string, parameters: string): string {
  return formats.has(command) && !parameters.includes("input_format")
    ? withParameter(parameters, "input_format=yson")
    : parameters;
}

function withParameter(parameters: string, text: string): string {
  return `{${text};${parameters.slice(1)}`;
}

/** All messages of an error's tree, in one text. */
export function messagesOf(error: YtError): string {
  return [error.message, ...error.innerErrors.map(messagesOf)].join(" / ");
}
