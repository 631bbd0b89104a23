/**
 * Each cluster's note of who keeps the registrations of its consumers, in its data directory: another
 * order of `--cluster` at the next start must not leave the registrations behind.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

const fileName = "registrations-cluster";

/** What the directories say; a cluster without a note is left out. */
export async function readKeepers(
  clusters: readonly { readonly name: string; readonly dataDirectory: string }[],
): Promise<ReadonlyMap<string, string>> {
  const keepers = new Map<string, string>();
  for (const { name, dataDirectory } of clusters) {
    const text = await readFile(join(dataDirectory, fileName), "utf8").catch(() => "");
    if (text.trim() !== "") {
      keepers.set(name, text.trim());
    }
  }
  return keepers;
}

/** Called once the cluster holds its directory's lock. */
export async function writeKeeper(dataDirectory: string, keeper: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true });
  const file = join(dataDirectory, fileName);
  await writeFile(`${file}.new`, `${keeper}\n`);
  await rename(`${file}.new`, file);
}
