import { Argument, type Command } from 'commander';
import { printLine } from '../output.js';

/**
 * The words that may follow on a line, by the words before them: '' for none, then for example "keys" or "policies
 * plan".
 */
type Words = ReadonlyMap<string, readonly string[]>;

const SCRIPTS = { bash, fish, zsh } as const;

export function addCompletionCommand(program: Command): void {
  const shells = new Argument('<shell>').choices(Object.keys(SCRIPTS));
  program
    .command('completion')
    .description('print a script that completes commands and options: put source <(gov completion bash) into ~/.bashrc')
    .addArgument(shells)
    .action((shell: keyof typeof SCRIPTS) => printLine(SCRIPTS[shell](wordsOf(program))));
}

function wordsOf(command: Command, path: readonly string[] = []): Words {
  const commands = command.commands.map((child) => child.name());
  const options = command.options.map(({ long }) => long).filter((name) => name !== undefined);
  const own = [path.join(' '), [...commands, ...options, '--help']] as const;
  return new Map([own, ...command.commands.flatMap((child) => [...wordsOf(child, [...path, child.name()])])]);
}

function bash(words: Words): string {
  const cases = [...words].map(([path, next]) => `    '${path}') next='${next.join(' ')}' ;;`);
  return `_gov() {
  local path='' word next='' here="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  # Arguments are not commands: the words before them count.
  while :; do
    case "$path" in
${cases.map((line) => `  ${line}`).join('\n')}
      *' '*) path="\${path% *}"; continue ;;
      *) path=''; continue ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$next" -- "$here"))
}
complete -o default -F _gov gov`;
}

function zsh(words: Words): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(words)}`;
}

function fish(words: Words): string {
  const lines = [...words].flatMap(([path, next]) => {
    const condition =
      path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1) ?? ''}`;
    return next.map((word) =>
      word.startsWith('--')
        ? `complete -c gov -n '${condition}' -l ${word.slice(2)}`
        : `complete -c gov -f -n '${condition}' -a ${word}`,
    );
  });
  return lines.join('\n');
}
