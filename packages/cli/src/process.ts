/** What programs that run until they are told to stop share: signals, and output whose reader goes away. */
import { systemClock, YtError } from "@qyt/base";

/** One Ctrl-C may arrive twice, from the terminal and from npm, which hands it on; this long it counts as one. */
const sameInterruptMs = 300;

/** Resolves at the first SIGTERM or SIGINT. A second Ctrl-C calls `now`. */
export function stopSignal(now: () => void): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      const nowMs = systemClock.monotonic();
      if (firstMs === undefined) {
        firstMs = nowMs;
        resolve();
      } else if (signal === "SIGINT" && nowMs - firstMs > sameInterruptMs) {
        now();
      }
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** A handler of a stream's errors: a reader that goes away (`qyt up | head`) must not end the program. */
export function ignoreClosedPipe(error: Error): void {
  if (!("code" in error && error.code === "EPIPE")) {
    throw new YtError(`Cannot write: ${error.message}`, { cause: error });
  }
}
