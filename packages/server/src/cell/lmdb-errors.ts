/** What the library's errors mean, in words that tell an operator what to do. */
import { toYtError, YtError } from "@qyt/base";

/** errno 5 (how a full disk arrives), ENOSPC, EDQUOT, EFBIG and MDB_MAP_FULL. */
const noSpaceCodes: ReadonlySet<unknown> = new Set([5, 28, 122, 27, -30792, "EIO", "ENOSPC"]);

/**
 * The error of a failed transaction. The library rejects with a stub whose `commitError` tells the
 * reason, as a second rejection, which kills the process if nobody takes it.
 */
export async function explainFailure(thrown: unknown): Promise<YtError> {
  const reason = await reasonOf(thrown);
  const code = reason instanceof Error && "code" in reason ? reason.code : undefined;
  if (noSpaceCodes.has(code)) {
    return new YtError(
      "Cannot write to the data directory: its disk is full, or fails; free some space there, then repeat the request",
      { cause: reason, inner: [toYtError(reason)] },
    );
  }
  return new YtError("Cannot write to the data directory", { cause: reason, inner: [toYtError(reason)] });
}

async function reasonOf(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error) || !("commitError" in thrown)) {
    return thrown;
  }
  const { commitError } = thrown;
  // In case the library never settles it: the next turn of the loop is later than it would.
  const nextTurn = new Promise<void>((resolve) => setImmediate(resolve));
  try {
    await Promise.race([commitError, nextTurn]);
    return thrown;
  } catch (reason) {
    return reason;
  }
}
