/**
 * `execute_batch`: many light commands in one request; each item answers for itself.
 * Specified in: yt/yt/client/driver/etc_commands.cpp (TExecuteBatchCommand).
 */
import {
  bare,
  type Clock,
  isMap,
  mapOf,
  toYtError,
  turn,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { errorToYson, parseFormat, stringToBytes } from "@qyt/yson";
import { open } from "../access.ts";
import type { CommandRequest, CommandResponse } from "../command.ts";
import { type CommandContext, defineCommand, structured } from "../define.ts";
import { writeDocumentInTurns } from "../documents.ts";
import { parameter, readInt64, withDefault } from "../parameters.ts";
import { writing } from "./kinds.ts";

const maxConcurrency = 50n;
const maxRequests = 10_000;
/** How long requests run before others have a turn, in milliseconds. */
const sliceMs = 3;

const executeBatch = defineCommand({
  name: "execute_batch",
  ...writing,
  access: open("each command in it needs its own"),
  summary: "Runs many commands in one request.",
  isRemembered: false,
  parameters: {
    requests: parameter.list(parameter.map),
    concurrency: withDefault(parameter.int64, maxConcurrency),
  },
  async execute(context, { requests, concurrency }) {
    if (concurrency <= 0n) {
      throw new YtError("Concurrency must be positive");
    }
    if (requests.length > maxRequests) {
      throw new YtError(`Too many requests in a batch: ${requests.length}, limit ${maxRequests}`);
    }
    const results: YsonValue[] = new Array(requests.length).fill(null);
    const workers = Math.min(
      requests.length,
      Number(concurrency < maxConcurrency ? concurrency : maxConcurrency),
    );
    let next = 0;
    const slices = new Slices(context.services.cell.clock);
    const work = async (): Promise<void> => {
      for (let index = next++; index < requests.length; index = next++) {
        const request = requests[index];
        if (request !== undefined) {
          results[index] = await runOne(context, request, index);
        }
        const gap = slices.gap();
        if (gap !== undefined) {
          await gap;
        }
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    return context.isV4 ? structured(mapOf({ results })) : structured(results);
  },
});

/** Many requests wait for nothing; between some of them other clients have a turn. */
class Slices {
  readonly #clock: Clock;
  #startMs: number;
  #gap: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonic();
  }

  /** To be waited for before the next request. One gap for all who work on the batch: each would take a slice of his own. */
  gap(): Promise<void> | undefined {
    if (this.#gap === undefined && this.#clock.monotonic() - this.#startMs > sliceMs) {
      this.#gap = turn().then(() => {
        this.#gap = undefined;
        this.#startMs = this.#clock.monotonic();
      });
    }
    return this.#gap;
  }
}

async function runOne(context: CommandContext, item: YsonMap, index: number): Promise<YsonMap> {
  try {
    const request = await toRequest(context, item, index);
    const response = await context.services.driver().execute(request);
    return await toResult(response);
  } catch (thrown) {
    return mapOf({ error: errorToYson(toYtError(thrown)) });
  }
}

async function toRequest(context: CommandContext, item: YsonMap, index: number): Promise<CommandRequest> {
  const command = bare(item.get("command") ?? null);
  if (typeof command !== "string") {
    throw new YtError("Missing required parameter /command");
  }
  const descriptor = context.services.driver().find(context.request.apiVersion, command);
  if (descriptor === undefined) {
    throw new YtError(`Unknown command "${command}"`);
  }
  if (
    descriptor.inputType === "binary" ||
    (descriptor.outputType !== "null" && descriptor.outputType !== "structured")
  ) {
    throw new YtError(
      `Command "${command}" cannot be part of a batch since it has inappropriate input or output type`,
    );
  }
  const given = bare(item.get("parameters") ?? new Map());
  if (!isMap(given)) {
    throw new YtError(`Parameters of command "${command}" must be a map`);
  }
  const parameters = new Map(given);
  const batchId = context.common.mutation_id;
  if (batchId !== undefined && descriptor.isVolatile && !parameters.has("mutation_id")) {
    parameters.set("mutation_id", derivedMutationId(batchId, index));
  }
  const body = await bodyOf(context, command, descriptor.inputType, item.get("input"), parameters);
  if (!parameters.has("input_format")) {
    parameters.set("input_format", "yson");
  }
  // The answer becomes a part of the batch's.
  parameters.set("output_format", context.parameters.get("output_format") ?? "yson");
  return {
    apiVersion: context.request.apiVersion,
    command,
    parameters,
    user: context.user,
    peer: context.request.peer,
    requestId: context.request.requestId,
    signal: context.request.signal,
    authenticateAgain: context.request.authenticateAgain,
    async *body() {
      yield body;
    },
    async readBody(limitBytes) {
      if (body.length > limitBytes) {
        throw new YtError(`Request body is too long: ${body.length} bytes, limit ${limitBytes}`);
      }
      return body;
    },
  };
}

async function bodyOf(
  context: CommandContext,
  command: string,
  inputType: string,
  input: YsonValue | undefined,
  parameters: Map<string, YsonValue>,
): Promise<Buffer> {
  if (inputType === "null") {
    return Buffer.alloc(0);
  }
  if (input === undefined) {
    throw new YtError(`Command "${command}" requires input`);
  }
  if (inputType === "tabular") {
    const plain = bare(input);
    if (typeof plain !== "string") {
      throw new YtError(`Input of command "${command}" must be a string with the encoded rows`);
    }
    return stringToBytes(plain);
  }
  parameters.set("input_format", "yson");
  return writeDocumentInTurns(input, parseFormat("yson"), context.services.cell.clock);
}

async function toResult(response: CommandResponse): Promise<YsonMap> {
  switch (response.kind) {
    case "empty":
      return mapOf({});
    case "structured":
      return mapOf({ output: response.value });
    case "stream":
      throw new YtError("A streamed answer cannot be part of a batch");
  }
}

/** Sub-requests get the batch's id counted up, so that a repeated batch is idempotent as a whole. */
function derivedMutationId(id: string, index: number): string {
  const words = id.split("-").map((word) => Number.parseInt(word, 16));
  const first = ((words[0] ?? 0) + Number(readInt64(BigInt(index))) + 1) >>> 0;
  return [first, ...words.slice(1)].map((word) => word.toString(16)).join("-");
}

export const batchCommands = [executeBatch];
