import { type Command, InvalidArgumentError } from 'commander';
import { printError, printLine, shownJson } from '../output.js';
import { type PrincipalOptions, withPrincipalOptions } from '../principal-options.js';
import { shownMessage } from '../settings.js';
import { withDigestOption } from '../large-values.js';
import { answerClaudeCode, type HookOptions } from './claude-code.js';

/** Exit code with which a hook blocks a tool call; any other code would let it proceed. */
const BLOCKED = 2;
/** Words that tell the command line of a hook, even one whose command is misspelt. */
const WORDS = ['hook', 'claude-code'];
/** Time limit in seconds. A hook that exceeds the limit of Claude Code, 60 by default, does not block. */
const TIMEOUT = 45;

/**
 * The command line of the hook. Claude Code runs the tool after any exit code except 2, also if gov is missing, or was
 * killed before it could say anything.
 */
const COMMAND = 'gov hook claude-code || exit 2';
const EVENTS = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'];

const AFTER_THE_TOOL = /"hook_event_name"\s*:\s*"PostToolUse/;

/** True for a hook's command line, even if misspelt: not one of `commands`, but with the word hook. */
export function isHookLine(words: readonly string[], commands: readonly string[]): boolean {
  const command = words.find((word) => !word.startsWith('-')) ?? '';
  return command === 'hook' || (!commands.includes(command) && words.some((word) => WORDS.includes(word)));
}

/** Blocks the tool if the hook ends by an error or a signal. */
export function blockFailures(): void {
  process.on('exit', (code) => {
    if (code !== 0) process.exitCode = BLOCKED;
  });
}

interface HookCommandOptions extends HookOptions, PrincipalOptions {
  readonly timeout: number;
}

export function addHookCommand(program: Command): void {
  const hook = program.command('hook').description('answer agents that ask a program before they use a tool');
  const command = hook
    .command('claude-code')
    .description('a hook of Claude Code: PreToolUse checks the policies, PostToolUse and PostToolUseFailure report')
    .option('--map <file>', 'JSON that says how tools become actions and resources');
  withPrincipalOptions(withDigestOption(command))
    .option(
      '--timeout <seconds>',
      "block if there is no answer by then; less than the hook's own timeout",
      seconds,
      TIMEOUT,
    )
    .addHelpText(
      'after',
      `\nIn .claude/settings.json, with || exit 2, so that a gov that is missing or killed blocks, too:\n${settings()}`,
    )
    .action(async ({ map, timeout, digestAbove, ...forWhom }: HookCommandOptions) => {
      const event = { text: '' };
      blockAfter(timeout, event);
      try {
        event.text = await standardInput();
        const answer = await answerClaudeCode(event.text, { map, digestAbove }, forWhom);
        if (answer !== null) printLine(shownJson(answer));
      } catch (error) {
        // A call that was not authorised must not run, whatever the error is.
        printError(shownMessage(error));
        process.exitCode = BLOCKED;
      }
    });
}

/** Returns the settings of Claude Code that install the hook. */
function settings(): string {
  const entry = [{ matcher: '*', hooks: [{ type: 'command', command: COMMAND }] }];
  return JSON.stringify({ hooks: Object.fromEntries(EVENTS.map((name) => [name, entry])) }, null, 2);
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const part of process.stdin.setEncoding('utf8')) text += String(part);
  return text;
}

/** Ends the hook at its time limit, for example if a service accepts the request and never answers. */
function blockAfter(timeout: number, event: { readonly text: string }): void {
  setTimeout(() => {
    const consequence = AFTER_THE_TOOL.test(event.text)
      ? 'so the result of the tool is not on record yet. It is kept, and reported after the next tool. Do not repeat the action.'
      : 'so the tool does not run. Whether a handler of the service carried the action out is not known.';
    printError(`The governance service does not answer within ${timeout} seconds, ${consequence}`);
    process.exit(BLOCKED);
  }, timeout * 1_000).unref();
}

function seconds(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a number of seconds from 1 to 999.');
}
