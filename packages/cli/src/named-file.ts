/** Reading files that the user has named, with errors that say what each was to be. */
import { readFile } from "node:fs/promises";
import { toYtError, YtError } from "@qyt/base";

/** @param what as in "the configuration file" @throws YtError 1 with one sentence when the file cannot be read */
export async function readNamedFile(file: string, what: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (thrown) {
    throw new YtError(`Cannot read ${what}: ${toYtError(thrown).message}`, { cause: thrown });
  }
}
