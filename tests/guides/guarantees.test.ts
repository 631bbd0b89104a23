/** Every test that docs/guarantees.md and docs/coverage.md name is there. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, "utf8");

interface Proof {
  readonly file: string;
  readonly title: string;
}

/** Of `file`: "title"; each once. */
function proofsOf(page: string): readonly Proof[] {
  const proofs = [...page.matchAll(/`([\w./-]+\.(?:ts|py))`:\s"((?:[^"\\]|\\.)*)"/g)].map(
    ([, file = "", title = ""]) => ({ file, title }),
  );
  return [...new Map(proofs.map((proof) => [`${proof.file}: ${proof.title}`, proof])).values()];
}

/** The lines of its tables that are no heads. */
function linesOf(page: string): readonly string[] {
  return page.split("\n").filter((line) => /^\| (?!Promise|No\.|Short|---)/.test(line));
}

const lastCell = (line: string): string => line.split(" | ").at(-1) ?? "";

describe.each([
  { file: "docs/guarantees.md", least: 80 },
  { file: "docs/coverage.md", least: 80 },
])("$file", ({ file: page, least }) => {
  const proofs = proofsOf(read(page));

  it("names tests by file and title", () => {
    expect(proofs.length).toBeGreaterThan(least);
  });

  it.each(proofs)("$file: $title", ({ file, title }) => {
    expect(read(file)).toContain(title);
  });
});

describe("docs/guarantees.md", () => {
  it("gives every promise its proof, or says that there is none", () => {
    const isProven = (line: string): boolean =>
      /`: "|\b(?:Kills|Forgetting|Flushes|Histories)\b|by design|\(every history\)/.test(lastCell(line));
    expect(linesOf(read("docs/guarantees.md")).filter((line) => !isProven(line))).toEqual([]);
  });
});

describe("docs/coverage.md", () => {
  const page = read("docs/coverage.md");
  const heads = [...page.matchAll(/^\| (\*\*[\w ]+\*\*|«[^»]+») \| /gm)].map(([, short = ""]) => short);

  it("gives every statement its test, the work that it waits for, or the reason why it has none", () => {
    const isHeld = (line: string): boolean =>
      /`: "|by no test|^advice|this table/.test(lastCell(line)) ||
      heads.some((short) => lastCell(line).includes(short));
    expect(linesOf(page).filter((line) => !line.startsWith("| «") && !isHeld(line))).toEqual([]);
  });

  it("explains each of its short names", () => {
    const used = new Set([...page.matchAll(/\*\*[A-Z][\w ]+\*\*|«[^»]+»/g)].map(([short]) => short));
    const known = new Set([...heads, "**Q**", "**F**"]);
    expect([...used].filter((short) => !known.has(short))).toEqual([]);
  });
});
