import { styleText } from 'node:util';
import { printableText, printableWords } from './printable-text.js';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
}

type Style = Parameters<typeof styleText>[0];

const ESCAPE = '\u001b';
/** Sequences of `styled`, the only ones that may control a terminal. */
const STYLES = new RegExp(`${ESCAPE}\\[(?:[12]|22|3[1-39])m`, 'g');

export function printJson(value: unknown): void {
  printLine(shownJson(value, 2));
}

/** Prints JSON; characters that would control a terminal are escaped. */
export function shownJson(value: unknown, indent?: number): string {
  // The line feeds are its layout: those in texts are escaped already.
  return JSON.stringify(value, null, indent).split('\n').map(printableText).join('\n');
}

/** Prints a table for people, and the number of further rows. */
export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], total = rows.length): void {
  const cells = rows.map((row) => columns.map(({ value }) => printableWords(value(row))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  if (rows.length > 0) printLine(styled('bold', line(columns.map(({ title }) => title))));
  for (const row of cells) printLine(line(row));
  if (rows.length === 0) printLine('Nothing.');
  else if (total > rows.length) printLine(styled('dim', `${rows.length} of ${total}.`));
}

/** Returns text by others as one line that is safe to print. */
export function plain(text: string): string {
  return printableText(text);
}

/** Returns text with its own line breaks, whose texts by others have gone through `plain`. */
function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/**
 * Prints a line of the result. All output goes through this function and the two below, which escape control
 * characters.
 */
export function printLine(text: string): void {
  process.stdout.write(`${terminalText(text, process.stdout.isTTY)}\n`);
}

/** Makes the output a log: lines that nobody takes, or for which the disk has no room, are dropped, and the work goes on. */
export function outliveOutput(): void {
  process.stdout.removeAllListeners('error').on('error', () => undefined);
}

/** Prints a line that is not part of the result to stderr. */
export function printError(text: string): void {
  printPrompt(`${text}\n`);
}

/** Prints a question to a terminal; the answer is typed on the same line. */
export function printPrompt(text: string): void {
  process.stderr.write(terminalText(text, false));
}

function terminalText(text: string, isStyled: boolean): string {
  if (!isStyled) return plainLines(text);
  const styles = text.match(STYLES) ?? [];
  return text
    .split(STYLES)
    .map((part, index) => plainLines(part) + (styles[index] ?? ''))
    .join('');
}

/** Colours on a terminal only, and not if NO_COLOR is set. */
export function styled(style: Style, text: string): string {
  return process.stdout.isTTY && process.env['NO_COLOR'] === undefined ? styleText(style, text) : text;
}

/** Returns a number with its noun, for example "1 policy" and "2 policies". */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** Returns a duration in its largest unit. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const units = [
    { size: 86_400, name: 'd' },
    { size: 3_600, name: 'h' },
    { size: 60, name: 'min' },
  ];
  const unit = units.find(({ size }) => seconds >= size);
  return unit === undefined ? `${seconds} s` : `${Math.floor(seconds / unit.size)} ${unit.name}`;
}
