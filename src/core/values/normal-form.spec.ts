import { hasManyMarks, marksFault, normalFormC, normalFormKc } from './normal-form';

const ACUTE = '\u0301';
const VOICED = '\uff9e';

describe('The normal forms', () => {
  it('are those of Unicode for texts of any language', () => {
    for (const text of [
      '',
      'plain',
      'e\u0301',
      `a${ACUTE.repeat(30)}`,
      '\u1100\u1161\u11a8',
      '\u212a',
      '\u30ab\uff9e',
    ]) {
      expect(normalFormC(text)).toBe(text.normalize('NFC'));
      expect(normalFormKc(text)).toBe(text.normalize('NFKC'));
      expect(marksFault(text)).toBeUndefined();
    }
  });

  it.each([
    ['marks', ACUTE.repeat(31)],
    ['marks behind a letter', `a${ACUTE.repeat(31)}b`],
    ['letters that become marks', VOICED.repeat(31)],
    ['both in turns', `${VOICED}\u0334`.repeat(16)],
    ['marks beyond the basic plane', '\u{1d165}'.repeat(31)],
  ])('leave a text with more than 30 %s in a row as it is', (_name, text) => {
    expect(hasManyMarks(text)).toBe(true);
    expect([normalFormC(text), normalFormKc(text)]).toEqual([text, text]);
    expect(marksFault(text)).toBe('must not have more than 30 combining characters in a row');
  });

  it('count each run by itself', () => {
    expect(hasManyMarks(`a${ACUTE.repeat(30)}`.repeat(1_000))).toBe(false);
    expect(hasManyMarks('\u{1d165}'.repeat(30))).toBe(false);
  });

  it('end soon for runs of a million', () => {
    const text = `a${'\u0345'.repeat(1_000_000)}${'\u0334'.repeat(1_000_000)}`;
    expect(normalFormC(text)).toBe(text);
  });
});
