/** The built `qyt` command as a process, with its two streams apart. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../packages/cli/bin/qyt.js", import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command that ends by itself, or is stopped with SIGTERM once it has printed `stopAfter`. */
export function qyt(
  args: readonly string[],
  options: { cwd?: string; stopAfter?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 25_000,
      killSignal: "SIGKILL",
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (options.stopAfter !== undefined && stdout.includes(options.stopAfter)) {
        child.kill("SIGTERM");
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
