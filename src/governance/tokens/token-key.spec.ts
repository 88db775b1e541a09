import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeySet } from './token-key';

const MINUTE = 60_000;

describe('The keys of an issuer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'));
  const path = join(folder, 'jwks.json');

  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([0.5, 1, 1.5])('are at most ten minutes old if they are used every %d minutes', async (gap) => {
    const keys = new KeySet(path, (error) => {
      throw error;
    });
    writeFileSync(path, JSON.stringify({ keys: [publicKey('old')] }));
    await keys.refresh();
    writeFileSync(path, JSON.stringify({ keys: [publicKey('new')] }));
    for (let passed = gap; passed <= 10; passed += gap) {
      jest.advanceTimersByTime(gap * MINUTE);
      await keys.refresh();
    }
    expect(keys.current.map(({ kid }) => kid)).toEqual(['new']);
  });

  it('stay as they are when the issuer lists more than a hundred', async () => {
    const faults: unknown[] = [];
    const keys = new KeySet(path, (error) => faults.push(error));
    const many = Array.from({ length: 101 }, (_, index) => publicKey(`key ${index}`));
    writeFileSync(path, JSON.stringify({ keys: many.slice(1) }));
    await keys.refresh();
    expect([faults, keys.current.length]).toEqual([[], 100]);
    writeFileSync(path, JSON.stringify({ keys: many }));
    jest.advanceTimersByTime(10 * MINUTE);
    await keys.refresh();
    expect(faults).toEqual([expect.objectContaining({ message: expect.stringContaining('more than 100 keys') })]);
    expect(keys.current).toHaveLength(100);
  });
});

function publicKey(kid: string): object {
  return { kid, kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
}
