import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { faults, send, sendRaw, type Answer } from '../support/application/send';

const ENTITY = { type: 'host', name: 'web-1' };
const FIELD = 'header.Idempotency-Key';

describe('The Idempotency-Key header', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  function post(key: string, path = 'entities', body: unknown = ENTITY): Promise<Answer> {
    return send(app, 'POST', `/api/v1/${path}`, { body, headers: { 'Idempotency-Key': key } });
  }

  async function entries(): Promise<number> {
    return (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
  }

  it.each([
    ['one character', '!'],
    ['255 characters', 'k'.repeat(255)],
    ['every visible ASCII character', String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index))],
    ['a quoted UUID', '"8e03978e-40d5-43e8-bc93-6894a57f9324"'],
  ])('may be %s', async (_name, key) => {
    const first = await post(key);
    expect(first.status).toBe(201);
    expect((await post(key)).text).toBe(first.text);
  });

  it('distinguishes keys by case and by every character', async () => {
    const ids = await Promise.all(['a', 'A', 'aa', '"a"', 'a,', 'a,a'].map(async (key) => (await post(key)).body.id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    ['empty', ''],
    ['256 characters', 'k'.repeat(256)],
    ['with a space', 'a b'],
    ['with a tab', 'a\tb'],
    ['beyond ASCII', 'é'],
  ])('is refused when it is %s, and nothing is written', async (_name, key) => {
    const before = await entries();
    const answer = await post(key);
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([FIELD]);
    expect(await entries()).toBe(before);
  });

  /** Sends header lines unchanged, in UTF-8. */
  function postLines(...lines: string[]): Promise<string> {
    const body = JSON.stringify(ENTITY);
    const head = [
      'POST /api/v1/entities HTTP/1.1',
      'Host: x',
      `X-API-Key: ${API_KEY}`,
      ...lines,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    return sendRaw(app, `${head.join('\r\n')}\r\n\r\n${body}`);
  }

  it.each([
    ['the same', 'twice', 'twice'],
    ['another', 'one', 'two'],
    ['an empty one', '', 'empty'],
    ['after an empty one', 'empty', ''],
  ])('is refused when it is given twice, %s', async (_name, one, two) => {
    const before = await entries();
    const answer = await postLines(`Idempotency-Key: ${one}`, `idempotency-key: ${two}`);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain(`{"field":"${FIELD}","message":"must be given once"}`);
    expect(await entries()).toBe(before);
  });

  it.each([
    ['in UTF-8', 'Schlüssel'],
    ['of other scripts', '鍵'],
    ['an emoji', '🔑'],
    ['of white space only', ' \t '],
  ])('is refused when it is written %s, and nothing is written', async (_name, key) => {
    const before = await entries();
    const answer = await postLines(`Idempotency-Key: ${key}`);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain(`{"field":"${FIELD}","message":"must be 1 to 255 visible ASCII characters`);
    expect(await entries()).toBe(before);
  });

  it('is the same with white space around it, and a different one if only the 255th character differs', async () => {
    const first = await post('around');
    const raw = await postLines('Idempotency-Key:  \taround\t ');
    expect(raw).toMatch(/^HTTP\/1.1 201 /);
    expect(raw.endsWith(first.text)).toBe(true);
    const [one, two] = await Promise.all(['1', '2'].map((last) => post('k'.repeat(254) + last)));
    expect([one?.status, two?.status]).toEqual([201, 201]);
    expect(one?.body.id).not.toBe(two?.body.id);
  });

  it('is reported together with other faults', async () => {
    expect(Object.keys(faults(await post('', 'entities', { type: '' })))).toEqual(
      expect.arrayContaining([FIELD, 'type', 'name']),
    );
  });

  it('is checked after the API key, the route, the media type and the fields', async () => {
    await post('order');
    const headers = { 'Idempotency-Key': 'order' };
    const path = '/api/v1/entities';
    expect((await send(app, 'POST', path, { body: {}, headers, key: null })).status).toBe(401);
    expect((await post('order', 'nowhere')).status).toBe(404);
    const form = { ...headers, 'Content-Type': 'text/plain' };
    expect((await send(app, 'POST', path, { body: 'a=b', headers: form })).status).toBe(415);
    expect((await post('order', 'entities', { ...ENTITY, unknown: 1 })).status).toBe(400);
    expect((await post('order', 'entities?limit=1')).status).toBe(400);
  });

  it('is ignored with other methods', async () => {
    const { id } = await createEntity(app);
    const headers = { 'Idempotency-Key': 'not even a good one é' };
    for (const name of ['one', 'two']) {
      const changed = await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { name }, headers });
      expect(changed.body).toMatchObject({ name });
    }
    expect((await send(app, 'GET', `/api/v1/entities/${id}`, { headers })).status).toBe(200);
    expect((await send(app, 'DELETE', `/api/v1/entities/${id}`, { headers })).status).toBe(204);
    expect((await send(app, 'DELETE', `/api/v1/entities/${id}`, { headers })).status).toBe(404);
  });
});
