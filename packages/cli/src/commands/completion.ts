/** `qyt completion`: a script for the shell, made from the tables of commands. */
import { YtError } from "@qyt/base";
import { Command } from "commander";
import { completionScript, shells } from "../completion.ts";
import type { OwnCommand } from "../own-command.ts";

const help = `
Examples:
  source <(qyt completion bash)                                        this bash
  qyt completion zsh > "\${fpath[1]}/_qyt"                              every zsh from now on
  qyt completion fish > ~/.config/fish/completions/qyt.fish            every fish from now on`;

export function completionCommand(ownCommands: readonly OwnCommand[]): Command {
  return new Command("completion")
    .description("Print what a shell needs to complete command lines.")
    .argument("<shell>", shells.join(", "))
    .addHelpText("after", help)
    .action((shell: string) => {
      const known = shells.find((name) => name === shell);
      if (known === undefined) {
        throw new YtError(`There is no completion for "${shell}": use ${shells.join(", ")}`);
      }
      process.stdout.write(completionScript(known, ownCommands));
    });
}
