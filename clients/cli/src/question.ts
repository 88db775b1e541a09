import { createInterface } from 'node:readline/promises';
import { SettingsError } from './settings.js';

/**
 * What the user types on the terminal; empty where the input has ended. The question does not go into the output, which may be a
 * file. Ctrl-C does what it does everywhere else.
 */
export async function prompt(question: string): Promise<string> {
  if (process.stdin.readableEnded) return '';
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // On a terminal that it reads from, it would otherwise only end the question.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await lines.question(question).catch(() => '');
  } finally {
    lines.close();
  }
}

/** Whether the answer is yes; everything else is no. */
async function isConfirmed(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await prompt(question)).trim());
}

/**
 * For each command that asks: without a terminal, where nobody reads the question, only --yes is a yes.
 *
 * @throws SettingsError unless somebody at a terminal says yes. @param otherwise such as "Nothing was applied"
 */
export async function requireWanted(question: string, otherwise: string): Promise<void> {
  if (!process.stdin.isTTY) throw new SettingsError(`${otherwise}: without a terminal, --yes has to be given.`);
  if (!(await isConfirmed(`${question} [y/N] `))) throw new SettingsError(`${otherwise}.`);
}
