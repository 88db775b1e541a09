import { parse as parseQuery } from 'node:querystring';
import fc from 'fast-check';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildActions, type GatewayRequest } from './built-actions';

const REQUESTS = 4_000;
const ANY = { action: 'call', resource: { type: 'api', id: 'all' } };
const ROUTES = [
  { ...ANY, match: 'GET /secret' },
  { ...ANY, match: 'GET,POST /:name' },
];

/** Texts of a few symbols, short enough to be read alike by chance. */
function textsOf(symbols: readonly string[]): string[] {
  const text = fc.array(fc.constantFrom(...symbols), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  return fc.sample(text, REQUESTS);
}

/** Requests that are the same action although a reader tells them apart. */
async function confusedBy(
  texts: readonly string[],
  requestOf: (text: string) => GatewayRequest,
  readers: readonly ((text: string) => unknown)[],
): Promise<string[]> {
  const results = await buildActions({ routes: ROUTES }, texts.map(requestOf));
  const accepted = new Map<string, string>();
  const confused: string[] = [];
  results.forEach(({ parameters }, index) => {
    if (parameters === undefined) return;
    const text = texts[index] ?? '';
    const action = JSON.stringify(sorted(parameters));
    const first = accepted.get(action) ?? text;
    accepted.set(action, first);
    if (readers.some((read) => JSON.stringify(read(first)) !== JSON.stringify(read(text))))
      confused.push(`${first} ${text}`);
  });
  expect(accepted.size).toBeGreaterThan(20);
  return confused;
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

/** Fields in the order of their names, as programs read them in different ways. */
const FORM_READERS: readonly ((text: string) => unknown)[] = [
  (text) => [...new URLSearchParams(text)].sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  (text) => sorted({ ...parseQuery(text) }),
  (text) => sorted({ ...parseQuery(text.replaceAll(';', '&')) }),
];
const withoutPlus = (text: string): unknown => sorted({ ...parseQuery(text.replaceAll('+', '%2B')) });

describeOnSqlite('Requests that an upstream could read differently', () => {
  it('are never the same action: queries', async () => {
    const symbols = ['a', 'b', 'A', '=', '=', '&', '%', '%41', '%20', '%2B', '+', '[', ']', '[]', '%5B', ';', '1'];
    const target = (text: string): GatewayRequest => ({ target: `/x?${text}` });
    expect(await confusedBy(textsOf(symbols), target, [...FORM_READERS, withoutPlus])).toEqual([]);
  });

  it('are never the same action: forms', async () => {
    const symbols = ['a', 'b', '=', '=', '&', '%', '%41', '+', '%20', '%2B', '[', ']', '[]', ';', 'é', '\n'];
    const request = (text: string): GatewayRequest => ({
      method: 'POST',
      target: '/x',
      headers: ['Content-Type', 'application/x-www-form-urlencoded'],
      body: Buffer.from(text).toString('latin1'),
    });
    expect(await confusedBy(textsOf(symbols), request, FORM_READERS)).toEqual([]);
  });

  it('are never the same action: JSON', async () => {
    const members = [
      '"a":1',
      '"a":2',
      '"A":1',
      '"\\u0061":1',
      '"b":1.0',
      '"b":1',
      '"b":10e-1',
      '"b":1.00000000000000000001',
    ];
    const text = fc.array(fc.constantFrom(...members), { maxLength: 3 }).map((parts) => `{${parts.join(', ')}}`);
    const request = (body: string): GatewayRequest => ({
      method: 'POST',
      target: '/x',
      headers: ['Content-Type', 'application/json'],
      body,
    });
    const lastWins = (body: string): unknown => sorted(JSON.parse(body));
    const firstWins = (body: string): unknown => body.replace(/("[^"]*"):\S+(?=.*\1)/g, '').includes('00000000001');
    const foldedCase = (body: string): unknown => sorted(JSON.parse(body.toLowerCase()));
    const texts = fc.sample(text, REQUESTS);
    const results = await buildActions({ routes: ROUTES }, texts.map(request));
    const seen = new Map<string, string>();
    results.forEach(({ parameters }, index) => {
      if (parameters === undefined) return;
      const body = texts[index] ?? '';
      const action = JSON.stringify(sorted(parameters));
      const first = seen.get(action) ?? body;
      seen.set(action, first);
      for (const read of [lastWins, firstWins, foldedCase]) expect(read(body)).toEqual(read(first));
    });
    expect(seen.size).toBeGreaterThan(5);
  });

  it('are never the same action: multipart forms', async () => {
    const symbols = ['--B', '--boundary', '\r\n', '\n', 'a', '--'];
    const requestOf =
      (boundary: string) =>
      (content: string): GatewayRequest => ({
        method: 'POST',
        target: '/x',
        headers: ['Content-Type', `multipart/form-data; boundary=${boundary}`],
        body: `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${content}\r\n--${boundary}--`,
      });
    const texts = textsOf(symbols);
    const requests = [...texts.map(requestOf('B')), ...texts.map(requestOf('boundary'))];
    const results = await buildActions({ routes: ROUTES }, requests);
    const partsBy = (index: number): string =>
      JSON.stringify((requests[index]?.body ?? '').split(index < texts.length ? /--B/ : /--boundary/));
    const seen = new Map<string, string>();
    results.forEach(({ parameters }, index) => {
      if (parameters === undefined) return;
      const action = JSON.stringify(parameters);
      expect(partsBy(index)).toBe(seen.get(action) ?? partsBy(index));
      seen.set(action, partsBy(index));
    });
    expect(seen.size).toBeGreaterThan(5);
  });

  it('never reach a later route by another spelling of an earlier one', async () => {
    const symbols = [
      'secret',
      'Secret',
      'SECRET',
      's',
      '%65',
      '%2e',
      '.',
      '.json',
      '/',
      '%2F',
      '%20',
      'x',
      '%',
      'ecret',
    ];
    const targets = textsOf(symbols).map((text) => `/${text}`);
    const results = await buildActions(
      { routes: ROUTES },
      targets.map((target) => ({ target })),
    );
    const later = targets.filter((_, index) => results[index]?.route === 'GET,POST /:name');
    expect(later.length).toBeGreaterThan(20);
    const loose = (target: string): string =>
      decodeURIComponent(target.replace(/%(?![0-9a-f]{2})/gi, '%25'))
        .toLowerCase()
        .replace(/\/$/, '')
        .replace(/(?<=.)\..*$/, '');
    expect(later.filter((target) => loose(target) === '/secret')).toEqual([]);
  });
});
