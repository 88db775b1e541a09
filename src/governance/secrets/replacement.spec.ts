import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { SecretPointers, secretPointerFault, USUAL_SECRET_POINTERS } from '../../core/values/secret-pointers';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { hasReplacement, hasSecrets, replaceSecrets, reservedFaults } from './replacement';
import { SecretKey } from './secret-key';

/** `REPLACEMENT_ROUNDS=100000 npx jest src/governance/secrets/replacement` tries as many. */
const ROUNDS = Number(process.env['REPLACEMENT_ROUNDS'] ?? 20_000);

const KEY = Buffer.alloc(32, 5);
const AGENT = 'agt_1';
const seal = new SecretKey(KEY).sealFor(AGENT);
const usual = new SecretPointers(USUAL_SECRET_POINTERS);

/** Computes a replacement without the implementation. */
function hmac(pointer: string, value: JsonValue): Buffer {
  const content = canonicalJson({ agentId: AGENT, pointer, value });
  return createHmac('sha256', KEY).update(content).digest().subarray(0, 16);
}

function secretAt(pointer: string, value: JsonValue): JsonObject {
  return { $secret: hmac(pointer, value).toString('base64url') };
}

/** An element of docs/vectors/replacements-v1.json. */
interface ReplacementVector {
  readonly agentId: string | null;
  readonly pointer: string;
  readonly value: JsonValue;
  readonly text: string;
  readonly replacement: JsonObject;
}

const { secretKey, replacements } = JSON.parse(
  readFileSync(join(__dirname, '../../../docs/vectors/replacements-v1.json'), 'utf8'),
) as { secretKey: string; replacements: ReplacementVector[] };

describe('The published vectors', () => {
  it.each(replacements)(
    'say what stands at $pointer for $agentId',
    ({ agentId, pointer, value, text, replacement }) => {
      const names = pointer.slice(1).split('/');
      const tokens = names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
      const isResult = names[0] === 'result';
      // The value stands alone in its parameters, or in the result.
      const nested = tokens
        .slice(isResult ? 1 : 0)
        .reduceRight<JsonValue>((inner, name) => (name === '1' ? [0, inner] : { [name]: inner }), value);
      const pointers = new SecretPointers('$hmac' in replacement ? [] : [pointer]);
      const search = { pointers, ...(isResult && { below: 'result' as const }) };
      const replaced = replaceSecrets(nested, search, new SecretKey(Buffer.from(secretKey, 'base64')).sealFor(agentId));
      expect(JSON.stringify(replaced)).toContain(JSON.stringify(replacement));
      const isHash = '$hmac' in replacement;
      const content = isHash
        ? { agentId, pointer: `${pointer}/$sha256`, value: (value as JsonObject)['$sha256'] ?? null }
        : { agentId, pointer, value };
      expect(canonicalJson(content)).toBe(text);
      const seal = createHmac('sha256', Buffer.from(secretKey, 'base64')).update(text).digest().subarray(0, 16);
      expect(replacement).toMatchObject(
        isHash ? { $hmac: seal.toString('hex') } : { $secret: seal.toString('base64url') },
      );
    },
  );
});

describe('Secrets', () => {
  it('are replaced by an HMAC over agent, pointer and value', () => {
    const parameters = { to: 'a', card: { Access_Token: 'x', numbers: [{ PASSWORD: { a: 1 } }], pin: 12 } };
    const pointers = usual.with(['/card/*/0/nothing', '/card/p-in']);
    expect(replaceSecrets(parameters, { pointers }, seal)).toEqual({
      to: 'a',
      card: {
        Access_Token: secretAt('/card/Access_Token', 'x'),
        numbers: [{ PASSWORD: secretAt('/card/numbers/0/PASSWORD', { a: 1 }) }],
        pin: secretAt('/card/pin', 12),
      },
    });
    expect(secretAt('/a', 'x')['$secret']).toHaveLength(22);
  });

  it.each([null, true, false, ''])('stay where they are %j', (value) => {
    const parameters = { token: value };
    expect(hasSecrets(parameters, { pointers: usual })).toBe(false);
    expect(replaceSecrets(parameters, { pointers: usual }, seal)).toBe(parameters);
  });

  it('are named below /result in a result', () => {
    const pointers = new SecretPointers(['/result', '/result/a', '/b']);
    const search = { pointers, below: 'result' } as const;
    expect(replaceSecrets('text', search, seal)).toEqual(secretAt('/result', 'text'));
    expect(replaceSecrets(null, search, seal)).toBeNull();
    const inside = { pointers: new SecretPointers(['/result/a', '/b']), below: 'result' } as const;
    expect(replaceSecrets({ a: 1, b: 2 }, inside, seal)).toEqual({ a: secretAt('/result/a', 1), b: 2 });
  });

  it('replace hashes of what was not sent, where an object has nothing else', () => {
    const parameters = {
      a: { $sha256: 'f00', bytes: 3 },
      b: { $sha256: 'f00', bytes: 3, c: 1 },
      c: { $sha256: 'f00' },
    };
    expect(replaceSecrets(parameters, { pointers: usual }, seal)).toEqual({
      ...parameters,
      a: { $hmac: hmac('/a/$sha256', 'f00').toString('hex'), bytes: 3 },
    });
    expect(replaceSecrets({ $sha256: 'f00', bytes: 3 }, { pointers: usual }, seal)).toEqual({
      $hmac: hmac('/$sha256', 'f00').toString('hex'),
      bytes: 3,
    });
  });

  it('escape names in pointers', () => {
    const pointers = new SecretPointers(['/a~1b/c~0d']);
    expect(replaceSecrets({ 'a/b': { 'c~d': 1 } }, { pointers }, seal)).toEqual({
      'a/b': { 'c~d': secretAt('/a~1b/c~0d', 1) },
    });
  });

  it('are found on record', () => {
    expect(hasReplacement({ a: [{ b: secretAt('/x', 1) }] })).toBe(true);
    expect(hasReplacement({ a: [{ $hmac: '00', bytes: 1 }] })).toBe(true);
    expect(hasReplacement({ a: [{ $secret: 'x', b: 1 }, { $hmac: '00' }, { secret: 'x' }] })).toBe(false);
  });
});

describe('Members of the service', () => {
  it('are faults wherever they stand', () => {
    const parameters = { a: [{ $secret: 1 }], password: { 'b c': { $hmac: 'x', bytes: 1 } }, secret: { $sha256: 'x' } };
    expect(reservedFaults(parameters).map(({ at }) => at)).toEqual(['.a[0].$secret', '.password["b c"].$hmac']);
  });

  it('are looked for only until there are enough faults', () => {
    const read = jest.fn(() => 1);
    const item = Object.defineProperty({}, '$secret', { enumerable: true, get: read }) as { $secret: number };
    expect(reservedFaults({ a: Array<typeof item>(5_000).fill(item) })).toHaveLength(1_000);
    expect(read.mock.calls.length).toBeLessThan(2_000);
  });

  it('may be repeated where they are on record', () => {
    const recorded = { a: secretAt('/a', 'x'), b: [{ $hmac: 'f0', bytes: 3 }], c: 1 };
    expect(reservedFaults(recorded, recorded)).toEqual([]);
    expect(
      reservedFaults({ a: secretAt('/a', 'y'), b: [1, recorded.b[0] ?? null], c: secretAt('/a', 'x') }, recorded),
    ).toHaveLength(3);
    const search = { pointers: usual, recorded };
    expect(replaceSecrets(recorded, search, seal)).toBe(recorded);
    // A plain value in the place of a replacement is a secret, whatever the pointers say.
    expect(replaceSecrets({ a: 'y', c: 2 }, search, seal)).toEqual({ a: secretAt('/a', 'y'), c: 2 });
  });
});

describe('Pointers', () => {
  it.each(['', 'a', '/a~', '/a~2', `/${'a/'.repeat(30)}`, `/${'x'.repeat(500)}`])('are refused: %j', (text) => {
    expect(secretPointerFault(text)).toMatch(/^must /);
  });

  it.each(['/', '/a', '/**', '/a//b', '/~0~1', '/-', `/${'**/'.repeat(100)}a`])('are accepted: %j', (text) => {
    expect(secretPointerFault(text)).toBeUndefined();
  });

  it('cover what lies within a value that they name', () => {
    const pointers = new SecretPointers(['/a/*/c', '/**/token']);
    expect(
      [
        ['a', '*', 'c'],
        ['a', '0', 'c', 'd'],
        ['x', 'TOKEN', 'y'],
      ].map((path) => pointers.covers(path)),
    ).toEqual([true, true, true]);
    expect([['a', 'c'], ['a'], ['tokens']].map((path) => pointers.covers(path))).toEqual([false, false, false]);
  });

  it('name what forms nest in one name', () => {
    const pointers = ['/body/card/*/pin', '/body/codes/0', '/body/a.b', '/body/*/x/y'];
    const form = new SecretPointers([...USUAL_SECRET_POINTERS, ...pointers]);
    const isSecret = (name: string): boolean => form.covers(['body', name]);
    const secret = [
      'user[password]',
      'user[pass word]',
      'token[]',
      'a[0][api_key]',
      'a[][x-api-key][b]',
      'user.password',
    ]
      .concat('api.key', 'users[0].token', '.jwt', 'password[', 'card[][pin]', 'card[7][pin]', 'codes[]', 'a.b', 'a_b')
      .concat('q[x][y]', `a${'[b]'.repeat(8)}`, `${'a.'.repeat(100_000)}b`);
    expect(secret.filter((name) => !isSecret(name))).toEqual([]);
    const others = ['user[name]', 'card[pin]', 'card[x][pins]', 'codes[1]', 'a[b]', 'tokens[]', `a${'[b]'.repeat(7)}`];
    expect(others.filter(isSecret)).toEqual([]);
  });

  it('go on within a name of a form', () => {
    expect(new SecretPointers(['/body/card/0/pin']).covers(['body', 'card[]', 'pin'])).toBe(true);
    expect(new SecretPointers(['/body/card/0/pin']).covers(['body', 'card', '0', 'pin'])).toBe(true);
    expect(new SecretPointers([]).covers([`a${'[b]'.repeat(99)}`])).toBe(false);
  });
});

/** Random values that are the same in every run. */
class RandomValues {
  private state = 48;

  below(bound: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * bound);
  }

  of<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  list<Item>(most: number, make: () => Item): Item[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  value(depth: number): JsonValue {
    const kind = depth === 0 ? 2 + this.below(2) : this.below(5);
    if (kind === 0) return Object.fromEntries(this.list(4, () => [this.of(NAMES), this.value(depth - 1)]));
    if (kind === 1) return this.list(3, () => this.value(depth - 1));
    if (kind === 4) return { $sha256: 'f0', bytes: this.below(9) };
    return this.of<JsonValue>([null, true, false, '', 0, 7, 'text', 'Ä', { $sha256: 1, bytes: 2, c: 3 }, {}]);
  }

  pointer(): string {
    return `/${[this.of(TOKENS), ...this.list(4, () => this.of(TOKENS))].join('/')}`;
  }
}

const NAMES = ['a', 'A', 'a_', 'b', '-B', 'token', 'c/d', 'c~d', '0', '', 'Ä', '*', '**', '-*-'] as const;
const TOKENS = ['a', 'b', '*', '**', 'TO_KEN', 'c~1d', 'c~0d', '0', '1', '', 'ä'] as const;

describe('Random values with random pointers', () => {
  const random = new RandomValues();

  /** True if a pattern matches a path, by the definition. */
  function matches(pattern: readonly string[], path: readonly string[]): boolean {
    const [token, ...rest] = pattern;
    if (token === undefined) return path.length === 0;
    if (token === '**') return matches(rest, path) || (path.length > 0 && matches(pattern, path.slice(1)));
    const [name, ...below] = path;
    if (name === undefined) return false;
    return (token === '*' || plain(unescape(token)) === plain(name)) && matches(rest, below);
  }

  function unescape(token: string): string {
    return token.replaceAll('~1', '/').replaceAll('~0', '~');
  }

  function plain(name: string): string {
    return [...name.toLowerCase()].filter((character) => !'_-. '.includes(character)).join('');
  }

  /** The replaced value, by the definition. */
  function expected(value: JsonValue, patterns: readonly string[][], path: readonly string[]): JsonValue {
    const pointer = path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    const isEmpty = [null, true, false, ''].includes(value as null);
    if (path.length > 0 && !isEmpty && patterns.some((pattern) => matches(pattern, path)))
      return secretAt(pointer, value);
    if (Array.isArray(value))
      return value.map((item: JsonValue, index) => expected(item, patterns, [...path, String(index)]));
    if (typeof value !== 'object' || value === null) return value;
    const object = value as JsonObject;
    const isDigest = Object.keys(object).sort().join() === '$sha256,bytes';
    return Object.fromEntries(
      Object.entries(object).map(([name, member]) =>
        isDigest && name === '$sha256'
          ? ['$hmac', hmac(`${pointer}/$sha256`, member).toString('hex')]
          : [name, expected(member, patterns, [...path, name])],
      ),
    );
  }

  it(`are replaced as the definition says, ${ROUNDS} times`, () => {
    let secrets = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const texts = [random.pointer(), ...random.list(3, () => random.pointer())];
      const parameters = Object.fromEntries(random.list(4, () => [random.of(NAMES), random.value(3)]));
      const search = { pointers: new SecretPointers(texts) };
      const replaced = replaceSecrets(parameters, search, seal);
      const expectation = expected(
        parameters,
        texts.map((text) => text.split('/').slice(1)),
        [],
      );
      const text = canonicalJson(replaced);
      if (text !== canonicalJson(expectation))
        expect({ texts, parameters, replaced }).toEqual({ texts, parameters, replaced: expectation });
      const isChanged = text !== canonicalJson(parameters);
      if (hasSecrets(parameters, search) !== isChanged)
        expect({ texts, parameters }).toEqual('found by hasSecrets as well');
      if (isChanged) secrets += 1;
    }
    expect(secrets).toBeGreaterThan(0.3 * ROUNDS);
    expect(secrets).toBeLessThan(0.95 * ROUNDS);
  });

  it('end soon, however many ** the pointers have', () => {
    const grow = (depth: number): JsonValue => (depth === 0 ? 1 : { a: grow(depth - 1), b: grow(depth - 1) });
    const hostile = Array.from({ length: 10 }, (_, index) => `/**${'/a/**/b/**'.repeat(7)}/z${index}`);
    expect(hasSecrets(grow(14), { pointers: usual.with(hostile) })).toBe(false);
  });
});
