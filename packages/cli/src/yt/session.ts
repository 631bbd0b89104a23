/** The cluster of one command line: requests with what `--tx`, `--params` and the prefix add to them. */
import { bare, isMap, type YsonValue, YtError } from "@qyt/base";
import {
  type Call,
  Requester,
  readAll,
  readChunks,
  resolveOptions,
  Transaction,
  type Transport,
} from "@qyt/client";
import { parseRichPath, richPathToYson } from "@qyt/yson";
import type { ClusterAddress } from "../cluster-address.ts";

export type Parameters = Readonly<Record<string, YsonValue | undefined>>;

export interface SessionOptions {
  readonly address: ClusterAddress;
  readonly transport: Transport;
  readonly prefix?: string | undefined;
  /** Added to every request, unless the request has them itself. */
  readonly common: Parameters;
  readonly repeats: boolean;
  readonly userAgent: string;
}

type CallOptions = Partial<Omit<Call, "command" | "parameters">>;

/** What a request says besides, e.g. how its body is compressed. */
type Headers = readonly (readonly [name: string, value: string])[];

export class Session {
  readonly requester: Requester;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions) {
    const { address, transport, repeats, userAgent } = options;
    this.#options = options;
    this.requester = new Requester(
      resolveOptions({ ...address, transport, userAgent, ...(repeats ? {} : { retries: false }) }),
    );
  }

  /** The address, for messages. */
  get proxy(): string {
    return this.#options.address.proxy;
  }

  /** The transaction of `--tx`. */
  get transactionId(): string | undefined {
    const id = this.#options.common["transaction_id"];
    return typeof id === "string" ? id : undefined;
  }

  /** The path with the prefix in front where it is relative. @throws YtError 1 for a relative one without a prefix */
  path(text: string): YsonValue {
    const start = /^\s*</.test(text) ? undefined : text;
    if (start !== undefined && /^([/#]|[A-Za-z0-9_-]+:\/)/.test(start)) {
      return text;
    }
    const { prefix } = this.#options;
    if (start === undefined) {
      return this.#richPath(text, prefix);
    }
    if (prefix === undefined) {
      throw new YtError(
        `Path "${text}" should be absolute or you should specify a prefix: begin it with //, or set YT_PREFIX`,
      );
    }
    return joined(prefix, text);
  }

  /** A path with attributes in front: they are taken off, so that the prefix finds its place. */
  #richPath(text: string, prefix: string | undefined): YsonValue {
    const end = endOfAttributes(text);
    const bareText = text.slice(end).trimStart();
    if (prefix === undefined || /^([/#]|[A-Za-z0-9_-]+:\/)/.test(bareText)) {
      return text;
    }
    return richPathToYson(parseRichPath(text.slice(0, end) + joined(prefix, bareText)));
  }

  async bytes(
    command: string,
    parameters: Parameters,
    options: CallOptions = {},
    headers: Headers = [],
  ): Promise<Buffer> {
    const requester = headers.length === 0 ? this.requester : this.#with(headers);
    return readAll(await requester.send(this.#call(command, parameters, options)), command);
  }

  async *stream(command: string, parameters: Parameters, options: CallOptions = {}): AsyncIterable<Buffer> {
    yield* readChunks(await this.requester.send(this.#call(command, parameters, options)), command);
  }

  value(command: string, parameters: Parameters, options: CallOptions = {}): Promise<YsonValue | undefined> {
    return this.requester.receiveValue(this.#call(command, parameters, options));
  }

  /** A command that changes something and can be repeated. */
  change(command: string, parameters: Parameters): Promise<YsonValue | undefined> {
    return this.value(command, parameters, { method: "POST", isVolatile: true });
  }

  /** The value of `get`. */
  async get(path: YsonValue, parameters: Parameters = {}): Promise<YsonValue> {
    return fieldOf(await this.value("get", { path, ...parameters }), "value");
  }

  /**
   * Runs work in a transaction of its own, inside that of `--tx`, and commits it.
   * @param work gets the id
   */
  async inTransaction<T>(title: string, work: (id: string) => Promise<T>): Promise<T> {
    const parentId = this.transactionId;
    const transaction = await Transaction.start(
      { requester: this.requester },
      { attributes: { title }, ...(parentId === undefined ? {} : { parentId }) },
    );
    let result: T;
    try {
      result = await work(transaction.id);
    } catch (thrown) {
      await transaction.abort();
      throw thrown;
    }
    await transaction.commit();
    return result;
  }

  #with(headers: Headers): Requester {
    const { options } = this.requester;
    return new Requester({ ...options, headers: [...options.headers, ...headers] });
  }

  #call(command: string, parameters: Parameters, options: CallOptions): Call {
    return {
      command,
      method: "GET",
      isVolatile: false,
      ...options,
      parameters: { ...this.#options.common, ...parameters },
    };
  }
}

/** @throws YtError 1 for a prefix that is no directory, as the real client has it */
function joined(prefix: string, path: string): string {
  if (!prefix.endsWith("/")) {
    throw new YtError(`PREFIX '${prefix}' should end with /`);
  }
  return prefix + path;
}

/** Where `<…>` ends, strings inside skipped. */
function endOfAttributes(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const letter = text[index];
    if (letter === '"') {
      index = endOfString(text, index);
    } else if (letter === "<") {
      depth++;
    } else if (letter === ">" && --depth === 0) {
      return index + 1;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === "\\") {
      index++;
    } else if (text[index] === '"') {
      return index;
    }
  }
  return text.length;
}

/** @throws YtError 1 when the answer has no such field */
export function fieldOf(answer: YsonValue | undefined, name: string): YsonValue {
  const map: YsonValue = bare(answer ?? null);
  const value = isMap(map) ? map.get(name) : undefined;
  if (value === undefined) {
    throw new YtError(`The answer of the cluster has no field "${name}"`);
  }
  return value;
}
