import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeBar, describeSpread, figure, isMet, type ReportedRatio } from './report';

/** The file of the figures, as seen from the compiled benchmark. */
const FIGURES = join(__dirname, '../../../../../docs/performance-figures.txt');
const HEADER = ['Ratio', 'median', 'spread', 'bar', ''];

/**
 * Writes the figures of a measured part in place of its earlier ones. The other parts keep their figures, each with the
 * machine that it was measured on.
 * @param titles of all parts, in the order of the file.
 */
export function writePerformanceTable(
  title: string,
  titles: readonly string[],
  machine: readonly string[],
  ratios: readonly ReportedRatio[],
): void {
  const existing = existsSync(FIGURES) ? readFileSync(FIGURES, 'utf8').trim().split('\n\n') : [];
  const sections = new Map(existing.map((section) => [section.split('\n')[0] ?? '', section]));
  sections.set(title, [title, ...machine, ...tableOf(ratios)].join('\n'));
  writeFileSync(FIGURES, `${titles.flatMap((title) => sections.get(title) ?? []).join('\n\n')}\n`);
}

function tableOf(ratios: readonly ReportedRatio[]): string[] {
  const rows = ratios.map(({ name, ratio, bar }) => {
    const verdict = bar === null ? ['', ''] : [describeBar(bar), isMet(ratio, bar) ? 'met' : 'MISSED'];
    return [name, figure(ratio.median), describeSpread(ratio), ...verdict];
  });
  const table = [HEADER, ...rows];
  const widths = HEADER.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  return table.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
