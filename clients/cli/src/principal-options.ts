import type { Command } from 'commander';
import type { GuardRequest, OnBehalfOf } from '../../typescript/src/index.js';

/** The principal of requests, and their run. */
export type PrincipalOptions = Pick<GuardRequest, 'onBehalfOf' | 'run'>;

export function withPrincipalOptions(command: Command): Command {
  return command
    .option('--on-behalf-of <subject>', 'for whom the agent acts, such as user:4711 or agent:ann', principal)
    .option('--run <name>', 'the conversation or task that this is part of');
}

function principal(subject: string): OnBehalfOf {
  return { subject };
}
