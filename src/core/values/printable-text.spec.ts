import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { printableText, printableWords } from './printable-text';

const ROOT = join(__dirname, '..', '..', '..');
const LAST_CODE_POINT = 0x10ffff;

/** The code points that the offline verifier writes out. */
const OF_VERIFIER = `
  const { printableText } = await import(process.argv[1]);
  const changed = [];
  for (let code = 0; code <= ${LAST_CODE_POINT}; code += 1)
    if (printableText(String.fromCodePoint(code)) !== String.fromCodePoint(code)) changed.push(code);
  console.log(JSON.stringify(changed));
`;

describe('shownText', () => {
  const changed = Array.from({ length: LAST_CODE_POINT + 1 }, (_, code) => code).filter((code) => {
    const text = String.fromCodePoint(code);
    return printableText(text) !== text;
  });

  it('writes out what acts, hides, reorders or looks like a space, and nothing that people write', () => {
    const written = (text: string): string => printableText(text);
    const unseen =
      '\u0000\n\t\u007f\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u2000\u200b\u200d\u200e\u2028';
    const more =
      '\u202e\u2060\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufffc\u{1d159}\u{1d173}\u{e0041}\u{e0100}\u{16fe4}';
    for (const character of unseen + more) expect(written(character)).toMatch(/^(\\u[\da-f]{4})+$/);
    const plain = 'Zürich 2026, "£5" \\u200b 東京 أهلا 👍🏽 e\u0301';
    expect(written(plain)).toBe(plain);
  });

  it('has one list with the offline verifier, over all of Unicode', () => {
    const url = pathToFileURL(join(ROOT, 'verifier', 'printable-text.mjs')).href;
    const options = { maxBuffer: 32 * 1024 * 1024 };
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', OF_VERIFIER, url], options);
    const [ours, theirs] = [new Set(changed), new Set(JSON.parse(output.toString()) as number[])];
    expect({
      ...{ onlyOurs: changed.filter((code) => !theirs.has(code)), count: theirs.size },
      onlyTheirs: [...theirs].filter((code) => !ours.has(code)),
    }).toEqual({ onlyOurs: [], onlyTheirs: [], count: ours.size });
  });

  it('has one list with gov, whose copy is made by its build', () => {
    const copy = join(ROOT, 'clients', 'cli', 'src', 'printable-text.ts');
    expect(readFileSync(copy, 'utf8')).toBe(readFileSync(join(__dirname, 'printable-text.ts'), 'utf8'));
  });
});

describe('shownWords', () => {
  it('also writes out long runs of blanks', () => {
    expect(printableWords('a  b    c')).toBe('a  b    c');
    expect(printableWords(`a${' '.repeat(6)}b\u3164`)).toBe('a    \\u0020\\u0020b\\u3164');
  });
});
