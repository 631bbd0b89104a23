/** Every test that docs/guarantees.md names is there. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(`${root}docs/guarantees.md`, "utf8");

/** Of `file`: "title". */
const proofs = [...page.matchAll(/`([\w./-]+\.(?:ts|py))`:\s"((?:[^"\\]|\\.)*)"/g)].map(
  ([, file = "", title = ""]) => ({ file, title }),
);

it("names tests by file and title", () => {
  expect(proofs.length).toBeGreaterThan(80);
});

it.each(proofs)("$file: $title", ({ file, title }) => {
  expect(readFileSync(`${root}${file}`, "utf8")).toContain(title);
});

it("gives every promise its proof, or says that there is none", () => {
  const promises = page.split("\n").filter((line) => /^\| (?!Promise|---)/.test(line));
  const isProven = (line: string): boolean =>
    /`: "|\b(?:Kills|Forgetting|Flushes|Histories)\b|by design|\(every history\)/.test(
      line.split(" | ").at(-1) ?? "",
    );
  expect(promises.filter((line) => !isProven(line))).toEqual([]);
});
