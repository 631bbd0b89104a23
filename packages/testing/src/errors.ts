/** What an error says. */
import type { YtError } from "@qyt/base";

/** The messages of an error and of all inside it, outer to inner. */
export function messagesOf(error: YtError): string[] {
  return [error.message, ...error.innerErrors.flatMap(messagesOf)];
}
