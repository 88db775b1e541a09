import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfiguration } from '../../test/support/application/configuration-faults';
import { GATES } from './gates';

const DOCUMENT = join(__dirname, '../../docs/operations.md');
const MEBIBYTE = 1024 * 1024;

function printed(limit: number): string {
  if (limit === 0) return 'none';
  if (limit === Infinity) return 'any';
  return limit >= MEBIBYTE ? `${limit / MEBIBYTE} Mi` : limit.toLocaleString('en-US');
}

it('are all in docs/operations.md, with their limits', () => {
  const limits = readConfiguration({ API_KEY: 'a-key-of-the-test' });
  const rows = Object.values(GATES).map((row) => {
    const { label, most, mostEach, mostWaiting, longest } = row(limits);
    const wait = longest === Infinity || longest === 0 ? '' : `, ${longest / 1000} s each`;
    return `| ${label} | ${printed(most)} | ${printed(mostEach)} | ${printed(mostWaiting)}${wait} |`;
  });
  const table = ['| At a time | All | One client | Waiting, each client |', '|---|---|---|---|', ...rows].join('\n');
  expect(readFileSync(DOCUMENT, 'utf8')).toContain(table);
});
