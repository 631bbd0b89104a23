/**
 * The one error class of the project: a tree of (code, message, attributes, inner errors) with
 * YTsaurus codes. Specified in: library/cpp/yt/error; the wire form is in `@qyt/yson` (`errorToYson`).
 */
import { type ErrorCodeName, errorCodes } from "./codes.ts";
import { emptyMap, mapOf, type YsonMap, type YsonValue } from "./value.ts";

export interface YtErrorOptions {
  readonly code?: ErrorCodeName | number;
  readonly attributes?: YsonMap | Readonly<Record<string, YsonValue | undefined>>;
  readonly inner?: readonly YtError[];
  readonly cause?: unknown;
}

export class YtError extends Error {
  override readonly name = "YtError";
  readonly code: number;
  readonly attributes: YsonMap;
  readonly innerErrors: readonly YtError[];

  /** Without a code the error is generic (code 1). */
  constructor(message: string, options: YtErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const code = options.code ?? "Generic";
    this.code = typeof code === "number" ? code : errorCodes[code];
    this.attributes = toAttributes(options.attributes);
    this.innerErrors = options.inner ?? [];
  }

  /** This error, or the first inner one (depth first), that has the code. */
  find(code: ErrorCodeName | number): YtError | undefined {
    const wanted = typeof code === "number" ? code : errorCodes[code];
    if (this.code === wanted) {
      return this;
    }
    for (const inner of this.innerErrors) {
      const found = inner.find(wanted);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  has(code: ErrorCodeName | number): boolean {
    return this.find(code) !== undefined;
  }

  /** The same error with more attributes; those already present stay. */
  withAttributes(attributes: Readonly<Record<string, YsonValue | undefined>>): YtError {
    const merged = new Map(mapOf(attributes));
    for (const [key, value] of this.attributes) {
      merged.set(key, value);
    }
    return new YtError(this.message, {
      code: this.code,
      attributes: merged,
      inner: this.innerErrors,
      cause: this.cause,
    });
  }

  /** A new error around this one. Keeps this error's code, so that a client still finds it on top. */
  wrap(message: string, attributes?: Readonly<Record<string, YsonValue | undefined>>): YtError {
    return new YtError(message, {
      code: this.code,
      inner: [this],
      ...(attributes === undefined ? {} : { attributes }),
    });
  }
}

/** Any thrown value as a `YtError`; what was no `YtError` becomes a generic one with the cause kept. */
export function toYtError(thrown: unknown): YtError {
  if (thrown instanceof YtError) {
    return thrown;
  }
  if (thrown instanceof Error) {
    return new YtError(thrown.message === "" ? thrown.name : thrown.message, { cause: thrown });
  }
  return new YtError(String(thrown));
}

function toAttributes(attributes: YtErrorOptions["attributes"]): YsonMap {
  if (attributes === undefined) {
    return emptyMap;
  }
  return attributes instanceof Map
    ? attributes
    : mapOf(attributes as Readonly<Record<string, YsonValue | undefined>>);
}
