import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { faults, send } from '../support/application/send';

const ENTITY = { type: 'a', name: 'b' };
const QUESTION = { subject: {}, action: 'read', resourceType: 'document', resourceId: 'a' };
const AUTHZEN = {
  subject: { type: 'user', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'document', id: 'a' },
};

function members(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36), 1]));
}

describe('The values of a body', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('are 10,000 at most, members and elements at any depth', async () => {
    const post = (properties: object): ReturnType<typeof send> =>
      send(app, 'POST', '/api/v1/entities', { body: { ...ENTITY, properties } });
    expect((await post(members(9_997))).status).toBe(201);
    const refused = await post({ list: Object.values(members(9_997)) });
    expect(refused.status).toBe(400);
    expect(faults(refused)).toEqual({ body: expect.stringContaining('at most 10000 values') });
  });

  it('count as often as they are repeated', async () => {
    const post = (times: number): ReturnType<typeof send> =>
      send(app, 'POST', '/api/v1/entities', { body: `{"type":"a",${'"name":"b",'.repeat(times)}"name":"c"}` });
    expect(await post(9_998)).toMatchObject({ status: 201, body: { name: 'c' } });
    expect(faults(await post(9_999))).toHaveProperty('body');
  });

  it.each([
    ['/api/v1/policies/evaluate', QUESTION, 'requests', 'parameters', 100_000],
    ['/access/v1/evaluations', AUTHZEN, 'evaluations', 'context', 100_000],
    ['/api/v1/policies/plan', {}, 'policies', 'labels', 500_000],
  ])('are 10,000 at most in each item of a list, for %s', async (path, others, list, member, mostInAll) => {
    const blamed = async (items: object[]): Promise<string[]> =>
      Object.keys(faults(await send(app, 'POST', path, { body: { ...others, [list]: items } })));
    const item = (count: number): object => ({ ...QUESTION, [member]: members(count) });
    expect(await blamed([item(9_990), item(9_990)])).not.toContain('body');
    expect(await blamed([item(1), item(10_001)])).toEqual(['body']);
    expect(await blamed(Array(mostInAll / 1_000 + 1).fill(item(1_000)))).toEqual(['body']);
  });
});
