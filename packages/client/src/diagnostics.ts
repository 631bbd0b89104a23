/**
 * What the client tells about itself through `node:diagnostics_channel`, for logs, metrics and traces. It costs
 * nothing while nobody listens. Names and payloads are part of the package's interface (docs/sdk.md).
 */
import { type Channel, channel } from "node:diagnostics_channel";
import type { YtError } from "@qyt/base";

/** `qyt:client:request:start`: an attempt is about to be sent. */
export interface RequestStart {
  /** Of the attempt; sent as `X-YT-Correlation-Id`, which the proxy writes to its log. */
  readonly id: string;
  readonly command: string;
  /** 1 for the first one. */
  readonly attempt: number;
  /** Listeners may add headers: `traceparent` makes the attempt part of a trace. */
  readonly headers: [string, string][];
}

/** `qyt:client:request:end`: it was answered, refused, or failed. */
export interface RequestEnd extends RequestStart {
  readonly durationMs: number;
  readonly error: YtError | undefined;
}

/** `qyt:client:request:retry`: a call is sent again after a pause. */
export interface RequestRetry {
  readonly command: string;
  /** The one that failed. */
  readonly attempt: number;
  readonly pauseMs: number;
  readonly error: YtError;
}

/** `qyt:client:transaction`: what becomes of a transaction of `client.transaction`. */
export interface TransactionEvent {
  readonly transactionId: string;
  readonly type: "master" | "tablet";
  readonly event: "started" | "committed" | "aborted" | "lost";
}

/** `qyt:client:producer`: a batch is durable, or the producer has failed. */
export interface ProducerEvent {
  readonly sessionId: string;
  readonly event: "acknowledged" | "failed";
  readonly rowCount: number;
  readonly byteCount: number;
  /** Rows of the batch that the session had: it was sent again after its answer was lost. */
  readonly skippedRowCount: bigint;
  readonly durationMs: number;
  readonly error: YtError | undefined;
}

/** The names of the channels. */
export const channelNames = {
  requestStart: "qyt:client:request:start",
  requestEnd: "qyt:client:request:end",
  requestRetry: "qyt:client:request:retry",
  transaction: "qyt:client:transaction",
  producer: "qyt:client:producer",
} as const;

const start = channel(channelNames.requestStart);
const end = channel(channelNames.requestEnd);
const retry = channel(channelNames.requestRetry);
const transaction = channel(channelNames.transaction);
const producer = channel(channelNames.producer);

export const requestChannels = {
  get areObserved(): boolean {
    return start.hasSubscribers || end.hasSubscribers;
  },
  start: (told: RequestStart): void => tell(start, told),
  end: (told: RequestEnd): void => tell(end, told),
};

export const tellRetry = (told: RequestRetry): void => tell(retry, told);
export const tellTransaction = (told: TransactionEvent): void => tell(transaction, told);
export const tellProducer = (told: ProducerEvent): void => tell(producer, told);

function tell(to: Channel, told: object): void {
  if (to.hasSubscribers) {
    to.publish(told);
  }
}
