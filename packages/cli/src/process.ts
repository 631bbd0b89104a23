/** What programs that run until they are told to stop share: signals, a log, and output whose reader goes away. */
import { systemClock, YtError } from "@qyt/base";
import { destination, type Logger, pino } from "pino";
import type { LogLevel } from "./up/config.ts";

/**
 * Does the work of such a program, then ends the process: whatever a handler left open must not hold it. A
 * second Ctrl-C ends it at once.
 * @param work gets the log, JSON lines on stderr, and a promise that resolves when it is to stop
 * @throws what `work` throws; the process goes on then
 */
export async function runUntilStopped(
  level: LogLevel,
  work: (logger: Logger, stop: Promise<void>) => Promise<void>,
): Promise<void> {
  const stderr = destination({ fd: process.stderr.fd, sync: false, minLength: 0 });
  const logger = pino({ level, base: { pid: process.pid } }, stderr);
  process.stdout.on("error", ignoreClosedPipe);
  stderr.on("error", ignoreClosedPipe);
  const stop = stopSignal(() => {
    stderr.flushSync();
    process.exit(130);
  });
  // Timers of the clock do not keep the process alive, nor do idle sockets while it starts.
  const alive = setInterval(() => {}, 0x7fff_ffff);
  try {
    await work(logger, stop);
  } finally {
    clearInterval(alive);
    stderr.flushSync();
  }
  process.exit(0);
}

/** One Ctrl-C may arrive twice, from the terminal and from npm, which hands it on; this long it counts as one. */
const sameInterruptMs = 300;

/** Resolves at the first SIGTERM or SIGINT. A second Ctrl-C calls `now`. */
function stopSignal(now: () => void): Promise<void> {
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

/** A reader of our lines that goes away (`qyt up | head`) must not end the program. */
function ignoreClosedPipe(error: Error): void {
  if (!("code" in error && error.code === "EPIPE")) {
    throw new YtError(`Cannot write: ${error.message}`, { cause: error });
  }
}
