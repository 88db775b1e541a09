import { styleText } from 'node:util';
import { printableText, printableWords } from './printable-text.js';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
}

type Style = Parameters<typeof styleText>[0];

const ESCAPE = '\u001b';
/** What `styled` makes, which is all that may act on a terminal. */
const STYLES = new RegExp(`${ESCAPE}\\[(?:[12]|22|3[1-39])m`, 'g');

export function printJson(value: unknown): void {
  printLine(shownJson(value, 2));
}

/** Equal JSON, in which text from others does nothing to a terminal. */
export function shownJson(value: unknown, indent?: number): string {
  // The line feeds are its layout: those in texts are escaped already.
  return JSON.stringify(value, null, indent).split('\n').map(printableText).join('\n');
}

/** A table for people, with a line that says how many rows there are beyond those shown. */
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

/** Text by others as one line, as it may be shown, with its layout. */
export function plain(text: string): string {
  return printableText(text);
}

/** What has lines of its own, in which texts by others have gone through `plain`. */
function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/** All output goes through here and the two below, so that no command can forget what text by others may hold. */
export function printLine(text: string): void {
  process.stdout.write(`${shown(text, process.stdout.isTTY)}\n`);
}

/** The same for what is not the result. */
export function printError(text: string): void {
  printPrompt(`${text}\n`);
}

/** What is asked for on a terminal: the answer stands in the same line. */
export function printPrompt(text: string): void {
  process.stderr.write(shown(text, false));
}

function shown(text: string, isStyled: boolean): string {
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

/** Such as "1 policy" and "2 policies". */
export function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** How long something takes or took, in its largest unit. */
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
