/** A running `qyt up` with one cluster, and programs that are run against it. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { type ProgramProcess, startProcess, type TemporaryDirectory, temporaryDirectory } from "@qyt/testing";

export interface ProgramAnswer {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, or the signal that ended it. */
  readonly exit: number | NodeJS.Signals | null;
}

/** A cluster in a process of its own, its data in a folder of its own. */
export class RunningCluster {
  readonly #folder: TemporaryDirectory;
  readonly #program: ProgramProcess;

  private constructor(folder: TemporaryDirectory, program: ProgramProcess) {
    this.#folder = folder;
    this.#program = program;
  }

  static async start(): Promise<RunningCluster> {
    const folder = await temporaryDirectory("client");
    try {
      const program = await startProcess({
        args: ["--data-dir", join(folder.path, "data"), "--cluster", "pythia=127.0.0.1:0"],
      });
      return new RunningCluster(folder, program);
    } catch (thrown) {
      await folder.remove();
      throw thrown;
    }
  }

  /** Host and port, e.g. `127.0.0.1:40123`. */
  get address(): string {
    const address = /^cluster pythia +http:\/\/(\S+)/m.exec(this.#program.output)?.[1];
    if (address === undefined) {
      throw new Error(`qyt up printed no address:\n${this.#program.output}`);
    }
    return address;
  }

  /** Runs a program in the cluster's folder; nothing of the person's own settings for YTsaurus reaches it. */
  run(program: string, args: readonly string[], timeoutMs = 120_000): Promise<ProgramAnswer> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        cwd: this.#folder.path,
        timeout: timeoutMs,
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env.PATH ?? "", HOME: this.#folder.path, USER: "bob", LANG: "C.UTF-8" },
      });
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

  async stop(): Promise<void> {
    await this.#program.stop();
    await this.#folder.remove();
  }
}
