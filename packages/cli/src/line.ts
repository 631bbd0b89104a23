/** A command line that is none of qyt's own commands: help, or a command of `yt`. */
import type { Environment } from "./cluster-address.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { ownCommands } from "./own-commands.ts";
import { closestName } from "./suggestions.ts";
import type { YtCommand } from "./yt/command.ts";
import { findYtCommand, globalArguments, mistakenNames, ytFamilies } from "./yt/table.ts";
import { UsageError, usageExitCode } from "./yt/usage-error.ts";
import { sortWords } from "./yt/words.ts";

/** Runs it. @returns the exit code */
export async function runLine(words: readonly string[], environment: Environment): Promise<number> {
  let command: YtCommand | undefined;
  try {
    const { uses, rest } = sortWords(words, globalArguments, "keep");
    const [name, ...others] = rest;
    if (name === undefined || name === "-h" || name === "--help" || name === "help") {
      return await showGeneralHelp(name !== undefined || words.length === 0 ? others[0] : undefined);
    }
    command = findYtCommand(name);
    if (command === undefined) {
      throw unknownCommand(name);
    }
    if (others.includes("--help") || others.includes("-h")) {
      await showHelp(command);
      return 0;
    }
    const { runYtCommand } = await import("./yt/run.ts");
    return await runYtCommand({ command, words: others, globals: uses }, environment, showHelp);
  } catch (thrown) {
    if (thrown instanceof UsageError) {
      const name = command === undefined ? "qyt" : `qyt ${command.name}`;
      process.stderr.write(`${name}: error: ${thrown.message}\n(${name} --help shows what it takes)\n`);
      return usageExitCode;
    }
    const { errorText } = await import("./error-text.ts");
    process.stderr.write(errorText(thrown));
    return 1;
  }
}

/** Of the program, or of the command that is named. */
async function showGeneralHelp(name: string | undefined): Promise<number> {
  const command = name === undefined ? undefined : findYtCommand(name);
  if (command !== undefined) {
    await showHelp(command);
  } else {
    process.stdout.write(generalHelp(ytFamilies, ownCommands));
  }
  return 0;
}

async function showHelp(command: YtCommand): Promise<void> {
  process.stdout.write(commandHelp(command));
}

function unknownCommand(name: string): UsageError {
  const meant = mistakenNames[name];
  if (meant !== undefined) {
    return new UsageError(`Use '${meant}' instead of '${name}'`);
  }
  const names = ytFamilies.flatMap(({ commands }) =>
    commands.flatMap((each) => [each.name, ...(each.aliases ?? [])]),
  );
  const closest = closestName(name, [...names, ...ownCommands.map((own) => own.name)]);
  return new UsageError(
    `unknown command '${name}'${closest === undefined ? "" : `\n(Did you mean ${closest}?)`}`,
  );
}
