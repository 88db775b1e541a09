import { createInterface } from 'node:readline/promises';
import { SettingsError } from './settings.js';

/**
 * Returns the text that the user types on the terminal; empty if the input has ended. The question does not go into the
 * output, which may be a file. Ctrl-C ends the command as usual.
 */
export async function prompt(question: string): Promise<string> {
  if (process.stdin.readableEnded) return '';
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // On a terminal, Ctrl-C would otherwise end only the question.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await lines.question(question).catch(() => '');
  } finally {
    lines.close();
  }
}

/** True if the answer is yes; every other answer is no. */
async function isConfirmed(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await prompt(question)).trim());
}

/**
 * Asks for confirmation. Without a terminal nobody can read the question, so --yes is required.
 *
 * @throws SettingsError unless the user says yes. @param refusal for example "Nothing was applied"
 */
export async function requireConfirmation(question: string, refusal: string): Promise<void> {
  if (!process.stdin.isTTY) throw new SettingsError(`${refusal}: without a terminal, --yes has to be given.`);
  if (!(await isConfirmed(`${question} [y/N] `))) throw new SettingsError(`${refusal}.`);
}
