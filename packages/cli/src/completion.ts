/** Completion of commands and options for shells: plain lists, so that nothing has to run while one types. */
import { namesOf } from "./help.ts";
import type { OwnCommand } from "./own-command.ts";
import { optionsOf } from "./yt/argument.ts";
import type { YtCommand } from "./yt/command.ts";
import { commonArguments, globalArguments, ytFamilies } from "./yt/table.ts";

export const shells = ["bash", "zsh", "fish"] as const;

type Shell = (typeof shells)[number];

interface Completed {
  readonly names: readonly string[];
  readonly summary: string;
  readonly options: readonly { readonly spelling: string; readonly help: string }[];
}

export function completionScript(shell: Shell, ownCommands: readonly OwnCommand[]): string {
  const commands = completedCommands(ownCommands);
  switch (shell) {
    case "bash":
      return bashScript(commands);
    case "zsh":
      return zshScript(commands);
    case "fish":
      return fishScript(commands);
  }
}

function completedCommands(ownCommands: readonly OwnCommand[]): readonly Completed[] {
  const own = ownCommands.map(({ name, summary }) => ({ names: [name], summary, options: [] }));
  const others = ytFamilies.flatMap(({ commands }) =>
    commands.map((command) => ({
      names: namesOf(command),
      summary: command.summary,
      options: optionsOfCommand(command),
    })),
  );
  return [...own, ...others];
}

function optionsOfCommand(command: YtCommand): Completed["options"] {
  return [...command.arguments, ...commonArguments, ...globalArguments].flatMap((argument) =>
    [...optionsOf(argument), ...(argument.off ?? [])].map((spelling) => ({ spelling, help: argument.help })),
  );
}

function bashScript(commands: readonly Completed[]): string {
  const cases = commands
    .filter(({ options }) => options.length > 0)
    .map(
      ({ names, options }) =>
        `    ${names.join("|")}) words="${options.map(({ spelling }) => spelling).join(" ")} --help" ;;`,
    );
  const names = commands.flatMap((command) => command.names).join(" ");
  return `# Completion of qyt for bash: source <(qyt completion bash)
_qyt() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" index words
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
    --proxy | --prefix | --config | --tx | --tls-ca) ((index++)) ;;
    -*) ;;
    *)
      command="\${COMP_WORDS[index]}"
      break
      ;;
    esac
  done
  case "$command" in
    "") words="${names} --help --version --proxy --prefix --config --tx" ;;
${cases.join("\n")}
    *) words="--help" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _qyt qyt
`;
}

function zshScript(commands: readonly Completed[]): string {
  const described = commands.flatMap(({ names, summary }) =>
    names.map((name) => `    ${quoted(`${name}:${summary}`)}`),
  );
  const cases = commands
    .filter(({ options }) => options.length > 0)
    .map(({ names, options }) => {
      const words = options.map(({ spelling, help }) => quoted(`${spelling}:${help}`)).join(" ");
      return `    ${names.join("|")}) options=(${words}) ;;`;
    });
  return `#compdef qyt
# Completion of qyt for zsh: qyt completion zsh > "\${fpath[1]}/_qyt"
_qyt() {
  local -a commands options
  commands=(
${described.join("\n")}
  )
  local command="" word skip=0
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    if ((skip)); then skip=0; continue; fi
    case "$word" in
    --proxy|--prefix|--config|--tx|--tls-ca) skip=1 ;;
    -*) ;;
    *) command="$word"; break ;;
    esac
  done
  if [[ -z "$command" ]]; then
    _describe 'command' commands
    return
  fi
  case "$command" in
${cases.join("\n")}
  esac
  _describe 'option' options || _files
}
if [[ "\${funcstack[1]}" == _qyt ]]; then _qyt "$@"; else compdef _qyt qyt; fi
`;
}

function fishScript(commands: readonly Completed[]): string {
  const lines = ["# Completion of qyt for fish: qyt completion fish > ~/.config/fish/completions/qyt.fish"];
  for (const { names, summary, options } of commands) {
    for (const name of names) {
      lines.push(`complete -c qyt -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`);
    }
    for (const { spelling, help } of options) {
      const form = spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : fishShort(spelling);
      const condition = quoted(`__fish_seen_subcommand_from ${names.join(" ")}`);
      lines.push(`complete -c qyt -n ${condition} ${form} -d ${quoted(help)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** `-r`, or an old long option with one hyphen such as `-name`. */
function fishShort(spelling: string): string {
  return spelling.length === 2 ? `-s ${spelling.slice(1)}` : `-o ${spelling.slice(1)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", `'\\''`)}'`;
}
