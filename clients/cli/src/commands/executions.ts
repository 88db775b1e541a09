import type { Command } from 'commander';
import { plain, printLine } from '../output.js';
import { client } from '../settings.js';

interface CancelOptions {
  readonly agent?: string;
  readonly reason?: string;
}

/** The commands that change executions. */
export function addExecutionCommands(executions: Command): void {
  executions
    .command('cancel <run>')
    .description('cancel everything that an agent still waits for in a run, or that is approved and not yet done')
    .option('--agent <agent>', 'the agent, by id or name; a key that acts as one agent may leave it out')
    .option('--reason <text>', 'why, kept on record')
    .action(cancelRun);
}

async function cancelRun(run: string, { agent, reason }: CancelOptions): Promise<void> {
  const governance = client();
  const body = {
    run,
    ...(agent !== undefined && { agentId: agent }),
    ...(reason !== undefined && { reason }),
  };
  let total = 0;
  for (let more = true; more;) {
    const part = await governance.post('/api/v1/executions/cancel', { body });
    total += part.cancelled;
    ({ more } = part);
  }
  printLine(
    plain(total === 1 ? `1 execution of ${run} is cancelled.` : `${total} executions of ${run} are cancelled.`),
  );
}
