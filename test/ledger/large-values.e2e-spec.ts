import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

const ENTITIES = '/api/v1/entities';
const LIMIT = 1_048_576;
/** Characters that a text for the database has to escape, and ones of two, three and four bytes. */
const PATTERN = '"\\\n\u0001\'é€😀{[}],:$1;--';

/** A body of exactly the largest size. */
function largestBody(name: string): string {
  const empty = JSON.stringify({ type: 'large', name, properties: { text: '' } });
  const pattern = JSON.stringify(PATTERN).slice(1, -1);
  const room = LIMIT - Buffer.byteLength(empty);
  const times = Math.floor(room / Buffer.byteLength(pattern));
  const rest = room - times * Buffer.byteLength(pattern);
  return empty.replace('"text":""', `"text":"${pattern.replaceAll('$', '$$$$').repeat(times)}${'x'.repeat(rest)}"`);
}

describe('Values up to the limit of a body', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  /** Repeats the request if a busy machine made it wait for too long, in which case nothing was written. */
  async function created(body: string): Promise<Answer> {
    for (;;) {
      const answer = await send(app, 'POST', ENTITIES, { body });
      if (answer.status !== 503) return answer;
    }
  }

  it('are stored unchanged, many at once, and sealed', async () => {
    const bodies = Array.from({ length: 10 }, (_unused, index) => largestBody(`entity ${index + 10}`));
    expect(new Set(bodies.map((body) => Buffer.byteLength(body)))).toEqual(new Set([LIMIT]));
    const answers = await Promise.all(bodies.map(created));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 201));
    for (const [index, { body }] of answers.entries()) {
      const read = await send(app, 'GET', `${ENTITIES}/${body.id}`);
      const { properties } = JSON.parse(bodies[index] ?? '');
      expect(read.body.properties.text === properties.text).toBe(true);
    }
    await chainIsValid(app);
  });

  it('are refused beyond it', async () => {
    expect((await send(app, 'POST', ENTITIES, { body: `${largestBody('x')} ` })).status).toBe(413);
  });
});

describe('A value of many members', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  /** Some names are integers, which come first in objects, in an order that is not the canonical one. */
  function many(value: unknown): Record<string, unknown> {
    return Object.fromEntries(Array.from({ length: 4_900 }, (_unused, index) => [(-index >>> 0).toString(36), value]));
  }

  it('is stored, changed, compared and returned correctly', async () => {
    const first = { type: 'large', name: 'many', properties: { ...many(1), '': [many('é"\n'), null, [[]], {}] } };
    const headers = { 'Idempotency-Key': 'many-members' };
    const created = await send(app, 'POST', ENTITIES, { body: first, headers });
    expect(created.status).toBe(201);
    expect(created.body.properties).toEqual(first.properties);
    const repeated = await send(app, 'POST', ENTITIES, { body: first, headers });
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect(repeated.body).toEqual(created.body);
    const other = { ...first, properties: { ...first.properties, last: 1 } };
    expect((await send(app, 'POST', ENTITIES, { body: other, headers })).status).toBe(409);

    const path = `${ENTITIES}/${created.body.id}`;
    const same = await send(app, 'PUT', path, { body: { properties: first.properties } });
    expect(same.body).toEqual(created.body);
    const changed = await send(app, 'PUT', path, { body: { properties: other.properties } });
    expect(changed.body).toMatchObject({ revision: 2, properties: other.properties });
    expect((await send(app, 'GET', path)).body).toEqual(changed.body);
    const renamed = await send(app, 'PUT', path, { body: { name: 'renamed' } });
    expect(renamed.body).toMatchObject({ revision: 3, name: 'renamed', properties: other.properties });
    await chainIsValid(app);
  });
});
