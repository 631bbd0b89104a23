/** A command line that cannot be read: exit code 2, as of `yt`. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command line that could not be read. */
export const usageExitCode = 2;
