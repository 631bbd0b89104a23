/**
 * Messages and statuses of the describe commands: what is wrong, how bad, at what.
 * Specified in: yt/yt/flow/library/cpp/controller/describe/common.cpp.
 */
import { mapOf, type YsonMap, type YsonValue, type YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";

export type Level = "info" | "warning" | "error";

export interface Message {
  readonly text: string;
  readonly level: Level;
  readonly yson?: YsonValue;
  readonly error?: YtError;
}

const order: readonly Level[] = ["info", "warning", "error"];

/** The worst of the messages; `info` when there is none. */
export function statusOf(messages: readonly Message[]): Level {
  return messages.reduce<Level>(
    (worst, { level }) => (order.indexOf(level) > order.indexOf(worst) ? level : worst),
    "info",
  );
}

export function messageToYson(message: Message): YsonMap {
  return mapOf({
    text: message.text,
    level: message.level,
    yson: message.yson === undefined ? undefined : message.yson,
    error: message.error === undefined ? undefined : errorToYson(message.error),
  });
}

export function retryableError(component: string, error: YtError): Message {
  return { text: `Retryable error in component "${component}": ${error.message}`, level: "warning", error };
}
