/** What tests need of the real system: a folder, a port, a process of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface TemporaryDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

export async function temporaryDirectory(label = "test"): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), `qyt-${label}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A TCP port on 127.0.0.1 that nobody listened on a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

export interface ProcessOptions {
  /** Arguments of the program. */
  readonly args: readonly string[];
  /** JavaScript file to run. Default: the `qyt` command of this checkout. */
  readonly script?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** Printed when the program is ready. Default: `qyt is ready`. */
  readonly readyText?: string;
  /** Default: 30,000. */
  readonly timeoutMs?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running program: `qyt up …` by default. */
export class ProgramProcess {
  readonly #options: ProcessOptions;
  readonly #child: ChildProcess;
  readonly #exit: Promise<Exit>;
  #output = "";
  #onOutput: () => void = () => {};

  private constructor(options: ProcessOptions) {
    this.#options = options;
    const script = options.script ?? qytScript;
    this.#child = spawn(process.execPath, [...(options.nodeArgs ?? []), script, ...options.args], {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    }
    this.#exit = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
  }

  /** Starts the program and waits until it says that it is ready. @throws Error with its output if it does not */
  static async start(options: ProcessOptions): Promise<ProgramProcess> {
    const program = new ProgramProcess(options);
    await program.waitForOutput(options.readyText ?? "qyt is ready");
    return program;
  }

  /** Starts the program without waiting. */
  static spawn(options: ProcessOptions): ProgramProcess {
    return new ProgramProcess(options);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Everything printed so far, both streams. */
  get output(): string {
    return this.#output;
  }

  async waitForOutput(text: string, timeoutMs = this.#options.timeoutMs ?? 30_000): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const seen = new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (this.#output.includes(text)) {
          resolve();
        }
      };
      this.#onOutput = look;
      timer = setTimeout(
        () => reject(new Error(this.#complaint(`not within ${timeoutMs} ms`, text))),
        timeoutMs,
      );
      look();
    });
    const died = this.#exit.then(({ code, signal }) => {
      if (!this.#output.includes(text)) {
        throw new Error(this.#complaint(`ended with ${signal ?? code}`, text));
      }
    });
    try {
      await Promise.race([seen, died]);
    } catch (thrown) {
      this.#child.kill("SIGKILL");
      throw thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the program has ended by itself. */
  exited(): Promise<Exit> {
    return this.#exit;
  }

  /** A crash: no handler runs. */
  kill(): Promise<Exit> {
    return this.stop("SIGKILL");
  }

  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Exit> {
    this.#child.kill(signal);
    return this.#exit;
  }

  /** Starts it again with the same options; stops it first if it runs. */
  async restart(signal: NodeJS.Signals = "SIGKILL"): Promise<ProgramProcess> {
    await this.stop(signal);
    return ProgramProcess.start(this.#options);
  }

  #complaint(what: string, text: string): string {
    return `Waited for "${text}": ${what}. Output:\n${this.#output}`;
  }
}

/** How a program ended, and its two streams. */
export interface ProgramAnswer {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, or the signal that ended it. */
  readonly exit: number | NodeJS.Signals | null;
}

/** Runs a program to its end; nothing of this process's environment reaches it but what `env` has. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
    /** What it reads on standard input; default: nothing. */
    readonly stdin?: Uint8Array;
  },
): Promise<ProgramAnswer> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env,
      timeout: options.timeoutMs,
      stdio: ["pipe", "pipe", "pipe"],
    });
    // A program that ends without reading what it is given breaks the pipe.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.stdin ?? "");
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ stdout, stderr, exit: signal ?? code }));
  });
}

/** Starts `qyt up …args`, or another script, and waits until it is ready. */
export function startProcess(options: ProcessOptions): Promise<ProgramProcess> {
  return ProgramProcess.start(
    options.script === undefined ? { ...options, args: ["up", ...options.args] } : options,
  );
}

/** Starts `qyt queue-agent …args` and waits until it is ready. */
export function startAgentProcess(options: ProcessOptions): Promise<ProgramProcess> {
  return ProgramProcess.start({
    ...options,
    args: ["queue-agent", ...options.args],
    readyText: "qyt queue-agent is ready",
  });
}

/** `nodeArgs` that make Node run a TypeScript file of this repository, without a build. */
export const typescriptArgs: readonly string[] = [
  "--conditions=@qyt/source",
  "--import",
  new URL("./run-typescript.mjs", import.meta.url).href,
];

const qytScript = fileURLToPath(new URL("../../cli/bin/qyt.js", import.meta.url));
