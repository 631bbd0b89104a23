// Writes the pages that are made from tables of the program: docs/errors.md from the codes and their
// descriptions in @qyt/base, docs/commands.md from the command table of @qyt/server, docs/cli-reference.md from the
// tables of the command line. Run it after a build:
//   npm run build && node scripts/generate-docs.mjs
// tests/guides/generated.test.ts compares the pages with the tables of the sources.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A cell: one line, with what would end it escaped, and links where pages are named. */
function cell(text) {
  const oneLine = text.replaceAll("|", "\\|").replaceAll("\n", " ");
  return oneLine.replace(/\b(clusters|limits|queues)\.md\b/g, "[$&]($&)");
}

/** The page of error codes. */
export function renderErrors({ errorCodes, errorDescriptions, errorAreas }) {
  const names = Object.keys(errorCodes).sort((a, b) => errorCodes[a] - errorCodes[b]);
  const lines = [
    "# Errors",
    "",
    "<!-- Made by scripts/generate-docs.mjs from packages/base/src/error-descriptions*.ts. Change it there. -->",
    "",
    "An error is a tree: code, message, attributes and inner errors. A refused command is answered with HTTP status",
    "400 (401 and 403 for authentication, 404 for an unknown command, 503 when there is too much to do, 500 for a",
    "defect of qyt), with the tree in JSON in the header `X-YT-Error` and in the body, and the code on top in",
    "`X-YT-Response-Code`. An error that comes up when rows are being sent already stands in the trailer",
    "`X-YT-Error`. Decide by the code, and look for it in the whole tree: an outer error often only says where it",
    "happened. Messages are for people and may change.",
    "",
    "Codes are those of YTsaurus. The first part has those that qyt raises; the second names the others, which a",
    "client may meet at a real cluster.",
    "",
    "## Raised by qyt",
    "",
  ];
  const inArea = (area, index) => (name) =>
    errorCodes[name] >= area.from &&
    (errorAreas[index + 1] === undefined || errorCodes[name] < errorAreas[index + 1].from);
  for (const [index, area] of errorAreas.entries()) {
    const described = names
      .filter(inArea(area, index))
      .filter((name) => errorDescriptions[name] !== undefined);
    if (described.length > 0) {
      lines.push(`### ${area.title}`, "", "| Code | Name | Meaning | Common cause | What to do |");
      lines.push("| --- | --- | --- | --- | --- |");
      for (const name of described) {
        const { meaning, cause, remedy } = errorDescriptions[name];
        lines.push(`| ${errorCodes[name]} | ${name} | ${cell(meaning)} | ${cell(cause)} | ${cell(remedy)} |`);
      }
      lines.push("");
    }
  }
  lines.push("## Codes of YTsaurus that qyt does not raise", "", "| Area | Codes |", "| --- | --- |");
  for (const [index, area] of errorAreas.entries()) {
    const others = names.filter(inArea(area, index)).filter((name) => errorDescriptions[name] === undefined);
    if (others.length > 0) {
      lines.push(`| ${area.title} | ${others.map((name) => `${errorCodes[name]} ${name}`).join(", ")} |`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The page of commands. */
export function renderCommands(commands) {
  const sorted = [...commands].sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = [
    "# Commands",
    "",
    "<!-- Made by scripts/generate-docs.mjs from the command table of packages/server/src/driver. Change it there. -->",
    "",
    "Every command of the HTTP API: `/api/v4/NAME` and, where it says so, `/api/v3/NAME`. `GET /api/v4` lists them",
    "too. Parameters are one map: from the query string, from the header `X-YT-Parameters` (JSON, or as",
    "`X-YT-Header-Format` says) and, where the input is `null`, from the body of a POST (YSON, or as `Content-Type`",
    "says); later ones win. Unknown parameters are ignored. How a queue command behaves is in",
    "[queues.md](queues.md), what may go wrong in [errors.md](errors.md).",
    "",
    "Every command also takes `transaction_id` (guid; none: `0-0-0-0` or absent), `timeout` (duration: how long the",
    "caller waits, see [clusters.md](clusters.md)), `mutation_id` (guid: a repeat of a light changing command with",
    "the same id gets the first answer), `retry` (boolean, sent with it), `input_format` and `output_format` (`yson`",
    "or `json` and others, possibly with attributes).",
    "",
    "Kinds: `path` is a rich path, as text or as a string with attributes; `duration` is a number of milliseconds or",
    "a text such as `5s`; `instant` is a number of milliseconds since 1970 or an ISO 8601 text; `any` is any value.",
    "Booleans may be given as the strings `true` and `false`.",
    "",
    "| Command | Versions | Input | Output | Changes | Summary |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  for (const command of sorted) {
    const { inputType, outputType, isVolatile } = command.descriptor(command.versions.at(-1));
    lines.push(
      `| [\`${command.name}\`](#${command.name}) | ${command.versions.map((version) => `v${version}`).join(", ")} | ${inputType} | ${outputType} | ${isVolatile ? "yes" : "no"} | ${cell(command.summary)} |`,
    );
  }
  for (const command of sorted) {
    lines.push("", ...renderCommand(command));
  }
  return `${lines.join("\n")}\n`;
}

function renderCommand(command) {
  const version = command.versions.at(-1);
  const { inputType, isVolatile, isHeavy, outputType } = command.descriptor(version);
  const verb = inputType !== "null" ? "PUT" : isVolatile ? "POST" : "GET";
  const facts = [`${verb}; input ${inputType}, output ${outputType}`];
  for (const other of command.versions.slice(0, -1)) {
    const differing = command.descriptor(other).outputType;
    if (differing !== outputType) {
      facts.push(`output in v${other}: ${differing}`);
    }
  }
  if (isHeavy) {
    facts.push("heavy");
  }
  if (command.aliases.length > 0) {
    facts.push(`also called ${command.aliases.map((alias) => `\`${alias}\``).join(", ")}`);
  }
  facts.push(`API ${command.versions.map((each) => `v${each}`).join(" and ")}`);
  const lines = [
    `## ${command.name}`,
    "",
    command.summary,
    "",
    `${facts.join("; ")}. Access: ${command.accessText}.`,
  ];
  const parameters = Object.entries(command.parameters);
  if (parameters.length > 0) {
    lines.push("", "| Parameter | Kind | Default |", "| --- | --- | --- |");
    for (const [name, schema] of parameters) {
      const { kind = "any", optional = false, default: fallback } = schema.meta() ?? {};
      const shown = fallback === undefined ? (optional ? "none" : "required") : `\`${printed(fallback)}\``;
      lines.push(`| \`${name}\` | ${kind} | ${shown} |`);
    }
  }
  return lines;
}

/** A default as one would write it in YSON. */
function printed(value) {
  if (typeof value === "boolean") {
    return `%${value}`;
  }
  if (value === null) {
    return "#";
  }
  if (value instanceof Map) {
    return `{${[...value].map(([key, item]) => `${key}=${printed(item)}`).join(";")}}`;
  }
  if (Array.isArray(value)) {
    return `[${value.map(printed).join(";")}]`;
  }
  return String(value);
}

/** The page of the command line. */
export function renderCli(cli) {
  const { ytFamilies, globalArguments, commonArguments, exitCodes } = cli;
  const lines = [
    "# The command line: reference",
    "",
    "<!-- Made by scripts/generate-docs.mjs from the tables of packages/cli/src. Change it there. -->",
    "",
    "`qyt COMMAND --help` prints the same. [cli.md](cli.md) is the guide; `qyt --help` names the commands that `yt` does",
    "not have.",
    "",
    "## Commands of `yt`",
    "",
    "Names, arguments, formats, input and output are those of the command `yt`. An argument that stands by its place may",
    "also be given by its option. Options may stand anywhere, be cut short while they are clear (`--part 0`), and be",
    "written `--name=value`. Each command also takes:",
    "",
    ...argumentTable([...globalArguments, ...commonArguments], cli),
    "",
    "| Exit code | Meaning |",
    "| --- | --- |",
    ...exitCodes.map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`),
  ];
  for (const { title, commands } of ytFamilies) {
    lines.push("", `## ${title}`);
    for (const command of commands) {
      lines.push("", `### ${cli.namesOf(command).join(", ")}`, "", command.summary);
      if (command.details !== undefined) {
        lines.push(command.details);
      }
      lines.push("", "```sh", cli.usageOf(command), "```");
      if (command.arguments.length > 0) {
        lines.push("", ...argumentTable(command.arguments, cli));
      }
      lines.push("", "```sh", ...command.examples.map(cli.exampleLine), "```");
    }
  }
  return `${lines.join("\n")}\n`;
}

function argumentTable(all, { signatureOf, optionHelp }) {
  const rows = all.map((argument) => {
    const place = argument.place === "option" ? [] : [`\`${argument.name}\``];
    const option = argument.place === "positional" ? [] : [`\`${cell(signatureOf(argument))}\``];
    const help = argument.place === "option" ? optionHelp(argument) : argument.help;
    return `| ${[...place, ...option].join(" or ")} | ${cell(help)} |`;
  });
  return ["| Argument | Meaning |", "| --- | --- |", ...rows];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [base, server, cli] = await Promise.all([
    import("@qyt/base"),
    import("@qyt/server"),
    import("qyt/reference"),
  ]);
  const pages = {
    "errors.md": renderErrors(base),
    "commands.md": renderCommands(server.allCommands),
    "cli-reference.md": renderCli(cli),
  };
  for (const [name, text] of Object.entries(pages)) {
    writeFileSync(new URL(`../docs/${name}`, import.meta.url), text);
    console.error(`docs/${name}`);
  }
}
