/** The real `yt` command and library, in the virtual environments that `scripts/bootstrap.mjs --clients` makes. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  eventually,
  type ProgramAnswer,
  type ProgramProcess,
  runProgram,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";

/** `full` has the YSON bindings and brotli, `plain` has neither. */
export type Environment = "full" | "plain";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Whether the environment is there; says so on a line of its own where it is not. */
export function hasEnvironment(name: Environment): boolean {
  const isThere = existsSync(join(root, ".venvs", name, ".qyt-installed"));
  if (!isThere) {
    process.stderr.write(
      `SKIPPED: tests with the real yt client: .venvs/${name} is not there (node scripts/bootstrap.mjs --clients makes it, where Python 3 with venv is)\n`,
    );
  }
  return isThere;
}

/** The interpreter of the environment. */
export function pythonOf(name: Environment): string {
  return join(root, ".venvs", name, "bin", "python");
}

/** A running `qyt up` with its data in a folder of its own, and the real client pointed at it. */
export class ClustersForYt {
  /** Lines of bash that run before any others, with settings of the client. */
  prelude = "";
  readonly #folder: TemporaryDirectory;
  readonly #program: ProgramProcess;

  private constructor(folder: TemporaryDirectory, program: ProgramProcess) {
    this.#folder = folder;
    this.#program = program;
  }

  /** Starts `qyt up` with the clusters at free ports, and with more options if given. */
  static async start(names: readonly string[], options: readonly string[] = []): Promise<ClustersForYt> {
    const folder = await temporaryDirectory("real-yt");
    try {
      const program = await startProcess({
        args: [
          "--data-dir",
          join(folder.path, "data"),
          ...names.flatMap((name) => ["--cluster", `${name}=127.0.0.1:0`]),
          ...options,
        ],
      });
      return new ClustersForYt(folder, program);
    } catch (thrown) {
      await folder.remove();
      throw thrown;
    }
  }

  /** The line that `qyt up` prints for pasting. */
  get exportLine(): string {
    const line = this.#program.output
      .split("\n")
      .find((text) => text.startsWith("export YT_PROXY_URL_ALIASING_CONFIG="));
    if (line === undefined) {
      throw new Error(`qyt up printed no line to paste:\n${this.#program.output}`);
    }
    return line;
  }

  /** Everything that `qyt up` printed, its logs too. */
  get output(): string {
    return this.#program.output;
  }

  /** Runs lines in bash as user bob, after pasting the printed line. */
  bash(environment: Environment, lines: string, timeoutMs = 240_000): Promise<ProgramAnswer> {
    return runProgram("bash", ["-c", `${this.exportLine}\n${this.prelude}\n${lines}`], {
      cwd: this.#folder.path,
      timeoutMs,
      // Nothing of the person's own settings for yt (~/.yt, YT_…) reaches it.
      env: {
        PATH: `${join(root, ".venvs", environment, "bin")}${delimiter}${process.env.PATH ?? ""}`,
        HOME: this.#folder.path,
        USER: "bob",
        LANG: "C.UTF-8",
      },
    });
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    await this.#folder.remove();
  }
}

/** Asks again while the check fails, longer than tests without a real client do; its last failure is thrown. */
export function soon<T>(check: () => Promise<T>): Promise<T> {
  return eventually(check, 60_000);
}
