import type { Command } from 'commander';
import { printLine, styled } from '../output.js';
import { prompt } from '../question.js';
import { SERVICE_OPTION, serviceFolder, type ServiceOption, startTemporaryService } from '../service-program.js';
import { type Stage, STEPS } from '../tour/steps.js';
import { GovernanceClient } from '../../../typescript/src/index.js';
import { tamper } from './tamper.js';

const OPENING = `A service that stands between AI agents and what they act on: it decides by policies, has people approve
what needs it, and keeps a record that nobody can alter unnoticed. This tour starts one of its own, and
removes it at the end; nothing of yours is touched.`;

const CLOSING = `To continue (in a clone, write npm run gov -- instead of gov):
  gov up             start the service on a database in this folder
  gov login          keep its key for the other commands
  gov seed           a demo company to look around in
  gov --help         everything else; docs/integrations.md has a line for your agent`;

export function addTourCommand(program: Command): void {
  program
    .command('tour')
    .description('take the first five minutes live: starts a service of its own and explains each step')
    .option('--no-pause', 'do not wait for Enter between the steps')
    .option(...SERVICE_OPTION)
    .action(tour);
}

async function tour({ pause, service: folder }: ServiceOption & { pause: boolean }): Promise<void> {
  const programs = serviceFolder(folder);
  printLine(`${OPENING}\n`);
  const service = await startTemporaryService(programs);
  const { settings } = service;
  try {
    const next = pause && process.stdin.isTTY ? waitForEnter : async (): Promise<void> => undefined;
    const operator = new GovernanceClient(settings);
    const nobody = operator;
    const stage: Stage = { settings, operator, bot: nobody, ann: nobody, executionId: '', decisionId: '' };
    for (const [index, { title, explains, run }] of STEPS.entries()) {
      heading(index + 1, title, explains);
      await run(stage);
      await next();
    }
    const explains =
      'Each entry is sealed into a chain of hashes. Anybody can check it with a separate program, without the service.';
    heading(STEPS.length + 1, 'Nobody alters it unnoticed', explains);
    await tamper(settings, programs);
    printLine(`\n${CLOSING}`);
  } finally {
    await service.stop();
  }
}

function heading(number: number, title: string, explains: string): void {
  printLine(`\n${styled('bold', `${number}. ${title}`)}`);
  printLine(`${styled('dim', explains)}\n`);
}

async function waitForEnter(): Promise<void> {
  await prompt(styled('dim', '\n[Enter] '));
}
