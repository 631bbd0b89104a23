/**
 * Many light commands in one request, and what is told about the cluster.
 * Specified in: yt/yt/client/driver/etc_commands.cpp; YTsaurus documentation, "Commands".
 */
import { bare, isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorFromYson } from "@qyt/yson";
import { field, text } from "../answers.ts";
import type { CommandOptions, Parameters, PathInput } from "../types.ts";
import { FlowCommands } from "./flow.ts";

/** A command of a batch; `input` is the value that it would have as its body. */
export interface BatchRequest {
  readonly command: string;
  readonly parameters: Parameters;
  readonly input?: YsonValue;
}

export interface BatchOptions extends CommandOptions {
  /** How many of the commands run at once on the proxy. */
  readonly concurrency?: number;
  /** All commands only read: then no mutation id is sent, and the proxy keeps no answer. */
  readonly isReading?: boolean;
}

export class BatchCommands extends FlowCommands {
  /**
   * Runs commands in one request; each answers for itself with its output (`{value=…}` for `get`) or its error.
   * A request that is sent again does its commands once.
   * @throws YtError when the request as a whole failed
   */
  async executeBatch(
    requests: readonly BatchRequest[],
    options: BatchOptions = {},
  ): Promise<(YsonValue | YtError)[]> {
    const parameters = {
      requests: requests.map(itemOf),
      concurrency: options.concurrency === undefined ? undefined : BigInt(options.concurrency),
    };
    const answer = await this.requester.receiveValue({
      ...this.call("execute_batch", "POST", parameters, options),
      isVolatile: options.isReading !== true,
    });
    const items = isMap(answer) ? answer.get("results") : answer;
    if (!isList(items) || items.length !== requests.length) {
      throw new YtError("The proxy answered a batch with another number of results than was asked for");
    }
    return items.map(outcomeOf);
  }

  /** What the cluster can: names of types, codecs, and more. */
  async getSupportedFeatures(options: CommandOptions = {}): Promise<YsonValue> {
    return field(await this.read("get_supported_features", {}, options), "features");
  }

  async getVersion(options: CommandOptions = {}): Promise<string> {
    return text(field(await this.read("get_version", {}, options), "version"));
  }

  /** A path with what is written in it as attributes. */
  async parseYpath(path: PathInput, options: CommandOptions = {}): Promise<YsonValue> {
    return field(await this.read("parse_ypath", { path }, options), "path");
  }
}

function itemOf({ command, parameters, input }: BatchRequest): YsonMap {
  return mapOf({ command, parameters: mapOf(parameters), input });
}

function outcomeOf(item: YsonValue): YsonValue | YtError {
  const map = bare(item);
  if (!isMap(map)) {
    return new YtError("The proxy answered a command of a batch with a result that is not a map");
  }
  const error = map.get("error");
  return error === undefined ? (map.get("output") ?? null) : errorFromYson(error);
}
