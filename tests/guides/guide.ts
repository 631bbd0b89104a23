/**
 * A guide as a program: the fenced snippets of a Markdown page, run one after the other against real
 * clusters, and what the page prints as their output.
 *
 * A fence in `bash`, `python` or `typescript` is a snippet; a fence in `text` right after it is what it
 * prints. A fence in `yson` with a name behind the language is a file of that name. Any other fence is for
 * reading only.
 */
import { readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  freePort,
  type ProgramAnswer,
  runProgram,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";
import ts from "typescript";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

type Language = "bash" | "python" | "typescript";

export interface Snippet {
  readonly language: Language;
  readonly text: string;
  /** What the page says that it prints; absent: it does not say. */
  readonly output: string | undefined;
  /** Of the snippet in the page, from 1. */
  readonly line: number;
}

export interface GuideFile {
  readonly name: string;
  readonly text: string;
}

export interface Guide {
  readonly snippets: readonly Snippet[];
  readonly files: readonly GuideFile[];
}

export function readGuide(page: string): Guide {
  return parseGuide(readFileSync(join(root, "docs", page), "utf8"));
}

export function parseGuide(markdown: string): Guide {
  const snippets: { language: Language; text: string; output: string | undefined; line: number }[] = [];
  const files: GuideFile[] = [];
  const fence = /^```(\w*)[ ]*(\S*)\n([\s\S]*?)^```$/gm;
  let lastEnd = 0;
  for (const match of markdown.matchAll(fence)) {
    const [whole, language = "", name = "", text = ""] = match;
    const isNext = markdown.slice(lastEnd, match.index).trim() === "";
    const last = snippets.at(-1);
    if (language === "bash" || language === "python" || language === "typescript") {
      const line = markdown.slice(0, match.index).split("\n").length + 1;
      snippets.push({ language, text, output: undefined, line });
    } else if (language === "text" && isNext && last !== undefined) {
      last.output = text;
    } else if (language === "yson" && name !== "") {
      files.push({ name, text });
    }
    lastEnd = match.index + whole.length;
  }
  return { snippets, files };
}

/**
 * Replaces what differs from run to run: object ids, and timestamps by the order in which different ones
 * appear, so that rows of one commit must share theirs.
 */
function masked(text: string): string {
  const timestamps = new Map<string, string>();
  return text
    .replace(/\b[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}\b/g, "ID")
    .replace(/\b\d{19}(?=[un]?\b)/g, (timestamp) => {
      const name = timestamps.get(timestamp) ?? `TIMESTAMP-${timestamps.size + 1}`;
      timestamps.set(timestamp, name);
      return name;
    })
    .trimEnd();
}

/** Where snippets run: a folder of their own, the real client, and the page's ports replaced by free ones. */
export class GuideRun {
  readonly folder: TemporaryDirectory;
  readonly #ports: ReadonlyMap<string, string>;

  private constructor(folder: TemporaryDirectory, ports: ReadonlyMap<string, string>) {
    this.folder = folder;
    this.#ports = ports;
  }

  /** `ports` are those that the page uses. */
  static async prepare(guide: Guide, ports: readonly number[]): Promise<GuideRun> {
    const folder = await temporaryDirectory("guide");
    const free = new Map<string, string>();
    for (const port of ports) {
      free.set(`127.0.0.1:${port}`, `127.0.0.1:${await freePort()}`);
    }
    const run = new GuideRun(folder, free);
    // The programs of the page find the packages of this checkout as they are built.
    await symlink(join(root, "node_modules"), join(folder.path, "node_modules"));
    for (const { name, text } of guide.files) {
      await writeFile(join(folder.path, name), run.toReal(text));
    }
    return run;
  }

  /** The page's addresses become the real ones. */
  toReal(text: string): string {
    return replaceAll(text, this.#ports);
  }

  /** The real addresses become the page's. */
  toPage(text: string): string {
    return replaceAll(text, new Map([...this.#ports].map(([page, real]) => [real, page])));
  }

  /** The variable by which clients find clusters by name, as the page has it. */
  get aliases(): string {
    const [first, second] = [...this.#ports.values()];
    return `{pythia="http://${first}"; freud="http://${second}"}`;
  }

  async run(snippet: Snippet): Promise<ProgramAnswer> {
    const text = this.toReal(snippet.text);
    const outcome = await this.#spawn(...(await this.#command(snippet.language, text)));
    return { ...outcome, stdout: this.toPage(outcome.stdout), stderr: this.toPage(outcome.stderr) };
  }

  async #command(language: Language, text: string): Promise<readonly [string, readonly string[]]> {
    switch (language) {
      case "bash":
        return ["bash", ["-e", "-o", "pipefail", "-c", text]];
      case "python":
        return [join(root, ".venvs/full/bin/python"), ["-c", text]];
      case "typescript": {
        const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
        const file = join(this.folder.path, "snippet.mjs");
        await writeFile(file, ts.transpileModule(text, { compilerOptions: options }).outputText);
        return [process.execPath, [file]];
      }
    }
  }

  async #spawn(command: string, args: readonly string[]): Promise<ProgramAnswer> {
    const home = join(this.folder.path, "home");
    await mkdir(home, { recursive: true });
    return runProgram(command, args, {
      cwd: this.folder.path,
      timeoutMs: 60_000,
      env: {
        // The commands of the page, where a test puts some, then the real client.
        PATH: [join(this.folder.path, "bin"), join(root, ".venvs/full/bin"), process.env["PATH"] ?? ""].join(
          delimiter,
        ),
        HOME: home,
        USER: "bob",
        LANG: "C.UTF-8",
        YT_PROXY_URL_ALIASING_CONFIG: this.aliases,
      },
    });
  }
}

/**
 * A test of each snippet, in order: what it prints is what the page says.
 * @param start starts the processes that the snippet starts, instead of running it; false when there are none
 */
export function testSnippets(
  guide: Guide,
  runOf: () => GuideRun,
  start: (snippet: Snippet) => Promise<boolean>,
): void {
  // Each builds on what those before it have made.
  let failed = false;
  it.each(guide.snippets)("line $line, $language", { timeout: 90_000 }, async (snippet) => {
    if (failed) {
      throw new Error("An earlier snippet failed");
    }
    failed = true;
    if (!(await start(snippet))) {
      const { exit, stdout, stderr } = await runOf().run(snippet);
      expect({ exit, stderr, stdout: masked(stdout) }).toEqual({
        exit: 0,
        stderr: "",
        stdout: masked(snippet.output ?? ""),
      });
    }
    failed = false;
  });
}

function replaceAll(text: string, replacements: ReadonlyMap<string, string>): string {
  let result = text;
  for (const [from, to] of replacements) {
    result = result.replaceAll(from, to);
  }
  return result;
}

/** The arguments of `npm start -- …`, when the snippet starts clusters. */
export function startArguments(snippet: Snippet): string[] | undefined {
  const match = /^npm start --(?<rest>( .*)?)$/m.exec(snippet.text);
  return match?.groups?.["rest"]?.trim().split(/\s+/);
}
