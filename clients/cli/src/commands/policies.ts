import { type Command, Option } from 'commander';
import type { ApplyOptions, PlanOptions, PullOptions, ReplayOptions } from '../policies/file-actions.js';

const FOLDER = 'policies';
const FILES = ['[paths...]', `files, or folders of files; by default ${FOLDER}`] as const;
const PRUNE = ['--prune', 'deactivate policies that are in no file'] as const;

const ALL = ['--all', 'show each kind of request, with all names'] as const;

type Paths = readonly string[];

/** Loaded at first use: what reads YAML and checks a schema takes almost as long as all other commands together. */
const actions = () => import('../policies/file-actions.js');

/** Policies as files: what `gov policies` does besides listing them. */
export function addPolicyFileCommands(policies: Command): void {
  policies
    .command('pull')
    .description('write each policy in force into a file')
    .argument('[folder]', 'where to write them', FOLDER)
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
    .option('--json', 'the result as JSON')
    .action(async (paths: Paths, options: PlanOptions) => (await actions()).test(paths, options));
  policies
    .command('plan')
    .description('show what applying policy files would change. Exit code 2 if it changes something, 1 if a test fails')
    .argument(...FILES)
    .option(...PRUNE)
    .option('--replay', 'also evaluate recorded requests again, each with its agent as it was then')
    .addOption(new Option('--from <time>', 'replay what was asked since then').implies({ replay: true }))
    .addOption(new Option('--to <time>', 'replay what was asked up to then').implies({ replay: true }))
    .option(...ALL)
    .option('--markdown', 'format the plan as a comment on a pull request')
    .option('--json', 'the whole plan as JSON')
    .action(async (paths: Paths, options: PlanOptions & ReplayOptions) => (await actions()).plan(paths, options));
  policies
    .command('apply')
    .description('apply policy files if their tests pass: all policies in one commit, agents before and after it')
    .argument(...FILES)
    .option(...PRUNE)
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
