import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { run, type ProgramRun } from '../support/processes/shell';
import { startAnsweringProcess } from './answering-process';

const FOLDER = join(ROOT, 'clients', 'cli');
/** The program. */
export const MAIN = join(FOLDER, 'dist', 'cli', 'src', 'main.js');

let built: Promise<void> | undefined;

/** Builds the command line as its users get it, if it has changed. */
export function buildCommandLine(): Promise<void> {
  built ??= build();
  return built;
}

async function build(): Promise<void> {
  const { exitCode, errors } = await run(process.execPath, [join(FOLDER, 'build.mjs')], { folder: FOLDER });
  // Another file may be building it.
  expect([exitCode, errors.replace(/^Waiting for the process .*\n/m, '')]).toEqual([0, '']);
}

interface CommandSurroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly folder?: string;
}

type CommandLine = (words: readonly string[], surroundings: CommandSurroundings) => Promise<ProgramRun>;

/** They start programs, or live by signals and by how their process ends. */
const OF_THEIR_OWN: ReadonlySet<string | undefined> = new Set([
  'events',
  'evidence',
  'hook',
  'mcp',
  'tamper',
  'tour',
  'up',
  'verify',
]);

let answering: CommandLine | undefined;
let isAsked = false;

/** Runs `gov` with these arguments, in a process of its own if the command needs one. */
export function gov(words: readonly string[], surroundings: CommandSurroundings): Promise<ProgramRun> {
  return OF_THEIR_OWN.has(words[0]) ? runGov(words, surroundings) : govAnswer(words, surroundings);
}

/**
 * Runs `gov` with these arguments, which must end it before it starts a program or waits for signals. The process that
 * answers remains: to start one takes longer than most commands. Commands that begin while it is at work have a
 * process of their own, as they have for their users.
 */
export async function govAnswer(words: readonly string[], surroundings: CommandSurroundings): Promise<ProgramRun> {
  if (isAsked) return runGov(words, surroundings);
  isAsked = true;
  try {
    return await (answering ??= startAnswering())(words, surroundings);
  } finally {
    isAsked = false;
  }
}

/** Runs `gov` with these arguments, to the end of its process. */
export function runGov(words: readonly string[], surroundings: CommandSurroundings): Promise<ProgramRun> {
  return run(process.execPath, [MAIN, ...words], surroundings);
}

function startAnswering(): CommandLine {
  const answerTo = startAnsweringProcess([join(__dirname, 'answer-gov.mjs'), MAIN]);
  return async (words, { environment, input = '', folder = process.cwd() }) => {
    const all = { ...process.env, ...environment };
    return (await answerTo({ words, input, environment: all, folder })) as ProgramRun;
  };
}
