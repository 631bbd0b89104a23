/** A running `qyt up` with one cluster, and programs that are run against it. */
import { join } from "node:path";
import {
  type ProgramAnswer,
  type ProgramProcess,
  runProgram,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";

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
    return runProgram(program, args, {
      cwd: this.#folder.path,
      timeoutMs,
      env: { PATH: process.env.PATH ?? "", HOME: this.#folder.path, USER: "bob", LANG: "C.UTF-8" },
    });
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    await this.#folder.remove();
  }
}
