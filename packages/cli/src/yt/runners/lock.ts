/** `lock`: prints the lock, and waits for it where it is asked to. */
import { sleep, systemClock, YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import { plainText, printLine, pythonText } from "../printing.ts";
import { fieldOf } from "../session.ts";

const checkIntervalMs = 200;
/** Of a lock that is not there. */
const noLock = "0-0-0-0";

export const lock: Runner = async (context) => {
  const { session, values, parameters } = context;
  const answer = await session.change("lock", { mode: "exclusive", waitable: false, ...parameters });
  const id = plainText(fieldOf(answer, "lock_id"));
  const waitMs = values.integer("wait_for");
  if (values.is("waitable") && waitMs !== undefined && id !== noLock) {
    const endMs = systemClock.monotonic() + waitMs;
    while ((await session.get(`#${id}/@state`)) !== "acquired") {
      if (systemClock.monotonic() > endMs) {
        throw new YtError(`Timed out while waiting ${waitMs} milliseconds for lock ${id}`);
      }
      await sleep(systemClock, checkIntervalMs);
    }
  }
  // The real client prints its own object here.
  await printLine(context, pythonText(answer ?? null));
  return undefined;
};
