#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addAccessCommand } from './commands/access.js';
import { addCompletionCommand } from './commands/completion.js';
import { addReviewCommands } from './commands/decide.js';
import { addDirectoryCommand } from './commands/directory.js';
import { addDelegationCommands } from './commands/delegations.js';
import { addDraftCommand } from './commands/draft.js';
import { addEraseCommand } from './commands/erase.js';
import { addEvidenceCommand } from './commands/evidence.js';
import { addExplainCommand } from './commands/explain.js';
import { addGrantCommands } from './commands/grants.js';
import { addLedgerCommands } from './commands/ledger.js';
import { addLoginCommands } from './commands/login.js';
import { addPermitCommands } from './commands/permits.js';
import { addRecordCommands } from './commands/records.js';
import { addReportCommand } from './commands/report.js';
import { addSeedCommand } from './commands/seed.js';
import { addStopCommands } from './commands/stops.js';
import { addTamperCommand } from './commands/tamper.js';
import { addTourCommand } from './commands/tour.js';
import { addUsageCommand } from './commands/usage.js';
import { commandLineFault } from './command-line-fault.js';
import { endEarly } from './early-end.js';
import { addGatewayCommand } from './gateway/command.js';
import { addHookCommand, blockFailures, isHookLine } from './hook/command.js';
import { addMcpCommand } from './mcp/command.js';
import { plain, printError } from './output.js';
import { SettingsError, shownMessage, useProfile } from './settings.js';
import { VERSION } from './version.js';
import { DemoCompanyError } from '../../typescript/src/demo-company.js';
import { GovernanceError } from '../../typescript/src/index.js';
import { wasRefused } from '../../typescript/src/never-connected.js';

/** Codes of the parser's errors that end the program after help or the version was printed. */
const PRINTED = ['commander.help', 'commander.helpDisplayed', 'commander.version'];
/** Errors that users can act on. */
const EXPECTED = [GovernanceError, SettingsError, DemoCompanyError];

const PROFILE = ['--profile <name>', 'use the key that `gov login --profile` keeps'] as const;

const program = new Command('gov')
  .version(VERSION)
  .description('The command line of the agent governance service.')
  .addHelpText(
    'after',
    '\nNew here? Run `gov tour`; it needs nothing else.\n\nThe key comes from --profile or GOVERNANCE_PROFILE, GOVERNANCE_API_KEY, or `gov login`; the service is at GOVERNANCE_URL,\nor where the login was, or at http://127.0.0.1:3000. The key of a login is sent only\nto the service of that login.\nExit codes: 0 done, 1 refused or failed, 2 a plan changes something.',
  )
  // `reportError` prints the faults of the command line, so the parser prints none.
  .configureOutput({ outputError: () => undefined })
  // Options after a command belong to it: `gov policies` and its subcommands have options of the same names.
  .enablePositionalOptions()
  .option(...PROFILE)
  .exitOverride();
addLoginCommands(program);
addReviewCommands(program);
addDelegationCommands(program);
addExplainCommand(program);
addAccessCommand(program);
addRecordCommands(program);
addLedgerCommands(program);
addEvidenceCommand(program);
addEraseCommand(program);
addStopCommands(program);
addGrantCommands(program);
addPermitCommands(program);
addDraftCommand(program);
addUsageCommand(program);
addReportCommand(program);
addDirectoryCommand(program);
addMcpCommand(program);
addGatewayCommand(program);
addHookCommand(program);
addSeedCommand(program);
addTourCommand(program);
addTamperCommand(program);
addCompletionCommand(program);
offerProfiles(program);
program.hook('preAction', (_program, command) => {
  let profile: string | undefined;
  for (let current: Command | null = command; current !== null; current = current.parent) {
    profile ??= current.opts<{ profile?: string }>().profile;
    // The option is removed, because some actions send their options to the service.
    current.setOptionValue('profile', undefined);
  }
  if (profile !== undefined) useProfile(profile);
});
const isHook = isHookLine(
  process.argv.slice(2),
  program.commands.map((command) => command.name()),
);
if (isHook) blockFailures();

// The reader of the output may close it early, as in `gov export | head`. For a hook this is a failure, because its
// denial was not read.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  void endEarly(isHook ? 1 : 0);
});
// Standard error may be closed: the work continues, and the exit code shows how it ended.
process.stderr.on('error', () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
}

/** Gives every command the option that names a profile. */
function offerProfiles(parent: Command): void {
  for (const command of parent.commands) {
    command.option(...PROFILE);
    offerProfiles(command);
  }
}

/**
 * Prints an error that users can act on, in one line, and returns the exit code.
 * @throws any other error, because it is a defect
 */
function reportError(error: unknown): number {
  if (error instanceof CommanderError) {
    if (!PRINTED.includes(error.code)) printError(plain(commandLineFault(error, program, process.argv.slice(2))));
    return error.exitCode;
  }
  if (!EXPECTED.some((kind) => error instanceof kind) && !isFileSystemError(error)) throw error;
  const id = error instanceof GovernanceError && error.requestId !== null ? ` (request ${error.requestId})` : '';
  const advice = error instanceof GovernanceError ? adviceOn(error) : '';
  printError(`${shownMessage(error)}${advice}${plain(id)}`);
  return 1;
}

/** True for an error of the file system, for example a folder that cannot be written to; its message names the path. */
function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

/** Returns advice for the user of gov about a refusal, whose own message is for every caller. */
function adviceOn({ code, status, cause }: GovernanceError): string {
  if (code === 'UNREACHABLE') {
    // Advice to start the service does not help if a server listens, or the address is wrong.
    return `${wasRefused(cause) ? ' Start it by `gov up`, or say' : ' Say'} where it is: GOVERNANCE_URL, or \`gov login --url\`.`;
  }
  if (status === 401) return ' `gov login` keeps another key; the one in GOVERNANCE_API_KEY takes precedence.';
  return '';
}
