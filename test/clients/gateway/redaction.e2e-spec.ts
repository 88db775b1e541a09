import fc from 'fast-check';
import type { Credential } from '../../../clients/cli/src/gateway/file/gateway-config.js' with {
  'resolution-mode': 'import',
};
import type { Redactor } from '../../../clients/cli/src/gateway/response/redactor.js' with {
  'resolution-mode': 'import',
};
import { loadGatewayModule } from './gateway-modules';

const KEY = 'sk_live_51H/"x\\+ é😀=%41&<\'>';
const USER = 'acct_7';
const REPLACED = 'before [credential] after';
const RUNS = Number(process.env['REDACTION_CASES'] ?? 2_000);

const source = { env: 'KEY' };
const text = { before: 'Bearer ', source, after: '' };
const CREDENTIALS: readonly Credential[] = [
  { kind: 'header', name: 'authorization', value: text },
  { kind: 'basic', user: USER, password: { ...text, before: '' } },
];

type Encode = (character: string) => string;

const percent: Encode = (character) =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const escape: Encode = (character) =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
const upperDigits: (encode: Encode) => Encode = (encode) => (character) =>
  encode(character).replace(/[0-9a-f]{2,4}$/, (digits) => digits.toUpperCase());
const slashes: Encode = (character) => (['"', '\\', '/'].includes(character) ? `\\${character}` : character);
const NAMES: Readonly<Record<string, string>> = { '"': 'quot', "'": 'apos', '&': 'amp', '<': 'lt', '>': 'gt' };
const html: Encode = (character) => (character in NAMES ? `&${NAMES[character]};` : character);
/** Writes all but letters and digits by their number, as templates do with some of them. */
const htmlNumber: (prefix: string, radix: number) => Encode = (prefix, radix) => (character) =>
  /[A-Za-z0-9]/.test(character) ? character : `&#${prefix}${character.codePointAt(0)?.toString(radix)};`;
const SPELLINGS: readonly Encode[] = [
  ...[String, percent, escape, upperDigits(percent), upperDigits(escape), slashes],
  ...[html, htmlNumber('', 10), htmlNumber('0', 10), htmlNumber('x', 16), upperDigits(htmlNumber('x', 16))],
];

const spell = (value: string, encode: Encode): string => Array.from(value, encode).join('');
const base64 = (value: string): string => Buffer.from(value).toString('base64');
const url = (value: string): string => Buffer.from(value).toString('base64url');

/** Forms in which an upstream may write the key. */
const FORMS: readonly (readonly [name: string, written: string])[] = [
  ['as it is', KEY],
  ['percent-encoded', encodeURIComponent(KEY)],
  ['percent-encoded, in lower case', spell(KEY, percent)],
  ['percent-encoded, in upper case', spell(KEY, upperDigits(percent))],
  ['as a form', new URLSearchParams({ KEY }).toString().slice('KEY='.length)],
  ['percent-encoded as in a path', encodeURI(KEY)],
  ['in JSON', JSON.stringify(KEY).slice(1, -1)],
  ['in JSON with escaped slashes', spell(KEY, slashes)],
  ['in JSON as ASCII', spell(KEY, escape)],
  ['in JSON as ASCII, in upper case', spell(KEY, upperDigits(escape))],
  ['in HTML', spell(KEY, html)],
  ['in HTML by numbers', spell(KEY, htmlNumber('', 10))],
  ['in HTML by numbers of three digits', spell(KEY, htmlNumber('0', 10))],
  ['in HTML by hexadecimal numbers', spell(KEY, htmlNumber('x', 16))],
  ['in base64 within HTML', spell(base64(KEY), htmlNumber('x', 16))],
  ['in base64', base64(KEY)],
  ['in base64 without padding', base64(KEY).replace(/=+$/, '')],
  ['in base64 for URLs', url(KEY)],
  ['in base64 within JSON', base64(KEY).replaceAll('/', '\\/')],
  ['in base64 within a query', encodeURIComponent(base64(KEY))],
  ['as user and password in base64', base64(`${USER}:${KEY}`)],
  ['as user and password in base64 for URLs', url(`${USER}:${KEY}`)],
  ['as a user without a password in base64', base64(`${KEY}:`)],
  ['as a password without a user in base64', base64(`:${KEY}`)],
];

describe('Credentials in an answer', () => {
  let RedactorClass: typeof Redactor;
  let formsOf: (key: string) => string[];
  let redactStream: (body: AsyncIterable<Buffer>, redactor: () => Redactor, agentId: string) => AsyncIterable<Buffer>;
  let redactor: Redactor;

  beforeAll(async () => {
    ({ Redactor: RedactorClass } = await loadGatewayModule('response/redactor'));
    ({ redactStream } = await loadGatewayModule('response/redaction-stream'));
    const { credentialForms } = await loadGatewayModule('upstream/credentials');
    formsOf = (key) => credentialForms(CREDENTIALS, () => [key]);
    redactor = new RedactorClass(formsOf(KEY));
  });

  const redact = (written: string): string => redactor.redactAll(Buffer.from(written)).bytes.toString();

  async function* chunksOf(bytes: Buffer, borders: readonly number[]): AsyncGenerator<Buffer> {
    const ends = [...new Set(borders)].filter((end) => end < bytes.length).sort((a, b) => a - b);
    for (const [index, end] of [...ends, bytes.length].entries()) {
      yield bytes.subarray(ends[index - 1] ?? 0, end);
      await Promise.resolve();
    }
  }

  async function redactChunks(bytes: Buffer, borders: readonly number[], by = redactor): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of redactStream(chunksOf(bytes, borders), () => by, 'agent')) parts.push(part);
    return Buffer.concat(parts);
  }

  it.each(FORMS)('are replaced %s', (_, written) => {
    expect(redact(`before ${written} after`)).toBe(REPLACED);
  });

  it.each(FORMS)('are replaced at every chunk border %s', async (_, written) => {
    const bytes = Buffer.from(`before ${written} after`);
    const everyByte = Array.from(bytes.keys());
    expect((await redactChunks(bytes, everyByte)).toString()).toBe(REPLACED);
    for (const border of everyByte) expect((await redactChunks(bytes, [border])).toString()).toBe(REPLACED);
  });

  /** Texts around the key, so that it begins and ends at each alignment. */
  const AROUND = ['', 'u', 'u:', 'us:', 'any other user:'].flatMap((start) =>
    ['', ';', ';;', ';;;'].map((end): [string, string] => [start, end]),
  );

  it.each(AROUND)('are replaced in the base64 of a longer text: %j before, %j after', async (start, end) => {
    for (const encode of [base64, url]) {
      const bytes = Buffer.from(`<${encode(start + KEY + end)}>`);
      const redacted = redactor.redactAll(bytes).bytes.toString();
      const [before = '', after = '', ...more] = redacted.split('[credential]');
      expect([redacted.includes('[credential]'), more]).toEqual([true, []]);
      // No more than the characters that share bits with what surrounds the key.
      expect(before.length).toBeLessThanOrEqual(1 + Math.ceil((Buffer.byteLength(start) * 4) / 3));
      expect(after.length).toBeLessThanOrEqual(1 + base64(end).length + 4);
      for (const border of bytes.keys()) expect((await redactChunks(bytes, [border])).toString()).toBe(redacted);
      expect((await redactChunks(bytes, [...bytes.keys()])).toString()).toBe(redacted);
    }
  });

  it('are replaced as often as they stand there, with nothing between them', () => {
    expect(redact(KEY + KEY + base64(KEY))).toBe('[credential]'.repeat(3));
  });

  it.each([
    ['a part of it', KEY.slice(0, -1)],
    ['its end', KEY.slice(1)],
    ['another case', KEY.toUpperCase()],
  ])('are left out of nothing else: %s stays', (_, written) => {
    expect(redact(`a ${written} b`)).toBe(`a ${written} b`);
  });

  it('are found after their own beginning', () => {
    expect(redact(`sk_live_sk_${KEY}`)).toBe('sk_live_sk_[credential]');
  });

  it('are replaced by the longest where one begins another', () => {
    const both = new RedactorClass(['12345678', '12345678-more']);
    const bytes = Buffer.from('a 12345678-more 12345678-mor');
    expect(both.redactAll(bytes).bytes.toString()).toBe('a [credential] [credential]-mor');
  });

  it('are replaced by the longest of many that begin alike', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 2, maxLength: 6 }), {
      minLength: 1,
      maxLength: 12,
    });
    const answer = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 60 });
    fc.assert(
      fc.property(texts, answer, (secrets, written) => {
        const longestFirst = [...secrets].sort((one, other) => other.length - one.length);
        const replaced = written.replaceAll(new RegExp(longestFirst.join('|'), 'g'), '[credential]');
        expect(new RedactorClass(secrets).redactAll(Buffer.from(written)).bytes.toString()).toBe(replaced);
      }),
      { numRuns: RUNS },
    );
  });

  it('are searched for in one part at a time, however many answers an agent reads', async () => {
    const [answers, parts] = [20, 5];
    let inThisTurn = 0;
    let most = 0;
    const counting = (): Redactor => {
      inThisTurn += 1;
      most = Math.max(most, inThisTurn);
      return redactor;
    };
    const nextTurn = (): void => {
      inThisTurn = 0;
      turn = setImmediate(nextTurn);
    };
    let turn = setImmediate(nextTurn);
    const chunks = (): AsyncGenerator<Buffer> =>
      chunksOf(
        Buffer.alloc(parts * 4_096, 'sk_'),
        Array.from({ length: parts }, (_, index) => (index + 1) * 4_096),
      );
    const read = async (): Promise<void> => {
      for await (const part of redactStream(chunks(), counting, 'agent')) expect(part.length).toBeGreaterThan(0);
    };
    await Promise.all(Array.from({ length: answers }, read));
    clearImmediate(turn);
    // The end of an answer, which was held back, is short.
    expect(most).toBeLessThanOrEqual(2);
  });

  it('hold back only bytes that may be their beginning', () => {
    const event = Buffer.from('data: {"token":"sk_live_51H"}\n\n');
    const { output, rest } = redactor.redact(event, false);
    expect([Buffer.concat(output), rest.length]).toEqual([event, 0]);
    const cut = redactor.redact(Buffer.from('data: sk_live_51H'), false);
    expect([Buffer.concat(cut.output).toString(), cut.rest.toString()]).toEqual(['data: ', 'sk_live_51H']);
  });

  const key = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 }).filter((value) => !/\p{Cc}/u.test(value));
  const anyKey = fc.oneof(key, fc.string({ unit: fc.constantFrom(...'%25\\u0"/+='), minLength: 8, maxLength: 20 }));

  it('never leave, whatever they are, and however and in whichever chunks they come', async () => {
    const writtenBy = (value: string): fc.Arbitrary<string> => {
      const written = fc.constantFrom(value, base64(value), url(value), base64(`${USER}:${value}`));
      return written.chain((form) => {
        const characters = Array.from(form);
        const choices = fc.array(fc.constantFrom(...SPELLINGS), {
          minLength: characters.length,
          maxLength: characters.length,
        });
        return choices.map((encodes) => characters.map((part, index) => encodes[index]?.(part) ?? part).join(''));
      });
    };
    const scenario = anyKey.chain((value) =>
      fc.record({
        value: fc.constant(value),
        written: writtenBy(value),
        // Characters that no credential here has, so that what surrounds a credential is no part of one.
        before: fc.string({ unit: fc.constantFrom('\n', '<', '>'), maxLength: 30 }),
        after: fc.string({ unit: fc.constantFrom('\n', '<', '>'), maxLength: 30 }),
        borders: fc.array(fc.nat(200), { maxLength: 20 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(scenario, async ({ value, written, before, after, borders }) => {
        fc.pre(!/[\n<>]/.test(value));
        const by = new RedactorClass(formsOf(value));
        const bytes = Buffer.from(before + written + after);
        expect((await redactChunks(bytes, borders, by)).toString()).toBe(`${before}[credential]${after}`);
      }),
      { numRuns: RUNS },
    );
  });

  it('leave everything else byte for byte as it is', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array)),
      // Made of beginnings of credentials.
      fc
        .array(fc.constantFrom('sk_', 'sk_live', '%73', '\\u0073', '%', '\\', 'YWNjd', '\\u00'), { maxLength: 60 })
        .map((parts) => Buffer.from(parts.join(''))),
    );
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.nat(400), { maxLength: 30 }), async (body, borders) => {
        expect((await redactChunks(body, borders)).equals(body)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
});
