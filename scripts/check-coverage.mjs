// Holds the documents to the tests:
// - docs/compatibility.md lists every specified case once; "done" and "part" need a test whose title carries
//   the number, "not yet" must have none, and what it waits for is one of the pieces of work listed there;
// - every test that docs/*.md name as `file`: "title" is there.
// With --write the lines of done cases are made anew from the titles; the hand-written ones stay.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compatibilityFile = join(root, "docs", "compatibility.md");

/** Sets of cases: name in titles → how many there are. `http-api` is another name of `http`. */
const sets = new Map([
  ["tables", 206],
  ["http", 140],
  ["queue-api", 138],
  ["queue-agent", 134],
  ["flow", 112],
]);
const states = ["done", "part", "differs", "not yet"];

const problems = [];

/** Files under the folder, without what is installed or built. */
function* filesUnder(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!["node_modules", "dist", ".git"].includes(entry.name)) {
        yield* filesUnder(path);
      }
    } else {
      yield path;
    }
  }
}

const literal = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const caseMark = /\[(tables|http-api|http|queue-api|queue-agent|flow) (\d+)\]/g;

/** `set number` → tests that carry it. A test that never runs does not count. */
function namedCases() {
  const named = new Map();
  for (const folder of ["packages", "tests"]) {
    for (const path of filesUnder(join(root, folder))) {
      if (!path.endsWith(".test.ts")) {
        continue;
      }
      const text = readFileSync(path, "utf8").replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
      for (const match of text.matchAll(literal)) {
        const title = match[0].slice(1, -1).replace(/\\(.)/g, "$1");
        const before = text.slice(Math.max(0, match.index - 40), match.index);
        if (/\.(?:skip|todo|fails)\(\s*$/.test(before)) {
          continue;
        }
        for (const [, setName, number] of title.matchAll(caseMark)) {
          const set = setName === "http-api" ? "http" : setName;
          const file = relative(root, path);
          if (Number(number) < 1 || Number(number) > sets.get(set)) {
            problems.push(`${file}: there is no case [${setName} ${number}]`);
            continue;
          }
          const key = `${set} ${Number(number)}`;
          const own = title.replace(/\[[a-z-]+ \d+\]\s*/g, "").trim();
          const tests = named.get(key) ?? [];
          if (!tests.some((test) => test.file === file && test.title === own)) {
            tests.push({ file, title: own });
          }
          named.set(key, tests);
        }
      }
    }
  }
  for (const tests of named.values()) {
    tests.sort((a, b) => a.file.localeCompare(b.file) || a.title.localeCompare(b.title));
  }
  return named;
}

/** `1–3, 7` → 1, 2, 3, 7 */
function numbersOf(text) {
  return text.split(",").flatMap((part) => {
    const [first, last] = part
      .trim()
      .split(/[–-]/)
      .map((number) => Number(number));
    return Array.from({ length: (last ?? first) - first + 1 }, (_, index) => first + index);
  });
}

function blockOf(set) {
  return new RegExp(`(<!-- cases: ${set} -->\\n)([\\s\\S]*?)(<!-- end of cases -->)`);
}

/** The lines of one table: number → state and text. */
function readTable(set, text) {
  const block = blockOf(set).exec(text);
  const lines = new Map();
  if (block === null) {
    problems.push(`docs/compatibility.md: no table of [${set} N]`);
    return lines;
  }
  for (const line of block[2].split("\n")) {
    const match = /^\| ([\d–, -]+) \| ([a-z ]+) \| (.*) \|$/.exec(line.trim());
    if (match === null) {
      continue;
    }
    const [, numbers, state, content] = match;
    if (!states.includes(state)) {
      problems.push(`docs/compatibility.md: [${set} ${numbers}] has the unknown state "${state}"`);
    }
    for (const number of numbersOf(numbers)) {
      if (lines.has(number)) {
        problems.push(`docs/compatibility.md: [${set} ${number}] is listed twice`);
      }
      lines.set(number, { state, content });
    }
  }
  return lines;
}

/** Title and file as a cell: no character of a table or of code marks inside. */
function cellOf(tests) {
  return tests
    .map(({ file, title }) => {
      const shown = title.replaceAll("|", "/").replaceAll("<", "&lt;").replaceAll("*", "\\*");
      return shown === "" || shown === "%s" ? `\`${file}\`` : `${shown} (\`${file}\`)`;
    })
    .join("; ");
}

function writeTable(set, lines) {
  const rows = [];
  for (const [number, { state, content }] of [...lines].sort(([a], [b]) => a - b)) {
    const last = rows.at(-1);
    if (last !== undefined && last.last === number - 1 && last.state === state && last.content === content) {
      last.last = number;
    } else {
      rows.push({ first: number, last: number, state, content });
    }
  }
  const body = rows.map(({ first, last, state, content }) => {
    const numbers = first === last ? `${first}` : `${first}–${last}`;
    return `| ${numbers} | ${state} | ${content} |\n`;
  });
  return `| ${set} | State | Test, reason, or what it waits for |\n| --- | --- | --- |\n${body.join("")}`;
}

function countsOf(lines) {
  const counts = Object.fromEntries(states.map((state) => [state, 0]));
  for (const { state } of lines.values()) {
    counts[state]++;
  }
  return counts;
}

function checkTable(set, lines, named, work) {
  for (let number = 1; number <= sets.get(set); number++) {
    const line = lines.get(number);
    const tests = named.get(`${set} ${number}`);
    const name = `[${set} ${number}]`;
    if (line === undefined) {
      problems.push(`docs/compatibility.md: ${name} is not listed`);
    } else if ((line.state === "done" || line.state === "part") && tests === undefined) {
      problems.push(`docs/compatibility.md: ${name} is "${line.state}", but no test names it`);
    } else if (line.state === "not yet" && tests !== undefined) {
      problems.push(`docs/compatibility.md: ${name} is "not yet", but ${tests[0].file} names it`);
    }
    if (
      (line?.state === "not yet" || line?.state === "part") &&
      !work.some((title) => line.content.includes(title))
    ) {
      problems.push(`docs/compatibility.md: ${name} does not say what it waits for`);
    }
  }
}

/** `path`: "title" anywhere in the documents. */
function checkReferences() {
  for (const name of readdirSync(join(root, "docs"))) {
    if (!name.endsWith(".md")) {
      continue;
    }
    const text = readFileSync(join(root, "docs", name), "utf8");
    for (const [, path, title] of text.matchAll(/`([\w./-]+\.(?:ts|mjs|py))`: "([^"\n]+)"/g)) {
      if (!existsSync(join(root, path))) {
        problems.push(`docs/${name}: there is no ${path}`);
      } else if (!readFileSync(join(root, path), "utf8").includes(title)) {
        problems.push(`docs/${name}: ${path} has no "${title}"`);
      }
    }
  }
}

const named = namedCases();
let text = readFileSync(compatibilityFile, "utf8");
const work = [...text.matchAll(/^\| «([^»]+)» \|/gm)].map(([, title]) => `«${title}»`);
const summary = [];

for (const set of sets.keys()) {
  const lines = readTable(set, text);
  if (process.argv.includes("--write")) {
    for (let number = 1; number <= sets.get(set); number++) {
      const tests = named.get(`${set} ${number}`);
      const line = lines.get(number);
      if (tests !== undefined && (line === undefined || line.state === "done" || line.state === "not yet")) {
        lines.set(number, { state: "done", content: cellOf(tests) });
      }
    }
    text = text.replace(blockOf(set), (_, start, __, end) => `${start}${writeTable(set, lines)}${end}`);
  }
  checkTable(set, lines, named, work);
  summary.push({ set, counts: countsOf(lines) });
}

const counted = summary.map(
  ({ set, counts }) => `| ${[set, sets.get(set), ...states.map((state) => counts[state])].join(" | ")} |\n`,
);
const countTable = `| Cases | Number | ${states.join(" | ")} |\n| --- | --- | --- | --- | --- | --- |\n${counted.join("")}`;
const countBlock = /(<!-- counts -->\n)([\s\S]*?)(<!-- end of counts -->)/;
if (process.argv.includes("--write")) {
  text = text.replace(countBlock, (_, start, __, end) => `${start}${countTable}${end}`);
  writeFileSync(compatibilityFile, text);
} else if (countBlock.exec(text)?.[2] !== countTable) {
  problems.push(
    "docs/compatibility.md: the counts are not those of its tables; run scripts/check-coverage.mjs --write",
  );
}
checkReferences();

for (const { set, counts } of summary) {
  console.log(`${set}: ${states.map((state) => `${counts[state]} ${state}`).join(", ")}`);
}
for (const problem of problems) {
  console.error(problem);
}
process.exitCode = problems.length === 0 ? 0 : 1;
