/** Changes of the engine that are a mutation of their own. */
import { type Cell, WriteBatch } from "../../cell/index.ts";
import { combinePrepared, type Prepared } from "./prepared.ts";

/**
 * Commits what `prepare` puts into the batch. It hands over each prepared change as soon as that counts, so
 * that a later one which throws takes them all back.
 */
export async function commitPrepared(
  cell: Cell,
  prepare: (batch: WriteBatch, prepared: Prepared[]) => void,
): Promise<void> {
  const batch = new WriteBatch();
  const parts: Prepared[] = [];
  const change = combinePrepared(parts);
  try {
    prepare(batch, parts);
  } catch (thrown) {
    change.onFailed();
    throw thrown;
  }
  if (batch.entryCount > 0) {
    await cell.commit({
      batch,
      onDurable: () => change.onDurable(),
      onFailed: () => change.onFailed(),
    });
  }
}
