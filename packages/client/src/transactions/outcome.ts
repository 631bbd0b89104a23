/**
 * Commits a transaction, and finds out what became of it when the answer was lost.
 *
 * What a repeated commit tells: the same mutation id brings the first answer again while the cluster keeps it
 * (qyt: five minutes, in memory; masters of YTsaurus: some minutes), so "done" is certain. An ended transaction
 * is refused with code 11000; qyt says in the attribute `state` how it ended, and a proxy of YTsaurus that still
 * has the object says it in its message. Code 11000 without that, after an attempt that may have been taken,
 * means both "committed" and "aborted": that is `TransactionOutcomeUnknown`.
 *
 * Specified in: yt/yt/client/api/sticky_transaction_pool.cpp, yt/yt/client/api/rpc_proxy/transaction_impl.cpp
 * (states and their messages); mutation ids: yt/yt/server/lib/hydra (response keeper).
 */
import { bare, sleep, toYtError, YtError } from "@qyt/base";
import { isRetriable, type Requester, wasNotTaken } from "../core.ts";

/**
 * The commit was sent and its answer lost, and the cluster could not tell what became of it: either all of the
 * transaction was done or nothing. It has ended: nothing of it happens later. The code is that of the last
 * failure, which is the only inner error.
 */
export class TransactionOutcomeUnknown extends YtError {
  readonly transactionId: string;

  constructor(transactionId: string, last: YtError) {
    super(
      `It is unknown whether transaction ${transactionId} was committed: the answer was lost. It will change nothing any more; read what it wrote, and do the work again if that is missing`,
      { code: last.code, attributes: { transaction_id: transactionId, outcome: "unknown" }, inner: [last] },
    );
    this.transactionId = transactionId;
  }
}

export interface CommitRequest {
  readonly requester: Requester;
  readonly transactionId: string;
  /** How long is asked at most, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Looks whether what the transaction wrote is there; asked when the cluster cannot tell. */
  readonly verify: (() => Promise<boolean>) | undefined;
}

/** Refusals of the commit itself: then nothing was done. */
const refusals = [
  "TransactionLockConflict",
  "UniqueIndexConflict",
  "PrerequisiteCheckFailed",
  "NoSyncReplicas",
  "SyncReplicaNotInSync",
  "TooManyRowsInTransaction",
  "AccountLimitExceeded",
  "ParticipantFailedToPrepare",
] as const;

/**
 * Resolves when it is committed.
 * @throws YtError when it is certain that nothing was done
 * @throws TransactionOutcomeUnknown when nothing is certain
 */
export async function commitAndFindOut(request: CommitRequest): Promise<void> {
  const { requester, transactionId } = request;
  const { clock, random, retries, requestTimeoutMs } = requester.options;
  const endMs = clock.monotonic() + request.timeoutMs;
  const mutationId = requester.newMutationId();
  /** Whether an attempt with a lost answer may have been taken. */
  let isOpen = false;
  for (let attempt = 1; ; attempt++) {
    const error = await attemptToCommit(requester, transactionId, {
      mutationId,
      isRepeat: attempt > 1,
      timeoutMs: Math.max(1, Math.min(requestTimeoutMs, endMs - clock.monotonic())),
      signal: request.signal,
    });
    if (error === undefined || stateTold(error) === "committed") {
      return;
    }
    if (isCertain(error, isOpen)) {
      if (!error.has("NoSuchTransaction")) {
        await endForCertain(request);
      }
      throw error;
    }
    isOpen ||= !wasNotTaken(error);
    const pauseMs =
      Math.min(retries.maxDelayMs, retries.minDelayMs * 2 ** (attempt - 1)) * (0.5 + random.next());
    const mayAsk = isRetriable(error) || stateTold(error) === "committing";
    if (!mayAsk || request.signal?.aborted === true || clock.monotonic() + pauseMs >= endMs) {
      return giveUp(request, error, isOpen);
    }
    await sleep(clock, pauseMs, request.signal).catch(() => {});
  }
}

async function attemptToCommit(
  requester: Requester,
  transactionId: string,
  call: {
    readonly mutationId: string;
    readonly isRepeat: boolean;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
  },
): Promise<YtError | undefined> {
  const { signal, ...others } = call;
  try {
    await requester.receiveValue({
      command: "commit_transaction",
      method: "POST",
      parameters: { transaction_id: transactionId },
      isVolatile: true,
      attempts: 1,
      ...others,
      ...(signal === undefined ? {} : { signal }),
    });
    return undefined;
  } catch (thrown) {
    return toYtError(thrown);
  }
}

/** Whether the error says that nothing was done, and nothing will be by an earlier attempt. */
function isCertain(error: YtError, isOpen: boolean): boolean {
  if (stateTold(error) === "aborted" || refusals.some((code) => error.has(code))) {
    return true;
  }
  return !isOpen && !isRetriable(error) && !error.has("Canceled") && stateTold(error) === undefined;
}

/** What a refusal says of the transaction's state. */
function stateTold(error: YtError): "committed" | "committing" | "aborted" | undefined {
  const state = bare(error.find("NoSuchTransaction")?.attributes.get("state") ?? null);
  if (state === "committed" || state === "aborted" || state === "committing") {
    return state;
  }
  const told = /Transaction is already (being )?(committed|aborted)/.exec(error.message);
  if (told === null) {
    return undefined;
  }
  if (told[2] === "aborted") {
    return "aborted";
  }
  return told[1] === undefined ? "committed" : "committing";
}

async function giveUp(request: CommitRequest, last: YtError, isOpen: boolean): Promise<void> {
  await endForCertain(request);
  if (!isOpen) {
    throw last;
  }
  if (request.verify !== undefined) {
    if (await request.verify()) {
      return;
    }
    throw last;
  }
  throw new TransactionOutcomeUnknown(request.transactionId, last);
}

const abortTimeoutMs = 5_000;

/**
 * A commit that is still on its way would be late: after an abort it meets no transaction. That a commit
 * which was taken before is undone is impossible: an abort of a committed transaction is refused.
 */
async function endForCertain({ requester, transactionId }: CommitRequest): Promise<void> {
  const call = {
    command: "abort_transaction",
    method: "POST",
    parameters: { transaction_id: transactionId },
    isVolatile: true,
    attempts: 1,
    timeoutMs: abortTimeoutMs,
  } as const;
  await requester.receiveValue(call).catch(() => undefined);
}
