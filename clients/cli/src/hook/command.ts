import { type Command, CommanderError } from 'commander';
import { answerClaudeCode } from './claude-code.js';

/** What a hook ends with to block a tool call; every other code but 0 would let it go on. */
const BLOCKED = 2;

export function addHookCommand(program: Command): void {
  const hook = program.command('hook').description('for agents that ask a program before they use a tool');
  hook
    .command('claude-code')
    .description('a hook of Claude Code: PreToolUse asks the policies, PostToolUse and PostToolUseFailure report')
    .option('--map <file>', 'JSON that says how tools become actions and resources')
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : BLOCKED, code, message);
    })
    .action(async ({ map }: { map?: string }) => {
      try {
        const answer = await answerClaudeCode(await standardInput(), map);
        if (answer !== null) process.stdout.write(`${JSON.stringify(answer)}\n`);
      } catch (error) {
        // Whatever it is, what was not authorised must not run.
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
        process.exitCode = BLOCKED;
      }
    });
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const part of process.stdin.setEncoding('utf8')) text += String(part);
  return text;
}
