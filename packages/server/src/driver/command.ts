/**
 * The door between the protocol and the commands: what `http` hands down and what it gets back. No
 * word of HTTP below this file, and no word of Cypress or tablets above it.
 */
import type { YsonMap, YsonValue } from "@qyt/base";

export type DataType = "null" | "binary" | "structured" | "tabular";
export type ApiVersion = 3 | 4;

/** One line of `GET /api/v4`. Specified in: yt/yt/client/driver/driver.cpp. */
export interface CommandDescriptor {
  readonly name: string;
  readonly inputType: DataType;
  readonly outputType: DataType;
  readonly isVolatile: boolean;
  readonly isHeavy: boolean;
}

/** A command call, freed of its transport. */
export interface CommandRequest {
  readonly apiVersion: ApiVersion;
  readonly command: string;
  /** Merged from all layers; `input_format` and `output_format` are always there, as format nodes. */
  readonly parameters: YsonMap;
  readonly user: string;
  /** The trusted cluster that sends the request in the name of the user; `undefined`: the user does. */
  readonly peer?: string | undefined;
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** Aborts when the client sends no more: it may be gone, so what waits for something to happen answers now. */
  readonly halfCloseSignal?: AbortSignal | undefined;
  /**
   * Looks again whether the request may be made in the name of its user: for commands that have waited.
   * Absent: nobody had to prove anything. @throws what a new request would be refused with
   */
  readonly authenticateAgain?: (() => Promise<void>) | undefined;
  /** The body as it arrives, content encoding removed. */
  body(): AsyncIterable<Buffer>;
  /** The whole body. @throws YtError when it is longer than `limitBytes` */
  readBody(limitBytes: number): Promise<Buffer>;
}

export type CommandResponse = EmptyResponse | StructuredResponse | StreamResponse;

/** No body at all, whatever the declared output type (`insert_rows`). */
export interface EmptyResponse {
  readonly kind: "empty";
}

/** One value, written in `output_format` by the protocol. */
export interface StructuredResponse {
  readonly kind: "structured";
  readonly value: YsonValue;
  readonly responseParameters?: YsonMap;
}

/** Rows or bytes, already encoded. An error thrown before the first chunk is an ordinary error reply. */
export interface StreamResponse {
  readonly kind: "stream";
  readonly chunks: AsyncIterable<Buffer>;
  /** The only chunk, when it is there already. */
  readonly whole?: Buffer;
  /** Called when the first chunk is about to be sent, so that a command can name e.g. its first row. */
  readonly responseParameters?: () => YsonMap | undefined;
  readonly contentType?: string;
  readonly entityTag?: string;
}

export interface Driver {
  descriptors(version: ApiVersion): readonly CommandDescriptor[];
  find(version: ApiVersion, name: string): CommandDescriptor | undefined;
  execute(request: CommandRequest): Promise<CommandResponse>;
}
