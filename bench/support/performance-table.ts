import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeBar, describeSpread, figure, isMet, type ReportedRatio } from './report';

/** Seen from where the compiled benchmark lies. */
const FIGURES = join(__dirname, '../../../../../docs/performance-figures.txt');
const HEADER = ['Part', 'Ratio', 'median', 'spread', 'bar', ''];

/** Writes the figures of this run in place of those of the previous one. */
export function writePerformanceTable(machine: readonly string[], ratios: readonly ReportedRatio[]): void {
  writeFileSync(FIGURES, performanceTable(machine, ratios));
}

function performanceTable(machine: readonly string[], ratios: readonly ReportedRatio[]): string {
  const rows = ratios.map(({ part, name, ratio, bar }, index) => {
    const title = part === ratios[index - 1]?.part ? '' : part;
    const verdict = bar === null ? ['', ''] : [describeBar(bar), isMet(ratio, bar) ? 'met' : 'MISSED'];
    return [title, name, figure(ratio.median), describeSpread(ratio), ...verdict];
  });
  const table = [HEADER, ...rows];
  const widths = HEADER.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const lines = table.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${[...machine, '', ...lines].map((line) => line.trimEnd()).join('\n')}\n`;
}
