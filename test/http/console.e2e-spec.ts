import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send, sendRaw } from '../support/application/send';

const POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'";

describe('The console', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '3' } });
  });
  afterAll(() => app.close());

  it.each(['/console', '/console/', '/console/decisions/dec_1', '/console/proof?entry=3', '/console/?code=a&state=b'])(
    'is one page, for everybody, that loads nothing from elsewhere: %s',
    async (path) => {
      const page = await send(app, 'GET', path, { key: null });
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('cache-control')).toBe('no-cache');
      expect(page.headers.get('content-security-policy')).toBe(POLICY);
      expect(page.text).not.toMatch(/https?:|<script>|<style>|\sstyle=|\son\w+=/);
    },
  );

  it('loads files that may be cached for ever and are not counted', async () => {
    const { text } = await send(app, 'GET', '/console', { key: null });
    const paths = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) {
      const file = await send(app, 'GET', path, { key: null });
      expect(file.status).toBe(200);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(file.headers.get('content-type')).toMatch(/css|javascript|svg/);
      expect(file.headers.get('x-ratelimit-remaining')).toBe('3');
    }
  });

  it.each(['/console/assets/index.html', '/console/assets/..%2fconsole-files.js', '/console/assets/a/b'])(
    'has no other file: %s',
    async (path) => {
      const answer = await sendRaw(app, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    },
  );

  it('does not exist if it is switched off', async () => {
    const off = await createTestApp({ environment: { CONSOLE_ENABLED: 'false' } });
    for (const path of ['/console', '/console/decisions/dec_1', '/console/assets/x.js']) {
      expect((await send(off, 'GET', path)).status).toBe(404);
    }
    await off.close();
  });
});
