import type { Ratio } from './statistics';

export function printLine(text = ''): void {
  console.log(text);
}

export function printHeading(title: string): void {
  printLine(`\n${title}\n${'='.repeat(title.length)}`);
}

/** Aligned columns; the first to the left, the others to the right. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  printLine();
  for (const row of [header, ...rows]) printLine(line(row));
}

/** A ratio, its spread over the rounds, and the bar it is held against when there is one. */
export function printRatio(name: string, ratio: Ratio, bar?: number): void {
  const spread = `${number(ratio.lowest, 2)}–${number(ratio.highest, 2)}`;
  const verdict = bar === undefined ? '' : `   bar ${bar}: ${ratio.median >= bar ? 'met' : 'MISSED'}`;
  printLine(`${name.padEnd(58)} ${number(ratio.median, 2)}  (${spread})${verdict}`);
}

export function number(value: number, digits = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
