import type { Ratio } from './statistics';

/** A bar that a ratio must not exceed. A bar that is a plain number must be reached. */
export interface AtMost {
  readonly atMost: number;
}

export type Bar = number | AtMost;

/** A ratio as docs/performance-figures.txt shows it. */
export interface ReportedRatio {
  readonly name: string;
  readonly ratio: Ratio;
  readonly bar: Bar | null;
}

const ratios: ReportedRatio[] = [];

/** The ratios printed since the last call. */
export function takeReportedRatios(): readonly ReportedRatio[] {
  return ratios.splice(0);
}

export function printLine(text = ''): void {
  console.log(text);
}

export function printHeading(title: string): void {
  printLine(`\n${title}\n${'='.repeat(title.length)}`);
}

/** Prints aligned columns: the first to the left, the others to the right. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  printLine();
  for (const row of [header, ...rows]) printLine(line(row));
}

/** Prints a ratio, its spread over the rounds, and its bar, if it has one. */
export function printRatio(name: string, ratio: Ratio, bar: Bar | null = null): void {
  ratios.push({ name, ratio, bar });
  const verdict = bar === null ? '' : `   bar ${describeBar(bar)}: ${isMet(ratio, bar) ? 'met' : 'MISSED'}`;
  printLine(`${name.padEnd(58)} ${figure(ratio.median)}  (${describeSpread(ratio)})${verdict}`);
}

/** Prints a ratio that was measured once. */
export function printSingleRatio(name: string, value: number, bar: Bar | null = null): void {
  printRatio(name, { median: value, lowest: value, highest: value }, bar);
}

export function isMet({ median }: Ratio, bar: Bar): boolean {
  return typeof bar === 'number' ? median >= bar : median <= bar.atMost;
}

export function describeBar(bar: Bar): string {
  return typeof bar === 'number' ? `≥ ${bar}` : `≤ ${bar.atMost}`;
}

export function describeSpread({ lowest, highest }: Ratio): string {
  return `${figure(lowest)}–${figure(highest)}`;
}

/** Returns a ratio with its significant digits. */
export function figure(value: number): string {
  if (value === 0) return '0';
  return number(value, value >= 100 ? 0 : value >= 0.1 ? 2 : 3);
}

export function number(value: number, digits = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
