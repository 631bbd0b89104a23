/**
 * The `qyt` command: options in, one sentence or an error's tree out when something fails. It loads what the command
 * at hand needs and nothing else, so that a command starts fast.
 */
import { version } from "./version.ts";

/** Runs one command line and sets the exit code. Does not throw. */
export async function main(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2);
  const first = words[0];
  if (first === "--version") {
    process.stdout.write(`${version}\n`);
    return;
  }
  const { ownCommands } = await import("./own-commands.ts");
  const own = ownCommands.find(({ name }) => name === first);
  if (own !== undefined) {
    await runOwn(own.load, argv);
    return;
  }
  const { runLine } = await import("./line.ts");
  process.exitCode = await runLine(words, process.env);
}

/** Runs a command that `yt` does not have. */
async function runOwn(
  load: () => Promise<import("commander").Command>,
  argv: readonly string[],
): Promise<void> {
  const [{ Command }, command] = await Promise.all([import("commander"), load()]);
  const program = new Command("qyt")
    .helpCommand(false)
    .showSuggestionAfterError()
    .addCommand(command.showHelpAfterError(`(qyt ${command.name()} --help shows the options)`));
  try {
    await program.parseAsync(argv);
  } catch (thrown) {
    const { sentence } = await import("./error-text.ts");
    process.stderr.write(`qyt: ${sentence(thrown)}\n`);
    process.exitCode = 1;
  }
}
