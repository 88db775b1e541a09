import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import { plainLines } from '../output.js';
import { answerClaudeCode } from './claude-code.js';

/** Exit code with which a hook blocks a tool call; any other code would let it proceed. */
const BLOCKED = 2;
/** Seconds: a hook that exceeds the time limit of Claude Code, 60 by default, does not block. */
const TIMEOUT = 45;

const AFTER_THE_TOOL = /"hook_event_name"\s*:\s*"PostToolUse/;

export function addHookCommand(program: Command): void {
  const hook = program.command('hook').description('for agents that ask a program before they use a tool');
  hook
    .command('claude-code')
    .description('a hook of Claude Code: PreToolUse asks the policies, PostToolUse and PostToolUseFailure report')
    .option('--map <file>', 'JSON that says how tools become actions and resources')
    .option(
      '--timeout <seconds>',
      "when to block for want of an answer; less than the hook's own timeout",
      seconds,
      TIMEOUT,
    )
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : BLOCKED, code, message);
    })
    .action(async ({ map, timeout }: { map?: string; timeout: number }) => {
      const event = { text: '' };
      blockAfter(timeout, event);
      try {
        event.text = await standardInput();
        const answer = await answerClaudeCode(event.text, map);
        if (answer !== null) process.stdout.write(`${JSON.stringify(answer)}\n`);
      } catch (error) {
        // Whatever the error, a call that was not authorised must not run.
        process.stderr.write(`${plainLines(error instanceof Error ? error.message : String(error))}\n`);
        process.exitCode = BLOCKED;
      }
    });
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const part of process.stdin.setEncoding('utf8')) text += String(part);
  return text;
}

/** Whatever it is waiting for, such as a service that accepts the request and never answers. */
function blockAfter(timeout: number, event: { readonly text: string }): void {
  setTimeout(() => {
    const consequence = AFTER_THE_TOOL.test(event.text)
      ? 'so what came of the tool is not on record yet. It is kept, and reported after the next tool. Do not repeat the action.'
      : 'so the tool does not run. Whether a handler of the service carried the action out is not known.';
    process.stderr.write(`The governance service does not answer within ${timeout} seconds, ${consequence}\n`);
    process.exit(BLOCKED);
  }, timeout * 1_000).unref();
}

function seconds(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a number of seconds, 1 to 999.');
}
