/** The `qyt` command: options in, one sentence out when something fails. */
import { toYtError } from "@qyt/base";
import { Command } from "commander";
import { aclCommand } from "./commands/acl.ts";
import { checkCommand } from "./commands/check.ts";
import { queueAgentCommand } from "./commands/queue-agent.ts";
import { upCommand } from "./commands/up.ts";
import { sentence } from "./up/run.ts";
import { version } from "./version.ts";

const help = `
Example:
  qyt up --cluster pythia --cluster freud     start two clusters
  qyt up --help                               all options of a command`;

/** Runs one command line and sets the exit code. Does not throw. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command("qyt")
    .description("Durable transactional queues with the YTsaurus API.")
    .version(version, "--version", "print the version")
    .helpCommand(false)
    .showSuggestionAfterError()
    .addHelpText("after", help);
  for (const command of [upCommand(), queueAgentCommand(), checkCommand(), aclCommand()]) {
    program.addCommand(command.showHelpAfterError(`(qyt ${command.name()} --help shows the options)`));
  }
  try {
    await program.parseAsync(argv);
  } catch (thrown) {
    process.stderr.write(`qyt: ${sentence(toYtError(thrown))}\n`);
    process.exitCode = 1;
  }
}
