import type { Command, CommanderError } from 'commander';
import { meantText } from './similar-names.js';

/** A similar word that the parser found, in its message about an unknown command or option. */
const SIMILAR = /\(Did you mean (.*)\?\)$/;
const QUOTED_OPTION = /'(.*?)'/s;

/**
 * Returns a sentence about a wrong command line, and the command that describes the right one.
 * @param words the command line without the program.
 */
export function commandLineFault(
  { code, message }: CommanderError,
  program: Command,
  words: readonly string[],
): string {
  const { command, next } = findCommand(program, words);
  const path = commandPath(command);
  const help = ` Its use: ${path} ${command.usage()}. More: ${path} --help`;
  const option = QUOTED_OPTION.exec(message)?.[1] ?? '';
  switch (code) {
    case 'commander.unknownCommand':
    case 'commander.excessArguments':
      return command.commands.length > 0 && next !== undefined
        ? unknownCommandText(command, next, SIMILAR.exec(message)?.[1])
        : `${path} takes ${argumentsText(command)}.${help}`;
    case 'commander.missingArgument':
      return `${path} needs <${option}>.${help}`;
    case 'commander.missingMandatoryOptionValue':
      return `${path} needs ${option}.${help}`;
    case 'commander.optionMissingArgument':
      return `The option ${option} of ${path} needs a value.${help}`;
    case 'commander.unknownOption':
      return `${path} has no option ${option}.${similarText(SIMILAR.exec(message)?.[1])}${help}`;
    default:
      return message.replace(/^error: (.)/, (_, first: string) => first.toUpperCase());
  }
}

/** Finds the command that the words name, and the first word after it that is not an option. */
function findCommand(program: Command, words: readonly string[]): { command: Command; next: string | undefined } {
  let command = program;
  for (const word of words) {
    if (word.startsWith('-')) continue;
    const child = command.commands.find((subcommand) => subcommand.name() === word);
    if (child === undefined) return { command, next: word };
    command = child;
  }
  return { command, next: undefined };
}

function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}

function unknownCommandText(command: Command, word: string, similar: string | undefined): string {
  const path = commandPath(command);
  const names = command.commands.map((child) => child.name());
  const suggestion = similar === undefined ? meantText(word, names) : similarText(similar);
  const record = word === 'show' ? ' One record by its id: gov show <id>.' : '';
  const listed = command.parent === null ? '' : ` It has ${names.join(', ')}.`;
  return `${path} has no command "${word}".${suggestion}${record}${listed} More: ${path} --help`;
}

function similarText(similar: string | undefined): string {
  return similar === undefined ? '' : ` Did you mean ${similar}?`;
}

function argumentsText({ registeredArguments }: Command): string {
  const names = registeredArguments.map((argument) => `<${argument.name()}>`);
  return names.length === 0 ? 'no arguments, only options' : `only ${names.join(' ')}`;
}
