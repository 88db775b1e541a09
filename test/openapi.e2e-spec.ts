import type { OpenAPIObject } from '@nestjs/swagger';
import { createTestApp, type TestApp } from './support/create-test-app';
import { exampleBodies, examplePath, operationsOf } from './support/api-document';
import { readDocument, ROOT } from './support/markdown';
import { send } from './support/send';
import { run } from './support/shell';
import { SwaggerSession } from './support/swagger-session';

const COMMITTED = readDocument('openapi.json');
const document = JSON.parse(COMMITTED) as OpenAPIObject;
const operations = operationsOf(document);

describe('openapi.json', () => {
  it('is what the service serves (`npm run openapi` makes it anew)', async () => {
    const app = await createTestApp();
    const served = await send(app, 'GET', '/docs/openapi.json', { key: null });
    await app.close();
    expect(`${JSON.stringify(served.body, null, 2)}\n`).toBe(COMMITTED);
  });

  it('passes a linter by its recommended rules', async () => {
    const { output, errors } = await run(process.execPath, ['scripts/lint-openapi.mjs'], { folder: ROOT });
    expect(output + errors).toBe('');
  });

  it('has a sentence for every tag, and uses no other', () => {
    const tags = document.tags ?? [];
    expect(tags.filter(({ description = '' }) => !/^[A-Z].*\.$/.test(description))).toEqual([]);
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect([...used].sort()).toEqual(tags.map(({ name }) => name).sort());
  });

  it('has its operations in the order of its tags, as Swagger UI shows them', () => {
    const order = (document.tags ?? []).map(({ name }) => name);
    const places = operations.map(({ operation }) => order.indexOf(operation.tags?.[0] ?? ''));
    expect(places).toEqual([...places].sort((left, right) => left - right));
  });

  it('describes every parameter', () => {
    const undescribed = operations.flatMap(({ id, operation }) =>
      (operation.parameters ?? []).filter((parameter) => !('description' in parameter)).map(() => id),
    );
    expect(undescribed).toEqual([]);
  });
});

describe.each(operations.map((operation) => [operation.id, operation] as const))('%s', (_id, documented) => {
  const { operation, method } = documented;

  it('has one tag, a summary and the schema of what it answers', () => {
    expect(operation.tags).toHaveLength(1);
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    expect(answers).toHaveLength(1);
    const [[status, answer] = ['', undefined]] = answers;
    const type = operation.operationId === 'provenance_export' ? 'application/x-ndjson' : 'application/json';
    if (status !== '204') expect(answer).toHaveProperty(['content', type, 'schema']);
  });

  it('has an example of its body and of every parameter of its path', () => {
    expect(examplePath(documented)).not.toMatch(/[{}]|undefined/);
    const takesBody = operation.requestBody !== undefined;
    expect(takesBody ? exampleBodies(documented)[0] : {}).toBeDefined();
    if (method === 'GET' || method === 'DELETE') expect(takesBody).toBe(false);
  });
});

describe('The examples, executed in order on an empty database as Swagger UI does', () => {
  let app: TestApp;
  let session: SwaggerSession;

  beforeAll(async () => {
    app = await createTestApp();
    session = new SwaggerSession((await send(app, 'GET', '/docs/start.js', { key: null })).text);
  });
  afterAll(() => app.close());

  const steps = operations.flatMap((documented) =>
    exampleBodies(documented).map((body, index) => ({ documented, body, name: `${documented.id} ${index + 1}` })),
  );

  it.each(steps)('$name succeeds', async ({ documented, body }) => {
    const path = session.sent(examplePath(documented));
    const answer = await send(app, documented.method, path, body === undefined ? {} : { body: session.sentBody(body) });
    session.answered(app.url + path, answer.status, answer.body);
    expect(answer.body?.error).toBeUndefined();
    const expected = Object.keys(documented.operation.responses).find((status) => status.startsWith('2'));
    expect(answer.status).toBe(Number(expected));
  });

  it('leave ids of other kinds and of records not yet created as they are', () => {
    expect(session.sent('/ent_00000000000000000000000099')).toBe('/ent_00000000000000000000000099');
    expect(session.sent('/xyz_00000000000000000000000001')).toBe('/xyz_00000000000000000000000001');
  });
});
