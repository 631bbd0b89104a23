/** An error that decides the HTTP status. Every other error of a command is status 400, whatever its code. */
import type { YtError } from "@qyt/base";

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly error: YtError;
  /** Seconds for `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor(status: number, error: YtError, retryAfter?: number) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.retryAfter = retryAfter;
  }
}
