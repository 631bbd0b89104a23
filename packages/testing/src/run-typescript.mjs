// Lets a test start one of the repository's TypeScript files as a process of its own, without a build:
//   node --conditions=@qyt/source --import <this file> script.ts
// Given to `startProcess` as `nodeArgs: typescriptArgs`.
import { register } from "node:module";

const hooks = `
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import typescript from ${JSON.stringify(import.meta.resolve("typescript"))};

export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) {
    return nextLoad(url, context);
  }
  const { outputText } = typescript.transpileModule(await readFile(fileURLToPath(url), "utf8"), {
    compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2023 },
  });
  return { format: "module", source: outputText, shortCircuit: true };
}
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
