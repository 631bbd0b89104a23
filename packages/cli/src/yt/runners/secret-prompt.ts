/** Asks for a secret on the terminal without showing it; without a terminal, takes a line of standard input. */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { YtError } from "@qyt/base";

let lines: Interface | undefined;
let waiting: AsyncIterator<string> | undefined;

/** @throws YtError 1 when there is no line to read */
export async function askSecret(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  lines ??= createInterface({ input: process.stdin, output: silent, terminal: process.stdin.isTTY === true });
  waiting ??= lines[Symbol.asyncIterator]();
  const { done, value } = await waiting.next();
  process.stderr.write("\n");
  if (done === true) {
    throw new YtError("There is nothing to read the secret from: run the command on a terminal");
  }
  return value;
}
