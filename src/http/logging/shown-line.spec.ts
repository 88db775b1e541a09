import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, readableLines } from './log';
import { readConfiguration } from '../../../test/support/application/configuration-faults';

/** C0 and C1 controls, what writes from right to left, separators of lines, a language tag, and a line of its own. */
const HOSTILE = 'a\u001b[2K\u0085\u009b2K\u007f\u202e\u2066\u2028\u2029\u200b\u{e0041}\r\nVALID';
/** Characters of texts by others that must not reach a terminal. */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const CONFIGURATION = readConfiguration({});

describe('a log line', () => {
  it('is one line of JSON that holds every text, and nothing that acts on a terminal', () => {
    const written: string[] = [];
    const log = createLog(CONFIGURATION, { write: (line) => written.push(line) });
    log.info({ [HOSTILE]: [HOSTILE] }, HOSTILE);
    const [line = ''] = written;
    expect(line.endsWith('\n')).toBe(true);
    expect(line.trimEnd()).not.toMatch(ACTING);
    expect(JSON.parse(line)).toMatchObject({ [HOSTILE]: [HOSTILE], msg: HOSTILE });
  });

  describe('on a terminal', () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    it.each([
      ['a message', (text: string) => [{}, text] as const],
      ['a member', (text: string) => [{ path: text }, 'found'] as const],
      ['the name of a member', (text: string) => [{ [text]: 1 }, 'found'] as const],
      ['a nested member', (text: string) => [{ of: { path: [text] } }, 'found'] as const],
      ['an error', (text: string) => [{ err: new TypeError(text) }, 'failed'] as const],
    ])('is shown with escapes in place of what acts there: %s', (name, lineOf) => {
      const file = join(folder, `${name}.log`);
      const log = createLog(CONFIGURATION, readableLines(openSync(file, 'w')));
      log.info(...lineOf(HOSTILE));
      const text = readFileSync(file, 'utf8');
      expect(text).toContain('VALID');
      expect(text).not.toMatch(/^\s*VALID/m);
      expect(text.replaceAll('\n', '')).not.toMatch(ACTING);
    });

    it('keeps the lines of stack traces', () => {
      const file = join(folder, 'stack.log');
      createLog(CONFIGURATION, readableLines(openSync(file, 'w'))).error({ err: new TypeError('no disk') }, 'failed');
      expect(readFileSync(file, 'utf8')).toMatch(/TypeError: no disk\n\s+at /);
    });
  });
});
