/** For the tests of this folder: a scripted driver behind a real socket, and a client that hides nothing. */
import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { mapOf, systemClock, type YsonValue, YtError } from "@qyt/base";
import { pino } from "pino";
import type {
  CommandDescriptor,
  CommandRequest,
  CommandResponse,
  DataType,
  Driver,
} from "../../driver/command.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../server.ts";

type Execute = (request: CommandRequest) => CommandResponse | Promise<CommandResponse>;

function command(
  name: string,
  inputType: DataType,
  outputType: DataType,
  isVolatile: boolean,
  isHeavy: boolean,
): CommandDescriptor {
  return { name, inputType, outputType, isVolatile, isHeavy };
}

const shared = [
  command("get", "null", "structured", false, false),
  command("create", "null", "structured", true, false),
  command("discover_proxies", "null", "structured", false, false),
  command("parse_ypath", "null", "structured", false, false),
  command("insert_rows", "tabular", "structured", true, true),
  command("lookup_rows", "tabular", "tabular", false, true),
  command("select_rows", "null", "tabular", false, true),
  command("read_table", "null", "tabular", false, true),
  command("read_file", "null", "binary", false, true),
  command("write_file", "binary", "structured", true, true),
];
const byVersion: Record<3 | 4, readonly CommandDescriptor[]> = {
  3: [
    ...shared,
    command("set", "structured", "null", true, false),
    command("start_tx", "null", "structured", true, false),
  ],
  4: [
    ...shared,
    command("set", "structured", "structured", true, false),
    command("start_transaction", "null", "structured", true, false),
  ],
};

/** Knows a node `//tmp` with a `@type`, and takes scripts for everything else. */
export class FakeDriver implements Driver {
  readonly calls: CommandRequest[] = [];
  readonly scripts = new Map<string, Execute>();

  descriptors(version: 3 | 4): readonly CommandDescriptor[] {
    return byVersion[version];
  }

  find(version: 3 | 4, name: string): CommandDescriptor | undefined {
    return byVersion[version].find((descriptor) => descriptor.name === name);
  }

  async execute(request: CommandRequest): Promise<CommandResponse> {
    this.calls.push(request);
    const script = this.scripts.get(request.command);
    if (script !== undefined) {
      return await script(request);
    }
    switch (request.command) {
      case "get":
        return structured(request, "value", getNode(request));
      case "create":
        return structured(request, "node_id", "1-2-3012f-4");
      case "insert_rows":
        await request.readBody(1 << 28);
        return { kind: "empty" };
      case "set":
        await request.readBody(1 << 26);
        return request.apiVersion === 4 ? { kind: "structured", value: mapOf({}) } : { kind: "empty" };
      default:
        throw new YtError(`Command "${request.command}" has no script`);
    }
  }

  /** The parameters of the last call. */
  get parameters(): ReadonlyMap<string, YsonValue> {
    return this.calls.at(-1)?.parameters ?? new Map();
  }
}

function getNode(request: CommandRequest): YsonValue {
  if (request.parameters.get("path") === "//tmp/@type") {
    return "map_node";
  }
  throw new YtError("Error resolving path //no", { code: "ResolveError", attributes: { method: "Get" } });
}

function structured(request: CommandRequest, name: string, value: YsonValue): CommandResponse {
  const isBare = request.apiVersion === 3 || request.parameters.get("return_only_value") === true;
  return { kind: "structured", value: isBare ? value : mapOf({ [name]: value }) };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly trailers: NodeJS.Dict<string>;
  readonly body: Buffer;
  readonly text: string;
  readonly isReusedConnection: boolean;
}

export interface Call {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export class Harness {
  readonly driver: FakeDriver;
  readonly server: HttpServer;
  /** Every log record of level info and above. */
  readonly log: Record<string, unknown>[];
  // One connection, so that a test sees whether it survives.
  readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  #lastPort: number | undefined;

  constructor(driver: FakeDriver, server: HttpServer, log: Record<string, unknown>[]) {
    this.driver = driver;
    this.server = server;
    this.log = log;
  }

  call(path: string, call: Call = {}): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          host: "127.0.0.1",
          port: this.server.port,
          path,
          method: call.method ?? "GET",
          headers: { ...call.headers },
          agent: this.agent,
        },
        (response) => {
          const port = response.socket.localPort;
          const isReusedConnection = port !== undefined && port === this.#lastPort;
          this.#lastPort = port;
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const body = Buffer.concat(chunks);
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              rawHeaders: response.rawHeaders,
              trailers: response.trailers,
              body,
              text: body.toString("utf8"),
              isReusedConnection,
            });
          });
        },
      );
      request.on("error", reject);
      request.end(call.body);
    });
  }

  /** Parameters in text YSON, as most SDKs send them. */
  callWith(path: string, parameters: string, call: Call = {}): Promise<Reply> {
    const headers = {
      "X-YT-Header-Format": "<format=text>yson",
      "X-YT-Parameters": parameters,
      ...call.headers,
    };
    return this.call(path, { ...call, headers });
  }

  /** Sends `text` as it is and returns everything that comes back until the server closes the connection. */
  raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.server.port, "127.0.0.1", () => socket.write(text, "latin1"));
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
      });
      socket.on("error", reject);
      socket.on("close", () => resolve(answer));
    });
  }

  async close(): Promise<void> {
    this.agent.destroy();
    await this.server.close(1000);
  }
}

export async function startHarness(options: Partial<HttpServerOptions> = {}): Promise<Harness> {
  const driver = new FakeDriver();
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: "info" },
    {
      write(line: string) {
        const record: Record<string, unknown> = JSON.parse(line);
        log.push(record);
      },
    },
  );
  const server = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    driver,
    identity: { clusterName: "test", version: "25.1.0-qyt", startTime: "2025-01-01T00:00:00.000000Z" },
    clusterConnection: () => Promise.resolve(mapOf({ cluster_name: "test" })),
    logger,
    clock: systemClock,
    ...options,
  });
  return new Harness(driver, server, log);
}
