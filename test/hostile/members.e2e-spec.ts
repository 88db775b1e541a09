import type { OpenAPIObject, SchemaObject } from '@nestjs/swagger';
import { type DocumentedOperation, exampleBodies, examplePath, operationsOf } from '../support/requests/api-document';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createEntity } from '../support/application/factories';
import { send } from '../support/application/send';
import { expectRefusal, invalid, post, statistics } from '../support/application/wire';

/** Columns and members that no answer shows, and names with a meaning in the language. */
const INNER = [
  ...['createdSequence', 'resumedSequence', 'actor', 'runBy', 'rank', 'isActive', 'isAdmin', 'requestId', 'ip'],
  ...['apiKey', 'key', '_id'],
  ...['constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', 'then', '$where', 'unknown', '', 'ﬀ'],
];

/** Members in a request: fewer than the faults that a refusal names. */
const AT_ONCE = 200;

describe('A member that the service sets itself', () => {
  let app: TestApp;
  let document: OpenAPIObject;

  beforeAll(async () => {
    app = await createTestApp();
    document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function schema(name: string): SchemaObject {
    return (document.components?.schemas?.[name] ?? {}) as SchemaObject;
  }

  /** The members an operation's body may have. */
  function bodyMembers({ operation: { requestBody } }: DocumentedOperation): string[] {
    const text = JSON.stringify(requestBody ?? {});
    const [, name = ''] = /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(text) ?? [];
    return Object.keys(schema(name).properties ?? {});
  }

  /** Every member of every answer. */
  function answerMembers(): string[] {
    const responses = Object.keys(document.components?.schemas ?? {}).filter((name) => name.endsWith('Response'));
    return responses.flatMap((name) => Object.keys(schema(name).properties ?? {}));
  }

  it('cannot be sent, with any operation', async () => {
    // AuthZEN requires that members that are not known are ignored.
    const operations = operationsOf(document).filter(
      ({ id, method }) => ['POST', 'PUT', 'PATCH'].includes(method) && !id.startsWith('authzen_'),
    );
    const members = [...new Set([...answerMembers(), ...INNER])];
    const before = await statistics(app);
    const letIn: string[] = [];
    for (const documented of operations) {
      const ownMembers = bodyMembers(documented);
      const forged = members.filter((name) => !ownMembers.includes(name));
      for (let first = 0; first < forged.length; first += AT_ONCE) {
        const sent = forged.slice(first, first + AT_ONCE);
        const body = { ...exampleBodies(documented)[0], ...Object.fromEntries(sent.map((name) => [name, 'forged'])) };
        const answer = await send(app, documented.method, examplePath(documented), { body });
        const blamed = (answer.body?.error?.details ?? []).map(({ field }: { field: string }) => field);
        const passed = answer.status === 400 ? sent.filter((name) => !blamed.includes(name)) : sent;
        letIn.push(...passed.map((name) => `${documented.id}: ${name}`));
      }
    }
    expect(operations.length).toBeGreaterThan(12);
    expect(members.length).toBeGreaterThan(70);
    expect(letIn).toEqual([]);
    expect(await statistics(app)).toEqual(before);
  });

  it('is refused together with all other faults of a request', async () => {
    const forged = { id: 'ent_1', revision: 7, createdAt: '2000-01-01T00:00:00.000Z', status: 'active' };
    const body = JSON.stringify({ type: 'a', name: 'b', ...forged, ['__proto__x']: 1 });
    await expectRefusal(app, post('/api/v1/entities', body), invalid(...Object.keys(forged), '__proto__x'));
  });

  it('is ignored where answers may be sent back, and the id must be the same', async () => {
    const entity = await createEntity(app, { name: 'first' });
    const path = `/api/v1/entities/${entity.id}`;
    const forged = { createdAt: '2000-01-01T00:00:00.000Z', updatedAt: 'never', revision: 99 };
    const changed = await send(app, 'PUT', path, { body: { ...entity, ...forged, name: 'second' } });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ id: entity.id, createdAt: entity.createdAt, revision: 2, name: 'second' });
    const other = JSON.stringify({ ...entity, id: `${entity.id}0` });
    const request = Buffer.from(post(path, other).toString().replace('POST', 'PUT'));
    await expectRefusal(app, request, invalid('id'));
  });
});
