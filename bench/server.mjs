// The server under test: a real `qyt up` in a process of its own, and what the kernel and the engine say of
// its memory.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { fetch, WebSocket } from "undici";
import { Connection } from "./load/connection.mjs";
import { cpuSecondsOf, memoryOf } from "./processes.mjs";

const script = fileURLToPath(new URL("../packages/cli/bin/qyt.js", import.meta.url));

export class Server {
  #directory;
  #nodeArgs;
  #child;
  #output = "";
  #inspectorPort = 0;
  origin = "";

  /** @param options `{directory, nodeArgs?}`: `nodeArgs` as for profiles */
  constructor({ directory, nodeArgs = [] }) {
    this.#directory = directory;
    this.#nodeArgs = nodeArgs;
  }

  /** Starts it and waits for `qyt is ready`. Returns how long that took, in milliseconds. */
  async start() {
    const port = await freePort();
    this.#inspectorPort = await freePort();
    const start = performance.now();
    this.#output = "";
    const child = spawn(
      process.execPath,
      [
        ...this.#nodeArgs,
        // Only says where the inspector listens once SIGUSR1 opens it, after all measurements.
        `--inspect-port=127.0.0.1:${this.#inspectorPort}`,
        script,
        "up",
        "--data-dir",
        this.#directory,
        "--cluster",
        `bench=127.0.0.1:${port}`,
        "--no-queue-agent",
      ],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NODE_ENV: "production" } },
    );
    this.#child = child;
    await new Promise((resolve, reject) => {
      const look = (text) => {
        this.#output = (this.#output + text).slice(-20_000);
        if (this.#output.includes("qyt is ready")) {
          resolve();
        }
      };
      child.stdout.setEncoding("utf8").on("data", look);
      child.stderr.setEncoding("utf8").on("data", look);
      child.once("exit", (code, signal) =>
        reject(new Error(`qyt ended with ${signal ?? code}:\n${this.#output}`)),
      );
    });
    this.origin = `http://127.0.0.1:${port}`;
    return performance.now() - start;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Ends it and waits for its end. */
  async stop(signal = "SIGTERM") {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      return;
    }
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill(signal);
    await ended;
  }

  /** Anonymous and mapped file pages of the process, in MB. */
  memory() {
    return memoryOf(this.pid);
  }

  /** Seconds of processor time that the process has used. */
  cpuSeconds() {
    return cpuSecondsOf(this.pid);
  }

  /** `process.memoryUsage()` of the server, in MB, asked through the inspector. */
  async heap() {
    this.#child.kill("SIGUSR1");
    const targets = await retry(async () =>
      (await fetch(`http://127.0.0.1:${this.#inspectorPort}/json/list`)).json(),
    );
    const socket = new WebSocket(targets[0].webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const answer = new Promise((resolve) =>
      socket.addEventListener("message", (event) => resolve(JSON.parse(event.data))),
    );
    const expression = "JSON.stringify(process.memoryUsage())";
    socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
    const usage = JSON.parse((await answer).result.result.value);
    socket.close();
    return Object.fromEntries(Object.entries(usage).map(([name, bytes]) => [name, bytes / 2 ** 20]));
  }

  // Commands of the set-up

  async command(method, name, parameters, body) {
    const connection = new Connection(this.origin);
    try {
      return await connection.send(method, name, parameters, body);
    } finally {
      await connection.close();
    }
  }

  /** A mounted queue. */
  async createQueue(path, { partitions, schema, attributes = "" }) {
    await this.command(
      "POST",
      "create",
      `{type=table;path="${path}";recursive=%true;attributes={dynamic=%true;tablet_count=${partitions};schema=${schema};${attributes}}}`,
    );
    await this.command("POST", "mount_table", `{path="${path}"}`);
    await this.waitMounted(path);
  }

  /** A consumer or a producer, registered or not. */
  async createCompanion(kind, path) {
    await this.command("POST", "create", `{type=${kind};path="${path}";recursive=%true}`);
    await this.waitMounted(path);
  }

  async register(queue, consumer, isVital) {
    await this.command(
      "POST",
      "register_queue_consumer",
      `{queue_path="${queue}";consumer_path="${consumer}";vital=%${isVital}}`,
    );
  }

  async unregister(queue, consumer) {
    await this.command(
      "POST",
      "unregister_queue_consumer",
      `{queue_path="${queue}";consumer_path="${consumer}"}`,
    );
  }

  async waitMounted(path) {
    await retry(async () => {
      const state = await this.command("GET", "get", `{path="${path}/@tablet_state";output_format=json}`);
      if (JSON.parse(state).value !== "mounted") {
        throw new Error(`${path} is not mounted: ${state}`);
      }
    });
  }

  async remove(path) {
    await this.command("POST", "remove", `{path="${path}"}`);
  }
}

async function retry(attempt, timeoutMs = 10_000) {
  for (const start = performance.now(); ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() - start > timeoutMs) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
