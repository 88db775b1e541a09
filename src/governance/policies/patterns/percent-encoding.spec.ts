import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { decodePercent, percentEncodingFault } from './percent-encoding';

/** Decodes round by round, as later readers may, and checks the result of each round. */
function isFaulty(path: string): boolean {
  const faults: boolean[] = [];
  const decoded = path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex');
    faults.push(!isUtf8(bytes) || /[0-9A-Za-z\-._~/\\]|\p{Cc}/u.test(bytes.toString('utf8').normalize('NFC')));
    return bytes.toString('utf8');
  });
  return faults.includes(true) || (decoded !== path && isFaulty(decoded));
}

/** Fragments that become escapes when joined. */
const PARTS = [
  '%', '%', '25', '%25', '%2525', '2', '5', '2F', '41', '0', 'a', '/', 'é', '😀', '*', ' ',
  '%2F', '%2f', '%41', '%2E', '%3A', '%20', '%5C', '%0A', '%C2%85', '%C3%A9', '%C0%AF', '%E2%82%AC', '%25E2%2582%25AC',
  'C3', 'A9', '%C3', '%A9', '%25C3', '%25A9', '%F0%9F%98%80', '%ED%A0%80', '%EF%BB%BF', '%E2%84%AA',
]; // prettier-ignore

/** The most times a text of 500 characters can be encoded. */
const DEEP = '25'.repeat(240);

describe('percent-encoding in a path', () => {
  it.each(['%u002e', 'a/%U002F/b', '%25u002e', '%2525u00e9'])('must not be that of no standard: %j', (path) => {
    expect(percentEncodingFault(path)).toMatch(/"%u"/);
  });
  it.each(['%u', '%u00', '%uxyzw', 'u002e'])('is not what has fewer digits: %j', (path) => {
    expect(percentEncodingFault(path)).toBeUndefined();
  });

  it.each([
    '50% off',
    '100%',
    '%',
    '%%',
    '%zz',
    '%2',
    '%2 5',
    'a%3Ab',
    '%20',
    '%25',
    '%2525',
    '%253A',
    '50%25 off',
    '%2A',
    '%3B',
    '%C3%A9',
    '%E2%82%AC',
    '%F0%9F%98%80',
    '%25C3%25A9',
    '%25%C3%A9',
    'é%C3%A9',
    `%${DEEP}`,
    `%${DEEP}3A`,
    '%'.repeat(500),
    '%25'.repeat(166),
  ])('may be %j', (path) => {
    expect(percentEncodingFault(path)).toBeUndefined();
    expect(isFaulty(path)).toBe(false);
  });

  it.each([
    '%2F',
    'secret%2fa',
    '%252F',
    '%25252f',
    `%${DEEP}2F`,
    '%5C',
    '%5c',
    '%255C',
    `%${DEEP}5c`,
    '%E2%84%AA',
    '%73ecret',
    '%41',
    '%7a',
    '%30',
    '%2D',
    '%2e',
    '%5F',
    '%7E',
    '%2541',
    '%25%34%31',
    `%${DEEP}61`,
    '%%41',
    '%2%35',
    '%C0%AF',
    '%c0%ae',
    '%E0%80%AF',
    '%ff',
    '%C3',
    '%A9',
    '%25C0%25AF',
    '%C3%25A9',
    '%ED%A0%80',
    '%F4%90%80%80',
    '%00',
    '%0a',
    '%7F',
    '%C2%85',
    '%250A',
    '%25C2%2585',
  ])('must not be %j', (path) => {
    expect(percentEncodingFault(path)).toMatch(/^must /);
    expect(isFaulty(path)).toBe(true);
  });

  it('is refused if repeated decoding reveals something that must not be encoded', () => {
    const path = fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(path, (text) => {
        expect(percentEncodingFault(text) !== undefined).toBe(isFaulty(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['a%20b', 'a b'],
    ['%2520%25252520', '  '],
    ['50%25 off', '50% off'],
    ['%%3A%', '%:%'],
    ['caf%C3%A9/%25E2%2582%25AC', 'caf\u00e9/\u20ac'],
    ['%FF%20', '%FF%20'],
    ['%C3%25A9%3A', '%C3%25A9:'],
  ])('of %j means %j', (path, meaning) => {
    expect(decodePercent(path)).toBe(meaning);
  });

  it('is decoded once if a path repeats it', () => {
    const from = jest.spyOn(Buffer, 'from');
    const path = 'x%20y%C3%A9'.repeat(40);
    expect([percentEncodingFault(path), decodePercent(path)]).toEqual([undefined, 'x y\u00e9'.repeat(40)]);
    const decoded = from.mock.calls.length;
    from.mockRestore();
    expect(decoded).toBeLessThanOrEqual(2);
  });

  it('is found faulty whatever is encoded, and however often', () => {
    const character = fc.constantFrom(...'azAZ09-._~/\\\n\u0085');
    fc.assert(
      fc.property(character, fc.string(), fc.nat({ max: 5 }), (plain, rest, times) => {
        let encoded = Buffer.from(plain).toString('hex').replace(/../g, '%$&');
        for (let time = 0; time < times; time += 1) encoded = encoded.replaceAll('%', '%25');
        expect(percentEncodingFault(`${rest}/${encoded}`)).toBeDefined();
      }),
    );
  });
});
