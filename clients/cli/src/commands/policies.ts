import { type Command, Option } from 'commander';
import { withChangeWait } from '../change-waits.js';
import type { ApplyOptions, PlanOptions, PullOptions, ReplayOptions } from '../policies/file-actions.js';

const FOLDER = 'policies';
const FILES = ['[paths...]', `files, or folders of files; by default ${FOLDER}`] as const;
const PRUNE = ['--prune', 'deactivate policies that are in no file'] as const;

const TEAM = ['--team <name>', 'the team whose policies these are, with a key that has none'] as const;

const ALL = ['--all', 'show each kind of request, with all names'] as const;

type Paths = readonly string[];

/**
 * Loaded at first use: the code that reads YAML and checks a schema takes almost as long to load as all other commands.
 */
const actions = () => import('../policies/file-actions.js');

/** The commands of `gov policies` that work with files. */
export function addPolicyFileCommands(policies: Command): void {
  policies
    .command('pull')
    .description('write each policy in force into a file')
    .argument('[folder]', 'where to write them', FOLDER)
    .option(...TEAM)
    .option('--force', 'overwrite files that differ')
    .action(async (folder: string, options: PullOptions) => (await actions()).pull(folder, options));
  policies
    .command('lint')
    .description('check the form of policy files, without a service')
    .argument(...FILES)
    .action(async (paths: Paths) => (await actions()).lint(paths));
  policies
    .command('test')
    .description('run the tests of policy files against the policies as they would be; applies nothing')
    .argument(...FILES)
    .option(...PRUNE)
    .option(...TEAM)
    .option('--json', 'the result as JSON')
    .action(async (paths: Paths, options: PlanOptions) => (await actions()).test(paths, options));
  policies
    .command('plan')
    .description('show what applying policy files would change. Exit code 2 if it changes something, 1 if a test fails')
    .argument(...FILES)
    .option(...PRUNE)
    .option(...TEAM)
    .option('--replay', 'also evaluate recorded requests again, each with its agent as it was then')
    .addOption(new Option('--from <time>', 'replay the requests since then').implies({ replay: true }))
    .addOption(new Option('--to <time>', 'replay the requests up to then').implies({ replay: true }))
    .option(...ALL)
    .option('--markdown', 'format the plan as a comment on a pull request')
    .option('--json', 'the whole plan as JSON')
    .action(async (paths: Paths, options: PlanOptions & ReplayOptions) => (await actions()).plan(paths, options));
  withChangeWait(policies.command('apply'))
    .description('apply policy files if their tests pass: policies and agents in one commit')
    .argument(...FILES)
    .option(...PRUNE)
    .option(...TEAM)
    .option(
      '--base <digest>',
      'the base of the plan that was reviewed; if policies or agents have changed since, apply nothing',
    )
    .option(...ALL)
    .option('--markdown', 'format the plan as the summary of a job')
    .option('--json', 'what was applied, or the tests that fail, as JSON')
    .option('--yes', 'do not ask; needed without a terminal')
    .action(async (paths: Paths, options: ApplyOptions) => (await actions()).apply(paths, options));
}
