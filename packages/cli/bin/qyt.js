#!/usr/bin/env node
// The `qyt` command. Committed as it is, so that npm links it before anything is built.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const program = new URL("../dist/index.js", import.meta.url);
if (existsSync(fileURLToPath(program))) {
  const { main } = await import(program.href);
  await main(process.argv);
} else {
  process.stderr.write("qyt is not built yet: run `npm run build` (or `npm start`) in its folder first.\n");
  process.exitCode = 1;
}
