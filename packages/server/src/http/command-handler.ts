/**
 * `/api/vN/<command>`: from headers and body to a call of the driver, and its answer back.
 *
 * The order of the checks is that of the original and decides which error wins:
 *
 *     version 400 → name 404 → user 401, 403 → command 404 → formats, encodings 400, 415 → admission 503
 *     → parameters 400 → the command 400
 *
 * Specified in: yt/yt/server/http_proxy/context.cpp; http-api §2.
 */
import type { IncomingMessage } from "node:http";
import { limits, toYtError, YtError } from "@qyt/base";
import type { ApiVersion, CommandDescriptor, CommandRequest, Driver } from "../driver/command.ts";
import type { Admission } from "./admission.ts";
import { type Authenticate, authenticationInput, type Identity } from "./authentication.ts";
import {
  type ContentEncoding,
  identityEncoding,
  requestEncoding,
  responseEncoding,
} from "./content-encoding.ts";
import { replyError, toAuthenticationError, toHttpError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import { replyCommand } from "./reply.ts";
import { RequestBody } from "./request-body.ts";
import { hasBody, headerOf } from "./request-headers.ts";
import { errorFormatOf, type RequestPlan, type RequestPlanner, withBodyParameters } from "./request-plan.ts";

export interface CommandHandlerContext {
  readonly driver: Driver;
  readonly authenticate: Authenticate;
  readonly admission: Admission;
  readonly planner: RequestPlanner;
  readonly keepAliveFrameMs: number;
}

/** A command as its address names it. */
export interface CommandAddress {
  readonly apiVersion: ApiVersion;
  readonly command: string;
}

/** Serves one command. Never throws. */
export async function handleCommand(
  context: CommandHandlerContext,
  exchange: Exchange,
  address: CommandAddress,
  expectsContinue: boolean,
): Promise<void> {
  let plan: RequestPlan | undefined;
  let body: RequestBody | undefined;
  exchange.command = address.command;
  exchange.isContinuePending = () => body?.isContinuePending ?? expectsContinue;
  try {
    if (!/^[a-z_]+$/.test(address.command)) {
      throw new HttpError(404, new YtError(`Malformed command name "${address.command}"`));
    }
    const descriptor = context.driver.find(address.apiVersion, address.command);
    const identity = await authenticateRequest(context, exchange, address.command, descriptor);
    exchange.user = identity.user;
    if (identity.setCookie !== undefined) {
      exchange.headers["Set-Cookie"] = identity.setCookie;
    }
    if (descriptor === undefined) {
      throw new HttpError(404, new YtError(`Command "${address.command}" is not registered`));
    }
    const { message } = exchange;
    const commandKey = `${address.apiVersion}${address.command}`;
    const inputEncoding = requestEncoding(headerOf(message, "content-encoding"));
    const outputEncoding = responseEncoding(headerOf(message, "accept-encoding"));
    const ticket = context.admission.enter(identity.user);
    exchange.onClosed(() => ticket.release());
    plan = context.planner.plan(message, descriptor, commandKey, exchange.query);
    body = new RequestBody(message, exchange.response, { encoding: inputEncoding, ticket, expectsContinue });
    if (descriptor.inputType === "null" && message.method === "POST" && hasBody(message)) {
      plan = await readBodyParameters(exchange, plan, descriptor, { body, encoding: inputEncoding });
    }
    const authenticateAgain = async (): Promise<void> => {
      const now = await authenticateRequest(context, exchange, address.command, descriptor);
      if (now.user !== identity.user || now.peer !== identity.peer) {
        const text = "The credentials of the request have become those of another user while it waited";
        throw new HttpError(401, new YtError(text, { code: "InvalidCredentials" }));
      }
    };
    const request = new DriverRequest(exchange, address, plan, identity, body, authenticateAgain);
    const response = await context.driver.execute(request);
    const userAgent = headerOf(message, "user-agent");
    const options = {
      plan,
      encoding: outputEncoding,
      isFramed: message.headers["x-yt-accept-framing"] !== undefined,
      omitTrailers: omitsTrailers(message, userAgent),
      omitResponseParameters: userAgent === "go-yt-client" && address.command !== "read_table",
      keepAliveFrameMs: context.keepAliveFrameMs,
    };
    const reply = replyCommand(exchange, response, options);
    await (descriptor.isVolatile && response.kind !== "stream" ? reply.catch(throwDone) : reply);
  } catch (error) {
    replyError(exchange, toHttpError(body?.refusal ?? error), {
      parameters: plan?.parameters,
      errorFormat: plan === undefined ? errorFormatOf(exchange.message) : plan.errorFormat,
    });
  }
}

/** A change stays, whether or not its answer can be told: the client must know that it is made. */
function throwDone(error: unknown): never {
  throw new YtError(
    "The command is done, but its answer cannot be written in the format that was asked for; ask for YSON, and repeat the command only with the same mutation_id",
    { inner: [toYtError(error)] },
  );
}

async function authenticateRequest(
  context: CommandHandlerContext,
  exchange: Exchange,
  command: string,
  descriptor: CommandDescriptor | undefined,
): Promise<Identity> {
  try {
    const isVolatile = descriptor?.isVolatile ?? true;
    return await context.authenticate(
      authenticationInput(exchange.message, { name: command, isVolatile }, false),
    );
  } catch (error) {
    throw toAuthenticationError(error);
  }
}

async function readBodyParameters(
  exchange: Exchange,
  plan: RequestPlan,
  descriptor: CommandDescriptor,
  { body, encoding }: { readonly body: RequestBody; readonly encoding: ContentEncoding },
): Promise<RequestPlan> {
  if (encoding !== identityEncoding) {
    throw new YtError("Content-Encoding not supported in POST body");
  }
  const bytes = await body.read(limits.maxStructuredBodyBytes);
  return bytes.length === 0 ? plan : withBodyParameters(plan, descriptor, bytes, exchange.context.clock);
}

/** Clients that cannot read trailers; a reply that is not chunked cannot have any. */
function omitsTrailers(message: IncomingMessage, userAgent: string | undefined): boolean {
  return (
    message.headers["x-yt-omit-trailers"] !== undefined ||
    userAgent?.includes("Trident") === true ||
    message.httpVersion === "1.0" ||
    message.method === "HEAD"
  );
}

class DriverRequest implements CommandRequest {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  readonly parameters: RequestPlan["parameters"];
  readonly user: string;
  readonly peer: string | undefined;
  readonly requestId: string;
  readonly authenticateAgain: () => Promise<void>;
  readonly #exchange: Exchange;
  readonly #body: RequestBody;

  constructor(
    exchange: Exchange,
    address: CommandAddress,
    plan: RequestPlan,
    identity: Identity,
    body: RequestBody,
    authenticateAgain: () => Promise<void>,
  ) {
    this.authenticateAgain = authenticateAgain;
    this.apiVersion = address.apiVersion;
    this.command = address.command;
    this.parameters = plan.parameters;
    this.user = identity.user;
    this.peer = identity.peer;
    this.requestId = exchange.requestId;
    this.#exchange = exchange;
    this.#body = body;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get halfCloseSignal(): AbortSignal {
    return this.#exchange.halfCloseSignal;
  }

  body(): AsyncIterable<Buffer> {
    return this.#body.chunks();
  }

  readBody(limitBytes: number): Promise<Buffer> {
    return this.#body.read(limitBytes);
  }
}
