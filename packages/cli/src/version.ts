/** The version of this package, from its package.json. Read by every command, so it loads nothing else. */
import { readFileSync } from "node:fs";

const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

export const version = versionIn(manifest);

function versionIn(value: unknown): string {
  if (
    typeof value === "object" &&
    value !== null &&
    "version" in value &&
    typeof value.version === "string"
  ) {
    return value.version;
  }
  throw new Error("package.json of qyt has no version");
}
