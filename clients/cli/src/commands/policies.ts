import { type Command, Option } from 'commander';
import type { ApplyOptions, PlanOptions, PullOptions, ReplayOptions } from '../policies/file-actions.js';

const FOLDER = 'policies';
const FILES = ['[paths...]', `files, or folders of files; ${FOLDER} unless given`] as const;
const PRUNE = ['--prune', 'the files are the whole set: what they do not name is taken out of force'] as const;

const ALL = ['--all', 'each kind of request, with all names'] as const;

type Paths = readonly string[];

/** Loaded at first use: what reads YAML and checks a schema takes almost as long as all other commands together. */
const actions = () => import('../policies/file-actions.js');

/** Policies as files: what `gov policies` does besides listing them. */
export function addPolicyFileCommands(policies: Command): void {
  policies
    .command('pull')
    .description('write the policies in force into files, one for each')
    .argument('[folder]', 'where to', FOLDER)
    .option('--force', 'overwrite files that differ')
    .action(async (folder: string, options: PullOptions) => (await actions()).pull(folder, options));
  policies
    .command('lint')
    .description('check the form of policy files, without a service')
    .argument(...FILES)
    .action(async (paths: Paths) => (await actions()).lint(paths));
  policies
    .command('test')
    .description('run the tests of policy files against the set as it would be; nothing is applied')
    .argument(...FILES)
    .option(...PRUNE)
    .option('--json', 'the result as JSON')
    .action(async (paths: Paths, options: PlanOptions) => (await actions()).test(paths, options));
  policies
    .command('plan')
    .description(
      'what applying policy files would change. Exit code 2 where it changes something, 1 where a test fails',
    )
    .argument(...FILES)
    .option(...PRUNE)
    .option('--replay', 'also evaluate recorded requests again, each with its agent as it was then')
    .addOption(new Option('--from <time>', 'replay what was asked since then').implies({ replay: true }))
    .addOption(new Option('--to <time>', 'replay what was asked up to then').implies({ replay: true }))
    .option(...ALL)
    .option('--markdown', 'fit for a comment on a pull request')
    .option('--json', 'the whole plan as JSON')
    .action(async (paths: Paths, options: PlanOptions & ReplayOptions) => (await actions()).plan(paths, options));
  policies
    .command('apply')
    .description(
      'bring policy files into force when their tests pass: all policies in one commit, agents before and after it',
    )
    .argument(...FILES)
    .option(...PRUNE)
    .option(
      '--base <digest>',
      'the base of the plan that was looked at: with other policies in force, or other agents, nothing is done',
    )
    .option(...ALL)
    .option('--markdown', 'fit for the summary of a job')
    .option('--json', 'what was applied as JSON, or the tests that fail')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .action(async (paths: Paths, options: ApplyOptions) => (await actions()).apply(paths, options));
}
