import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf } from '../support/application/factories';
import { exchange, post } from '../support/application/wire';

describe('The address of a client', () => {
  let app: TestApp;
  afterEach(() => app.close());

  async function start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    app = await createTestApp({ environment });
  }

  /** The address that the audit entry has for a request. */
  async function audited(...headers: string[]): Promise<string | null | undefined> {
    const [answer] = await exchange(app, post('/api/v1/entities', '{"type":"a","name":"b"}', headers));
    expect(answer?.status).toBe(201);
    const [entry] = await auditOf(app, answer?.body.id as string);
    return entry?.ip;
  }

  it('is the socket\u2019s, whatever headers say', async () => {
    await start();
    for (const header of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'X-Client-IP', 'True-Client-IP', 'Via']) {
      expect(await audited(`${header}: 198.51.100.1`)).toBe('127.0.0.1');
    }
    expect(await audited('Forwarded: for=198.51.100.1', 'X-Forwarded-For: a', 'X-Forwarded-For: b')).toBe('127.0.0.1');
  });

  it('is the one that the trusted proxy added, not those it received', async () => {
    await start({ TRUST_PROXY: '1' });
    expect(await audited('X-Forwarded-For: 198.51.100.1')).toBe('198.51.100.1');
    expect(await audited('X-Forwarded-For: 203.0.113.9, 198.51.100.1')).toBe('198.51.100.1');
    expect(await audited('X-Forwarded-For: 203.0.113.9', 'X-Forwarded-For: 198.51.100.1')).toBe('198.51.100.1');
    expect(await audited(`X-Forwarded-For: ${'203.0.113.9, '.repeat(500)}198.51.100.1`)).toBe('198.51.100.1');
    expect(await audited('X-Forwarded-For: 2001:db8::1')).toBe('2001:db8::1');
    expect(await audited('X-Forwarded-For: ::ffff:198.51.100.1')).toBe('198.51.100.1');
    expect(await audited('Forwarded: for=198.51.100.1', 'X-Real-IP: 198.51.100.1')).toBe('127.0.0.1');
  });

  it.each([
    '',
    ' ',
    ',',
    'unknown',
    '198.51.100',
    '198.51.100.1:',
    ':80',
    '[unknown]:80',
    '2001:db8::1:80443',
    '[198.51.100',
    "'; DROP TABLE x",
    '<script>',
  ])('is the proxy\u2019s if the header has something that is not an address: %j', async (forwarded) => {
    await start({ TRUST_PROXY: '1' });
    expect(await audited(`X-Forwarded-For: ${forwarded}`)).toBe('127.0.0.1');
  });

  it.each([
    ['203.0.113.7:51000', '203.0.113.7'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['203.0.113.7:51000, 10.1.2.3:443,[fd00::7]:80, [fd00::8]', '203.0.113.7'],
  ])('is without its port, and so are those of trusted proxies: %s', async (forwarded, address) => {
    await start({ TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8,fd00::/8' });
    expect(await audited(`X-Forwarded-For: ${forwarded}`)).toBe(address);
  });

  it('is the last address that does not belong to a trusted proxy', async () => {
    await start({ TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8' });
    expect(await audited('X-Forwarded-For: 203.0.113.9, 198.51.100.1, 10.1.2.3')).toBe('198.51.100.1');
    expect(await audited('X-Forwarded-For: 10.9.9.9, 10.1.2.3')).toBe('10.9.9.9');
  });
});
