/**
 * What one command of the `yt` command line is, as data: from it come dispatch, help, completion and the reference.
 * Facts by: yt/python/yt/cli/yt_binary.py.
 */
import type { YsonValue } from "@qyt/base";
import type { Argument } from "./argument.ts";
import type { Context } from "./context.ts";

export type Output =
  | { readonly kind: "none" }
  /** One field of the answer, on a line; the first that is there. */
  | { readonly kind: "field"; readonly names: readonly string[] }
  /** The bytes of the server as they come. */
  | { readonly kind: "stream" }
  /** The answer as the server formats it: pretty YSON unless a format is asked for. */
  | { readonly kind: "formatted"; readonly endsLine: boolean }
  /** The answer as the client prints it, with two spaces of indent, unless a format is asked for. */
  | { readonly kind: "printed"; readonly field?: string };

/** A command that is one request. */
export interface Request {
  readonly command: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly fixed?: Readonly<Record<string, YsonValue>>;
  /** Standard input is the body. */
  readonly hasBody?: boolean;
  /** Sent with a mutation id, so that it can be repeated. */
  readonly isVolatile?: boolean;
  readonly isUnsafeToRepeat?: boolean;
  readonly output: Output;
}

/** @returns the exit code, 0 when there is none */
export type Runner = (context: Context) => Promise<number | undefined>;

export interface YtCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** One sentence. */
  readonly summary: string;
  /** What else one has to know; sentences. */
  readonly details?: string;
  readonly arguments: readonly Argument[];
  /** Command lines without the `qyt` in front, or with what feeds it. */
  readonly examples: readonly string[];
  readonly run: Request | (() => Promise<Runner>);
}

export interface YtFamily {
  readonly title: string;
  readonly commands: readonly YtCommand[];
}
