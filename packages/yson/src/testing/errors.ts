/** What an action throws, when that has to be a `YtError`; anything else fails the test. */
import { YtError } from "@qyt/base";

export function errorOf(action: () => unknown): YtError {
  try {
    action();
  } catch (error) {
    if (error instanceof YtError) {
      return error;
    }
    throw error;
  }
  throw new Error("nothing was thrown");
}
