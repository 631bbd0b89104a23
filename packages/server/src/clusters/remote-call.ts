/**
 * Calls to another cluster: none waits longer than the caller does, and what fails says which cluster it
 * was, and whether it answered.
 */
import { type Clock, errorCodes, type Timer, toYtError, YtError } from "@qyt/base";

/** How long a connection may take to come about, in milliseconds. */
export const connectTimeoutMs = 3000;
/** How long another cluster may take to answer when the request does not say, in milliseconds. */
export const answerTimeoutMs = 10_000;

/** The moment up to which the caller waits: his `timeout` parameter, counted from the request's arrival. */
export class Deadline {
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #endMs: number;

  constructor(clock: Clock, timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#endMs = clock.monotonic() + timeoutMs;
  }

  /** Not below 0. */
  remainingMs(): number {
    return Math.max(0, this.#endMs - this.#clock.monotonic());
  }
}

/** What bounds a call. */
export interface CallBounds {
  readonly deadline?: Deadline | undefined;
  /** Of the client that waits for the answer. */
  readonly signal?: AbortSignal | undefined;
}

/** One exchange with another cluster, in one step or in several (an answer, then pieces of its body). */
export class RemoteCall {
  readonly #clock: Clock;
  readonly #cluster: string;
  readonly #bounds: CallBounds;
  readonly #controller = new AbortController();

  constructor(clock: Clock, cluster: string, bounds: CallBounds) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.#bounds = bounds;
    const abort = (): void => this.#controller.abort();
    if (bounds.signal?.aborted === true) {
      abort();
    } else {
      bounds.signal?.addEventListener("abort", abort, { once: true });
    }
  }

  /** For the transport; aborts when the caller leaves or a step took too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Runs a step for at most `limitMs`, or less if the caller waits less.
   * @throws YtError 3 when that time is over, 100 when the cluster cannot be reached, otherwise with the
   *   code of the cluster's answer; always with its name in the text and in the attribute `cluster`
   */
  async step<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
    const { deadline } = this.#bounds;
    const remaining = deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
    let isOver = remaining <= 0;
    let timer: Timer | undefined;
    try {
      if (isOver) {
        throw new YtError("The time was over before the call");
      }
      timer = this.#clock.after(Math.min(limitMs, remaining), () => {
        isOver = true;
        this.#controller.abort();
      });
      return await work();
    } catch (thrown) {
      const cluster = this.#cluster;
      if (isOver) {
        const timeout = deadline !== undefined && remaining <= limitMs ? deadline.timeoutMs : limitMs;
        throw new YtError(`Cluster "${cluster}" did not answer within ${Math.round(timeout)} ms`, {
          code: "Timeout",
          attributes: { cluster },
        });
      }
      const error = toYtError(thrown);
      throw error.wrap(
        isUnreachable(error)
          ? `Cluster "${cluster}" did not answer`
          : `Request to cluster "${cluster}" failed`,
        { cluster },
      );
    } finally {
      timer?.cancel();
    }
  }
}

const transportError: number = errorCodes.TransportError;

/** No cluster asks a third one for what it is asked by another, so the code on top is ours. */
function isUnreachable(error: YtError): boolean {
  return error.code === transportError;
}

/** Whether a failed call got no answer, so that it is not known what was done. */
export function isUnanswered(error: YtError): boolean {
  return error.has("TransportError") || error.has("Timeout");
}
