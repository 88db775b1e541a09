import type { OpenAPIObject, OperationObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { send, sendRaw } from '../support/application/send';

/** Enough clients that memory held for each of them is noticeable. */
const CLIENTS = 100;

/** Bytes that this process holds outside the JavaScript heap. */
function heldBytes(): number {
  return process.memoryUsage().external;
}

describe('The documentation', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  it('is what / redirects to', async () => {
    const answer = await send(app, 'GET', '/', { key: null });
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toBe('/docs');
  });

  it('is a page that loads nothing from other origins, and everything it loads exists', async () => {
    const page = await send(app, 'GET', '/docs', { key: null });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).not.toMatch(/https?:|<script>|<style>|\son\w+=/);
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(loaded).toHaveLength(6);
    for (const path of loaded) {
      const asset = await send(app, 'GET', path, { key: null });
      expect(asset.status).toBe(200);
      expect(asset.text.length).toBeGreaterThan(100);
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
      expect(asset.headers.get('content-type')).toMatch(/css|javascript|png/);
      expect(asset.headers.get('x-ratelimit-remaining')).not.toBeNull();
    }
  });

  it('starts without requests to other origins, which its policy forbids, and keeps no key in the browser', async () => {
    const start = await send(app, 'GET', '/docs/start.js', { key: null });
    expect(start.text).toContain('validatorUrl: null');
    expect(start.text).toContain('persistAuthorization: false');
    const policy = start.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/https?:|upgrade-insecure-requests/);
  });

  it.each([
    '/docs/package.json',
    '/docs/swagger-ui.js',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e%2fpackage.json',
    '/docs/../package.json',
    '/docs/a/b',
  ])('serves no other file: %s', async (path) => {
    const answer = await sendRaw(app, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (404|401) /);
  });

  it('takes no query parameters', async () => {
    expect((await send(app, 'GET', '/docs?url=https://evil.example', { key: null })).status).toBe(400);
  });

  it('keeps its largest file in memory once for all clients', async () => {
    const path = '/docs/swagger-ui-bundle.js';
    const { text } = await send(app, 'GET', path, { key: null });
    const { hostname, port } = new URL(app.url);
    const before = heldBytes();
    const clients = Array.from({ length: CLIENTS }, () => connect(Number(port), hostname).pause());
    // More than the operating system buffers for all of them together.
    const times = Math.ceil(8_000_000 / text.length);
    for (const client of clients) client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
    await Promise.all(clients.map((client) => once(client, 'readable')));
    expect(heldBytes() - before).toBeLessThan((CLIENTS * text.length) / 2);
    clients.forEach((client) => client.destroy());
  });

  it('does not exist if it is switched off', async () => {
    const off = await createTestApp({ environment: { SWAGGER_ENABLED: 'false' } });
    for (const path of ['/', '/docs', '/docs/openapi.json', '/docs/start.js', '/docs/swagger-ui.css']) {
      expect((await send(off, 'GET', path)).status).toBe(404);
    }
    await off.close();
  });
});

describe('The OpenAPI document', () => {
  let app: TestApp;
  let document: OpenAPIObject;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
    const answer = await send(app, 'GET', '/docs/openapi.json', { key: null });
    expect(answer.headers.get('content-type')).toContain('application/json');
    document = answer.body;
  });
  afterAll(() => app.close());

  type Method = 'get' | 'post' | 'put' | 'delete';

  function operation(path: string, method: Method = 'get'): OperationObject | undefined {
    return document.paths[`/api/v1/samples${path}`]?.[method];
  }

  /** Responses may be defined once and referred to. */
  function resolved(response: ResponseObject | ReferenceObject): ResponseObject {
    if (!('$ref' in response)) return response;
    const name = response.$ref.replace('#/components/responses/', '');
    return document.components?.responses?.[name] as ResponseObject;
  }

  function codes(path: string, method: Method): string[] {
    const responses = Object.values(operation(path, method)?.responses ?? {}) as (ResponseObject | ReferenceObject)[];
    return responses.map(resolved).flatMap(({ content }) => Object.keys(content?.['application/json']?.examples ?? {}));
  }

  it('says how to authenticate, and which routes are public', () => {
    expect(document.components?.securitySchemes).toEqual({
      ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      Bearer: { type: 'http', scheme: 'bearer' },
    });
    expect(document.security).toEqual([{ ApiKey: [] }, { Bearer: [] }]);
    expect(operation('/open')?.security).toEqual([]);
    expect(operation('')?.security).toBeUndefined();
  });

  it('lists the errors that each operation can give, with an example of each', () => {
    expect(codes('', 'get').sort()).toEqual([
      'INTERNAL_ERROR',
      'PERMISSION_DENIED',
      'RATE_LIMITED',
      'UNAUTHORIZED',
      'UNAVAILABLE',
      'VALIDATION_ERROR',
    ]);
    expect(codes('', 'post')).toEqual(expect.arrayContaining(['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']));
    expect(codes('/{id}', 'put')).toEqual(expect.arrayContaining(['PRECONDITION_FAILED', 'NOT_FOUND']));
    expect(codes('/open', 'get')).not.toContain('UNAUTHORIZED');
  });

  it('documents ETag and Location', () => {
    expect(operation('/{id}')?.responses['304']).toBeDefined();
    expect(operation('', 'post')?.responses['201']).toMatchObject({ headers: { ETag: {}, Location: {} } });
    expect(operation('/{id}', 'put')?.parameters).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'If-Match', in: 'header', required: false })]),
    );
  });

  it('states the limits of every member and parameter', () => {
    expect(document.components?.schemas?.['SampleRequest']).toMatchObject({
      required: ['name', 'value'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 10 },
        description: { minLength: 0, maxLength: 20, nullable: true, description: 'Default: `""`.' },
        tags: { type: 'array', maxItems: 3, uniqueItems: true, items: { type: 'string', minLength: 1, maxLength: 5 } },
        priority: { type: 'integer', minimum: -5, maximum: 5 },
        value: { oneOf: [{ type: 'string', maxLength: 10 }, { type: 'number' }, { type: 'boolean' }] },
        expiresAt: { type: 'string', format: 'date-time' },
        properties: { type: 'object', additionalProperties: true },
        level: { type: 'string', enum: ['low', 'high', null], nullable: true },
      },
    });
    expect(operation('')?.parameters).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'limit', in: 'query', required: false }),
        expect.objectContaining({ name: 'cursor', in: 'query', required: false }),
        expect.objectContaining({ name: 'level', in: 'query', required: false }),
      ]),
    );
  });
});
