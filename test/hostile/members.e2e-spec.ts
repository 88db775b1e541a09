import type { OpenAPIObject, SchemaObject } from '@nestjs/swagger';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type DocumentedOperation, exampleBodies, examplePath, operationsOf } from '../support/requests/api-document';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createEntity, issueKey } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { expectRefusal, invalid, post, statistics } from '../support/application/wire';

/** Columns and members that no answer shows, and names with a meaning in the language. */
const INNER = [
  ...['createdSequence', 'actor', 'runBy', 'rank', 'isActive', 'isAdmin', 'requestId', 'ip', 'apiKey', 'key', '_id'],
  ...['constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', 'then', '$where', 'unknown', '', 'ﬀ'],
];

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
  function taken({ operation: { requestBody } }: DocumentedOperation): string[] {
    const text = JSON.stringify(requestBody ?? {});
    const [, name = ''] = /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(text) ?? [];
    return Object.keys(schema(name).properties ?? {});
  }

  /** Every member of every answer. */
  function shown(): string[] {
    const responses = Object.keys(document.components?.schemas ?? {}).filter((name) => name.endsWith('Response'));
    return responses.flatMap((name) => Object.keys(schema(name).properties ?? {}));
  }

  it('cannot be sent, with any operation', async () => {
    const operations = operationsOf(document).filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));
    const members = [...new Set([...shown(), ...INNER])];
    const before = await statistics(app);
    const letIn: string[] = [];
    for (const documented of operations) {
      const known = taken(documented);
      for (const member of members.filter((name) => !known.includes(name))) {
        const body = { ...exampleBodies(documented)[0], [member]: 'forged' };
        const answer = await send(app, documented.method, examplePath(documented), { body });
        const blamed = (answer.body?.error?.details ?? []).map(({ field }: { field: string }) => field);
        if (answer.status !== 400 || !blamed.includes(member)) letIn.push(`${documented.id}: ${member}`);
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

describe('A member that holds a hundred thousand others', () => {
  /** Milliseconds: five times as long as one request may delay others in the worst case. */
  const PATIENCE = 1_250;
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it.each(['type', 'name', 'properties'])('is refused as %s, or stored, within moments', async (member) => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_unused, index) => [index.toString(36), 1]));
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    const answer = await send(app, 'POST', '/api/v1/entities', { body: { type: 'a', name: 'b', [member]: many } });
    delays.disable();
    expect(answer.status).toBe(member === 'properties' ? 201 : 400);
    expect(delays.max / 1e6).toBeLessThan(PATIENCE);
  });

  it('is one fault where its members are those of the service', async () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_unused, index) => [index.toString(36), 1]));
    const asBody = await send(app, 'POST', '/api/v1/entities', { body: { type: 'a', name: 'b', ...many } });
    expect(asBody.status).toBe(400);
    expect(faults(asBody)).toEqual({ body: 'must have at most 10000 members' });
    const asItem = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [many] } });
    expect(asItem.status).toBe(400);
    expect(faults(asItem)).toMatchObject({ 'policies[0]': 'must have at most 10000 members' });
  });

  it('is one fault in every place inside a body as well, however its members are read', async () => {
    const many = Object.fromEntries(Array.from({ length: 120_000 }, (_unused, index) => [index.toString(36), 1]));
    const policy = { name: 'wide', version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const places: readonly (readonly [path: string, body: object, place: string])[] = [
      ['policies/evaluate', { requests: [many] }, 'requests[0]'],
      ['policies/evaluate', { requests: [{ subject: many }] }, 'requests[0].subject'],
      ['policies/evaluate', { subject: many }, 'subject'],
      ['policies', { ...policy, conditions: [many] }, 'conditions[0]'],
      ['policies', { ...policy, effect: 'require_approval', approval: many }, 'approval'],
      ['policies', { ...policy, effect: 'require_approval', approval: { approvers: [many] } }, 'approval.approvers[0]'],
      ['policies/plan', { policies: [], replay: many }, 'replay'],
      ['decisions', { approvers: [many] }, 'approvers[0]'],
      ['agents/nobody/suspend', many, 'body'],
    ];
    for (const [path, body, place] of places) {
      const answer = await send(app, 'POST', `/api/v1/${path}`, { body });
      expect([place, answer.status]).toEqual([place, 400]);
      expect(faults(answer)).toMatchObject({ [place]: 'must have at most 10000 members' });
    }
  });

  it('is one fault of a bound caller, too, for which the service adds a member', async () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_unused, index) => [index.toString(36), 1]));
    const { id: agentId } = await createAgent(app, { name: 'wide-proposer' });
    const { secret: key } = await issueKey(app, { scopes: ['propose'], agentId });
    const answer = await send(app, 'POST', '/api/v1/decisions', { key, body: many });
    expect(faults(answer)).toMatchObject({ body: 'must have at most 10000 members' });
  });

  it('is none where one member is repeated', async () => {
    const body = `{"type":"a",${'"name":"b",'.repeat(20_000)}"name":"c"}`;
    expect(await send(app, 'POST', '/api/v1/entities', { body })).toMatchObject({ status: 201, body: { name: 'c' } });
  });
});
