import { banner, localUrl, type StartReport } from './banner';

const REPORT: StartReport = {
  database: '/var/lib/governance.db',
  zones: '2026f',
  head: { sequence: 12, hash: '3f9c0b6e8d2a4f7190c5e1b7a6d483523f9c0b6e8d2a4f7190c5e1b7a6d48352' },
  url: 'http://localhost:3000',
  hasConsole: true,
  hasDocs: true,
  generatedKey: null,
  warnings: [],
};

describe('banner', () => {
  it('shows database, chain and addresses', () => {
    expect(banner(REPORT)).toBe(`
The governance service is ready.
  Database  /var/lib/governance.db
  Chain     12 entries, head 3f9c0b6e8d2a…
  Zones     IANA 2026f
  API       http://localhost:3000/api/v1
  Console   http://localhost:3000/console
  Docs      http://localhost:3000/docs
  Health    http://localhost:3000/api/v1/health
  Try       curl http://localhost:3000/api/v1/health

`);
  });

  it('shows a generated key', () => {
    const lines = banner({ ...REPORT, generatedKey: 'abc123' }).split('\n');
    expect(lines).toContain('  API key   abc123 (for this run only; set API_KEY to keep one)');
  });

  it.each([
    ['abc123', 'key=abc123', 'and one that is denied:'],
    [null, 'key="$API_KEY"', 'and one that is denied, in a terminal where API_KEY is set to your key:'],
  ])('has first commands for an empty chain, with the key %s', (generatedKey, line, where) => {
    const text = banner({ ...REPORT, generatedKey, head: { ...REPORT.head, sequence: 0 } });
    const lines = [`  Try       an action that is allowed ${where}`, line, expect.stringMatching(/^post agents \W/)];
    expect(text.split('\n')).toEqual(expect.arrayContaining(lines));
    expect(banner({ ...REPORT, generatedKey })).not.toContain('post');
  });

  it('names the documentation only when it is served', () => {
    expect(banner({ ...REPORT, hasDocs: false })).not.toContain('docs');
  });

  it('names the console only when it is served', () => {
    expect(banner({ ...REPORT, hasConsole: false })).not.toContain('onsole');
  });

  it('begins with the warnings', () => {
    expect(banner({ ...REPORT, warnings: ['too short'] }).split('\n')[2]).toBe('  WARNING   too short');
  });

  it.each([
    [0, 'empty'],
    [1, '1 entry, head 3f9c0b6e8d2a…'],
  ])('shows a chain of %d', (sequence, expected) => {
    const text = banner({ ...REPORT, head: { ...REPORT.head, sequence } });
    expect(text).toContain(`  Chain     ${expected}\n`);
  });
});

describe('localUrl', () => {
  it.each([
    ['0.0.0.0', 'http://localhost:80'],
    ['::', 'http://localhost:80'],
    ['192.0.2.7', 'http://192.0.2.7:80'],
    ['::1', 'http://[::1]:80'],
    ['api.internal', 'http://api.internal:80'],
  ])('of %s is %s', (host, url) => {
    expect(localUrl(host, 80)).toBe(url);
  });
});
