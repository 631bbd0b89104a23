// Loaded with `node --import`: writes what the program loads, one URL a line, to the file of QYT_LOADED_MODULES.
import { register } from "node:module";

register(
  `data:text/javascript,${encodeURIComponent(`
import { appendFileSync } from "node:fs";
export async function load(url, context, nextLoad) {
  appendFileSync(process.env.QYT_LOADED_MODULES, url + "\\n");
  return nextLoad(url, context);
}`)}`,
);
