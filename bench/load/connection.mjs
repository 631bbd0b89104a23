// One keep-alive connection to the server, as light as a real HTTP client gets: undici's dispatcher
// without its request API, no pipelining, one request at a time.
import { Client } from "undici";

export class Connection {
  #client;

  constructor(origin) {
    this.#client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: 60_000,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Sends one command and reads the answer to its end.
   * @param parameters YSON text
   * @returns the body
   * @throws Error on any status but 200, and on an error in the trailers
   */
  send(method, command, parameters, body) {
    return new Promise((resolve, reject) => {
      this.#client.dispatch(
        {
          path: `/api/v4/${command}`,
          method,
          headers: ["x-yt-header-format", "<format=text>yson", "x-yt-parameters", parameters],
          body: body ?? null,
        },
        new Answer(command, resolve, reject),
      );
    });
  }

  close() {
    return this.#client.close();
  }
}

class Answer {
  #command;
  #resolve;
  #reject;
  #status = 0;
  #headers = {};
  #chunks = [];

  constructor(command, resolve, reject) {
    this.#command = command;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart() {}

  onResponseStart(_controller, status, headers) {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller, chunk) {
    this.#chunks.push(chunk);
  }

  onResponseEnd(_controller, trailers) {
    const chunks = this.#chunks;
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const error = this.#headers["x-yt-error"] ?? trailers?.["x-yt-error"];
    if (this.#status !== 200 || error !== undefined) {
      this.#reject(
        new Error(`${this.#command} answered ${this.#status}: ${error ?? body.toString("utf8", 0, 500)}`),
      );
    } else {
      this.#resolve(body);
    }
  }

  onResponseError(_controller, error) {
    this.#reject(error);
  }
}
