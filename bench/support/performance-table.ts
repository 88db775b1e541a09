import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeBar, describeSpread, figure, isMet, type ReportedRatio } from './report';

const BEGIN = '<!-- npm run bench -- --write: begin -->';
const END = '<!-- npm run bench -- --write: end -->';
/** Seen from where the compiled benchmark lies. */
const DOCUMENT = join(__dirname, '../../../../../docs/performance.md');

/** Replaces the ratios of the previous run in docs/performance.md. */
export function writePerformanceTable(machine: readonly string[], ratios: readonly ReportedRatio[]): void {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} lacks the lines "${BEGIN}" and "${END}".`);
  const table = `${BEGIN}\n\n${performanceTable(machine, ratios)}\n\n`;
  writeFileSync(DOCUMENT, text.slice(0, begin) + table + text.slice(end));
}

function performanceTable(machine: readonly string[], ratios: readonly ReportedRatio[]): string {
  const rows = ratios.map(({ part, name, ratio, bar }, index) => {
    const title = part === ratios[index - 1]?.part ? '' : part;
    const verdict = bar === null ? ['', ''] : [describeBar(bar), isMet(ratio, bar) ? 'met' : '**missed**'];
    return [title, name, figure(ratio.median), describeSpread(ratio), ...verdict];
  });
  const lines = [['Part', 'Ratio', 'median', 'spread', 'bar', ''], Array<string>(6).fill('---'), ...rows];
  return [...machine.map((line) => `- ${line}`), '', ...lines.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}
