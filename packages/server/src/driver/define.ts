/**
 * How a command is declared: one row of the command table, from which the descriptor list, parameter
 * validation, permission documentation and the command reference are derived.
 */
import { mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, parseFormat } from "@qyt/yson";
import * as z from "zod";
import { accessText, type CommandAccess, commandsForBanned } from "./access.ts";
import type {
  ApiVersion,
  CommandDescriptor,
  CommandRequest,
  CommandResponse,
  DataType,
  StreamResponse,
} from "./command.ts";
import { writeDocument } from "./documents.ts";
import { optional, parameter, readParameters, transactionId } from "./parameters.ts";
import type { Services } from "./services.ts";

/** A command as its family's file declares it. */
export interface Command<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Old spellings that behave the same. */
  readonly aliases?: readonly string[];
  /** Names per API version where they differ (`start_tx`). */
  readonly versions: readonly ApiVersion[];
  readonly input: DataType;
  readonly output: DataType;
  /** Output type in API v3, where it differs. */
  readonly outputV3?: DataType;
  readonly isVolatile: boolean;
  readonly isHeavy: boolean;
  /** The rights that the user needs; none at all is a choice too, with its reason. */
  readonly access: CommandAccess;
  /** One sentence for the command reference. */
  readonly summary: string;
  /** False: a repeat with the same mutation id runs again, because its parts remember for themselves. */
  readonly isRemembered?: boolean;
  readonly parameters: Shape;
  execute(context: CommandContext, parameters: z.output<z.ZodObject<Shape>>): Promise<CommandResponse>;
}

/** Common options of the families; each command takes them all, and ignores those it has no use for. */
const commonParameters = {
  transaction_id: transactionId,
  mutation_id: optional(parameter.guid),
  retry: optional(parameter.boolean),
  timeout: optional(parameter.duration),
};

export type CommonParameters = z.output<z.ZodObject<typeof commonParameters>>;

/** What a running command sees. */
export class CommandContext {
  readonly services: Services;
  readonly request: CommandRequest;
  readonly common: CommonParameters;

  constructor(services: Services, request: CommandRequest, common: CommonParameters) {
    this.services = services;
    this.request = request;
    this.common = common;
  }

  get user(): string {
    return this.request.user;
  }

  get parameters(): YsonMap {
    return this.request.parameters;
  }

  get isV4(): boolean {
    return this.request.apiVersion === 4;
  }

  inputFormat(): DataFormat {
    return parseFormat(this.parameters.get("input_format") ?? "yson");
  }

  outputFormat(): DataFormat {
    return parseFormat(this.parameters.get("output_format") ?? "yson");
  }

  /**
   * For commands that change something and answer with a value of the client's: asked before the change, so
   * that nobody is refused for an answer after it is done.
   * @throws YtError 1 when the value cannot be written in the format of the answer
   */
  requireWritable(value: YsonValue): void {
    writeDocument(value, this.outputFormat());
  }

  /** One named value: `{name=value}` in v4, the bare value in v3. */
  single(name: string, value: YsonValue): CommandResponse {
    return structured(this.isV4 ? mapOf({ [name]: value }) : value);
  }

  /** Nothing to say: `{}` in v4, an empty body in v3. */
  nothing(): CommandResponse {
    return this.isV4 ? structured(mapOf({})) : { kind: "empty" };
  }
}

export function structured(value: YsonValue, responseParameters?: YsonMap): CommandResponse {
  return { kind: "structured", value, ...(responseParameters === undefined ? {} : { responseParameters }) };
}

export function stream(
  chunks: AsyncIterable<Buffer>,
  options: Omit<StreamResponse, "kind" | "chunks"> = {},
): CommandResponse {
  return { kind: "stream", chunks, ...options };
}

/** Rows or bytes that are all there. */
export function whole(bytes: Buffer): StreamResponse {
  async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
    yield bytes;
  }
  return { kind: "stream", chunks: { [Symbol.asyncIterator]: chunks }, whole: bytes };
}

/** A command with its parameter types forgotten, as the table holds it. */
export interface RegisteredCommand {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly versions: readonly ApiVersion[];
  readonly access: CommandAccess;
  /** The same in words. */
  readonly accessText: string;
  readonly summary: string;
  readonly isRemembered: boolean;
  readonly parameters: z.ZodRawShape;
  descriptor(version: ApiVersion): CommandDescriptor;
  run(services: Services, request: CommandRequest): Promise<CommandResponse>;
}

type Declaration<Shape extends z.ZodRawShape> = Omit<Command<Shape>, "versions"> &
  Partial<Pick<Command<Shape>, "versions">>;

/** Declares a command. Both API versions unless it says otherwise. */
export function defineCommand<Shape extends z.ZodRawShape>(
  declaration: Declaration<Shape>,
): RegisteredCommand {
  const schema = z.object(declaration.parameters);
  const common = z.object(commonParameters);
  const versions = declaration.versions ?? [3, 4];
  const read = new WeakMap<YsonMap, { common: CommonParameters; own: z.output<z.ZodObject<Shape>> }>();
  const descriptors = new Map<ApiVersion, CommandDescriptor>(
    versions.map((version) => [
      version,
      {
        name: declaration.name,
        inputType: declaration.input,
        outputType: version === 3 ? (declaration.outputV3 ?? declaration.output) : declaration.output,
        isVolatile: declaration.isVolatile,
        isHeavy: declaration.isHeavy,
      },
    ]),
  );
  return {
    name: declaration.name,
    aliases: declaration.aliases ?? [],
    versions,
    access: declaration.access,
    accessText: accessText(declaration.access),
    summary: declaration.summary,
    isRemembered: declaration.isRemembered ?? true,
    parameters: declaration.parameters,
    descriptor(version) {
      const descriptor = descriptors.get(version);
      if (descriptor === undefined) {
        throw new YtError(`Command "${declaration.name}" is not registered`);
      }
      return descriptor;
    },
    async run(services, request) {
      if (!commandsForBanned.has(declaration.name)) {
        services.access.checkUser(request.user);
      }
      const { parameters } = request;
      // A client that repeats its header text gets the same map from the protocol, and is read once.
      let known = read.get(parameters);
      if (known === undefined) {
        known = { common: readParameters(common, parameters), own: readParameters(schema, parameters) };
        read.set(parameters, known);
      }
      return declaration.execute(new CommandContext(services, request, known.common), known.own);
    },
  };
}
