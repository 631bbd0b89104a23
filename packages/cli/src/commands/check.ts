/**
 * `qyt check`: reads every record of a data directory and says what is damaged. The reading is done by a
 * process of its own, as damage in the store's own pages can kill the process that reads them.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { YtError } from "@qyt/base";
import { checkStore, openLmdbStore } from "@qyt/server";
import { Command, Option } from "commander";

interface CheckFlags {
  readonly here?: boolean;
}

const help = `
Example:
  qyt check qyt-data/primary      one cluster
  qyt check qyt-data              every cluster in there

Stop the clusters first. Exit code: 0 when nothing is damaged, 1 otherwise.`;

export function checkCommand(): Command {
  return new Command("check")
    .description("Verify the checksums of all stored records.")
    .argument("<dir>", "data directory of a cluster, or a folder of such directories")
    .addOption(new Option("--here", "read in this process").hideHelp())
    .addHelpText("after", help)
    .action(check);
}

async function check(directory: string, flags: CheckFlags): Promise<void> {
  if (flags.here === true) {
    await checkHere(directory);
    return;
  }
  for (const store of storesIn(resolve(directory))) {
    const { code, signal } = await checkInChild(store);
    if (signal !== null) {
      process.stdout.write(`${store}: damaged: the process that read it was ended by ${signal}\n`);
    }
    if (code !== 0) {
      process.exitCode = 1;
    }
  }
}

/** The file that LMDB keeps a store in. */
const storeFile = "data.mdb";

function storesIn(directory: string): readonly string[] {
  if (existsSync(join(directory, storeFile))) {
    return [directory];
  }
  const stores = existsSync(directory)
    ? readdirSync(directory)
        .map((name) => join(directory, name))
        .filter((path) => existsSync(join(path, storeFile)))
    : [];
  if (stores.length === 0) {
    throw new YtError(`There is no data directory of a cluster at "${directory}"`);
  }
  return stores;
}

function checkInChild(store: string): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((done, fail) => {
    const [, script = ""] = process.argv;
    const child = spawn(process.execPath, [script, "check", "--here", store], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.once("error", fail);
    child.once("close", (code, signal) => done({ code, signal }));
  });
}

async function checkHere(directory: string): Promise<void> {
  const store = await openLmdbStore(directory);
  const report = await checkStore(store).finally(() => store.close());
  const size = `${report.recordCount} records, ${report.byteCount} bytes`;
  const isSound = report.damagedCount === 0 && report.error === undefined;
  const lines = [isSound ? `${directory}: no damage in ${size}` : `${directory}: damaged; read ${size}`];
  if (report.error !== undefined) {
    lines.push(`  reading stopped: ${report.error.message}`);
  }
  if (report.damagedCount > 0) {
    lines.push(`  ${report.damagedCount} damaged records; their keys:`);
    for (const key of report.damagedKeys) {
      lines.push(`    ${key.toString("hex")}`);
    }
    if (report.damagedCount > report.damagedKeys.length) {
      lines.push(`    and ${report.damagedCount - report.damagedKeys.length} more`);
    }
  }
  process.stdout.write(`${lines.join("\n")}\n`);
  process.exitCode = isSound ? 0 : 1;
}
