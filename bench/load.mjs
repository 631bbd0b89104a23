// The door to the load generator: jobs out, figures in.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export class Load {
  #child = fork(fileURLToPath(new URL("load/main.mjs", import.meta.url)));
  #waiting = new Map();
  #lastId = 0;

  constructor() {
    this.#child.on("message", ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) {
        resolve(result);
      } else {
        reject(new Error(`Load generator: ${error}`));
      }
    });
    this.#child.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`The load generator ended with ${code}`));
      }
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /** Runs a job of `load/main.mjs` to its end. */
  run(job) {
    return this.begin(job).result;
  }

  /** Starts a job that goes on beside others; `end` stops it and gives its figures. */
  begin(job) {
    const id = ++this.#lastId;
    const result = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#child.send({ id, job });
    const end = () => {
      this.#child.send({ stop: id });
      return result;
    };
    return { result, end };
  }

  close() {
    this.#child.disconnect();
  }
}
