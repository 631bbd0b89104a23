/**
 * Twin clusters, one driven by the real `yt`, the other by `qyt`: both get the same command lines, and what they
 * print is compared once ids, times and addresses are replaced.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ProgramAnswer, runProgram } from "@qyt/testing";
import { ClustersForYt, pythonOf } from "../clients/real-yt.ts";
import { parse } from "./words.ts";

const script = fileURLToPath(new URL("../../packages/cli/bin/qyt.js", import.meta.url));
const server = fileURLToPath(new URL("./yt-server.py", import.meta.url));

/** One command line without the name of the tool, as one types it in a shell. */
export interface Line {
  readonly text: string;
  readonly stdin?: string;
  /** The name by which later lines mean what it has printed: `$name`. */
  readonly as?: string;
}

export interface Compared {
  readonly exit: number;
  readonly stdout: string;
  /** The messages of an error of the cluster. */
  readonly messages: string;
}

interface Tool {
  run(args: readonly string[], stdin: Buffer): Promise<ProgramAnswer>;
  readonly printed: Map<string, string>;
}

export class Twins {
  readonly #clusters: readonly [ClustersForYt, ClustersForYt];
  readonly #yt: YtServer;
  readonly #tools: readonly [Tool, Tool];

  private constructor(clusters: readonly [ClustersForYt, ClustersForYt]) {
    this.#clusters = clusters;
    this.#yt = new YtServer(environmentOf(clusters[0]));
    const environment = environmentOf(clusters[1]);
    this.#tools = [
      { run: (args, stdin) => this.#yt.run(args, stdin), printed: new Map() },
      {
        run: (args, stdin) =>
          runProgram(process.execPath, [script, ...args], {
            env: environment,
            stdin,
            timeoutMs: 60_000,
            cwd: "/",
          }),
        printed: new Map(),
      },
    ];
  }

  static async start(): Promise<Twins> {
    const start = (): Promise<ClustersForYt> =>
      ClustersForYt.start(["pythia", "freud"], ["--no-queue-agent"]);
    return new Twins(await Promise.all([start(), start()]));
  }

  /** Runs the line with both tools. @returns what `yt` and what `qyt` said */
  async run(line: Line): Promise<readonly [yt: Compared, qyt: Compared]> {
    const [yt, qyt] = this.#tools;
    const [byYt, byQyt] = await Promise.all([runWith(yt, line), runWith(qyt, line)]);
    // What the tools themselves refuse, each says in its own words.
    const ofServer = byYt.exit === 1 && byYt.stderr.includes("Received HTTP response with error");
    return [compared(byYt, ofServer), compared(byQyt, ofServer)];
  }

  async stop(): Promise<void> {
    this.#yt.stop();
    await Promise.all(this.#clusters.map((clusters) => clusters.stop()));
  }
}

async function runWith(tool: Tool, line: Line): Promise<ProgramAnswer> {
  const args = parse(line.text.replace(/\$(\w+)/g, (text, name: string) => tool.printed.get(name) ?? text));
  const answer = await tool.run(args, Buffer.from(line.stdin ?? ""));
  if (line.as !== undefined) {
    tool.printed.set(line.as, answer.stdout.trim());
  }
  return answer;
}

/** The messages are the first part of what either tool says of an error. */
function compared({ exit, stdout, stderr }: ProgramAnswer, withMessages: boolean): Compared {
  return {
    exit: typeof exit === "number" ? exit : -1,
    stdout: masked(stdout),
    messages: withMessages ? masked(stderr.split("\n\n")[0]?.trimEnd() ?? "") : "",
  };
}

/** What differs from run to run is replaced. */
export function masked(text: string): string {
  return text
    .replace(/\b[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}\b/g, "ID")
    .replace(/\b[0-9a-f]{32,64}\b/g, "DIGEST")
    .replace(/\b\d{18,20}(?=u?\b)/g, "TIMESTAMP")
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+Z?)?)?/g, "TIME")
    .replace(/127\.0\.0\.1:\d+/g, "HOST")
    .replace(/('revision': )\d+/g, "$1REVISION")
    .replace(/(table_storage\/\w+\/|temporary_)\w{10}/g, "$1RANDOM");
}

function environmentOf(clusters: ClustersForYt): Record<string, string> {
  const aliases = /='(.*)'$/.exec(clusters.exportLine)?.[1] ?? "";
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: "/nonexistent",
    USER: "bob",
    LANG: "C.UTF-8",
    YT_PROXY: "pythia",
    YT_PROXY_URL_ALIASING_CONFIG: aliases,
    // What the cluster refuses is compared, not how long each tool repeats it.
    YT_CONFIG_PATCHES: "{proxy={retries={enable=%false}}; dynamic_table_retries={enable=%false}}",
  };
}

/** The real command line, imported once. */
class YtServer {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  constructor(env: Record<string, string>) {
    this.#child = spawn(pythonOf("full"), [server], { env, stdio: ["pipe", "pipe", "inherit"] });
    const { stdout } = this.#child;
    if (stdout === null) {
      throw new Error("The server of yt has no standard output");
    }
    this.#answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  async run(args: readonly string[], stdin: Buffer): Promise<ProgramAnswer> {
    this.#child.stdin?.write(`${JSON.stringify({ args, stdin: stdin.toString("base64") })}\n`);
    const { value } = await this.#answers.next();
    const answer: unknown = JSON.parse(value);
    const { exit, stdout, stderr } = Object(answer);
    return { exit: Number(exit), stdout: decoded(stdout), stderr: decoded(stderr) };
  }

  stop(): void {
    this.#child.stdin?.end();
  }
}

function decoded(text: unknown): string {
  return Buffer.from(String(text), "base64").toString();
}
