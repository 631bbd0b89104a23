/** What `--help` prints, made from the tables of commands. */
import type { OwnCommand } from "./own-command.ts";
import { type Argument, optionsOf } from "./yt/argument.ts";
import type { YtCommand, YtFamily } from "./yt/command.ts";
import { commonArguments, globalArguments } from "./yt/table.ts";

const nameWidth = 34;

export const exitCodes: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "done"],
  ["1", "refused or failed; standard error says why and what to do"],
  ["2", "the command line could not be read"],
];

/** Of the program. */
export function generalHelp(families: readonly YtFamily[], own: readonly OwnCommand[]): string {
  const lines = [
    "usage: qyt <command> [arguments] [options]",
    "",
    "Durable transactional queues with the YTsaurus API.",
    "",
    "Clusters:",
    ...own.map(({ name, summary }) => row(name, summary)),
  ];
  for (const { title, commands } of families) {
    lines.push("", `${title} (as the command \`yt\` has them):`);
    lines.push(...commands.map((command) => row(namesOf(command).join(", "), command.summary)));
  }
  lines.push(
    "",
    "Options of these:",
    ...globalArguments.map((argument) => row(signatureOf(argument), argument.help)),
    row("--version", "print the version"),
    "",
    "Examples:",
    "  qyt up --cluster pythia --cluster freud     start two clusters",
    "  qyt --proxy pythia list //tmp               list a directory of one of them",
    "  qyt get --help                              all arguments of a command",
    "",
    "Exit codes:",
    ...exitCodes.map(([code, meaning]) => `  ${code}  ${meaning}`),
  );
  return `${lines.join("\n")}\n`;
}

/** Of a command that `yt` has. */
export function commandHelp(command: YtCommand): string {
  const places = command.arguments.filter(({ place }) => place !== "option");
  const options = [...command.arguments.filter(({ place }) => place === "option"), ...commonArguments];
  const lines = [`usage: ${usageOf(command)}`, "", command.summary];
  if (command.details !== undefined) {
    lines.push(command.details);
  }
  if (command.aliases !== undefined) {
    lines.push(`Also called ${command.aliases.join(", ")}.`);
  }
  if (places.length > 0) {
    lines.push("", "Arguments:", ...places.map((argument) => row(placeOf(argument), argument.help)));
  }
  lines.push("", "Options:", ...options.map((argument) => row(signatureOf(argument), optionHelp(argument))));
  lines.push("", "Options of every command:");
  lines.push(...globalArguments.map((argument) => row(signatureOf(argument), argument.help)));
  lines.push("", command.examples.length > 1 ? "Examples:" : "Example:");
  lines.push(...command.examples.map((example) => `  ${exampleLine(example)}`));
  return `${lines.join("\n")}\n`;
}

/** An example as one types it. */
export function exampleLine(example: string): string {
  return /(^|\| )(qyt|echo) /.test(example) ? example : `qyt ${example}`;
}

export function usageOf(command: YtCommand): string {
  const places = command.arguments
    .filter(({ place }) => place !== "option")
    .map((argument) => {
      const word = `<${argument.name}>${argument.repeat === undefined ? "" : "..."}`;
      return argument.required === true ? word : `[${word}]`;
    });
  const needed = command.arguments
    .filter(({ place, required }) => place === "option" && required === true)
    .map(signatureOf);
  return ["qyt", command.name, ...places, ...needed, "[options]"].join(" ");
}

export function namesOf(command: YtCommand): readonly string[] {
  return [command.name, ...(command.aliases ?? [])];
}

/** An option with what it takes, as in `--max-size <integer>`. */
export function signatureOf(argument: Argument): string {
  const spellings = [...optionsOf(argument), ...(argument.off ?? [])].join(", ");
  if (argument.type === "flag") {
    return spellings;
  }
  const dots = argument.repeat === "many" || argument.repeat === "some" ? "..." : "";
  return `${spellings} <${argument.choices?.join("|") ?? argument.type}>${dots}`;
}

export function optionHelp(argument: Argument): string {
  const notes = [
    ...(argument.required === true ? ["required"] : []),
    ...(argument.repeat === "append" ? ["may be repeated"] : []),
  ];
  return notes.length === 0 ? argument.help : `${argument.help} (${notes.join(", ")})`;
}

function placeOf(argument: Argument): string {
  return argument.place === "hybrid" ? `${argument.name}, ${signatureOf(argument)}` : argument.name;
}

function row(name: string, help: string): string {
  return name.length < nameWidth
    ? `  ${name.padEnd(nameWidth)}${help}`
    : `  ${name}\n  ${" ".repeat(nameWidth)}${help}`;
}
