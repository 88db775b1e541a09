import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createEntity } from '../support/application/factories';
import { exchange, expectRefusal, invalid, summaryOf, wire } from '../support/application/wire';

const query = (text: string, path = 'audit'): Buffer => wire(`GET /api/v1/${path}?${text} HTTP/1.1`);

describe('A query', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createEntity(app);
    await createAgent(app, { name: 'bot', capabilities: ['a'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each<[string, ...string[]]>([
    ['limit=5&limit=5', 'limit'],
    ['limit=5&LIMIT=5', 'LIMIT'],
    ['limit=5&l%69mit=5', 'limit'],
    ['limit[]=5', 'limit[]'],
    ['limit[0]=5', 'limit[0]'],
    ['limit[$gt]=5', 'limit[$gt]'],
    ['limit%5B%5D=5', 'limit[]'],
    ['limit.a=5', 'limit.a'],
    ['limit=5,6', 'limit'],
    ['limit=', 'limit'],
    ['limit', 'limit'],
    ['limit==5', 'limit'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=+5', 'limit'],
    ['limit=%2B5', 'limit'],
    ['limit=%205', 'limit'],
    ['limit=5%20', 'limit'],
    ['limit=5%0A', 'limit'],
    ['limit=5%00', 'limit'],
    ['limit=0x5', 'limit'],
    ['limit=0b1', 'limit'],
    ['limit=5e0', 'limit'],
    ['limit=5.0', 'limit'],
    ['limit=5n', 'limit'],
    ['limit=1_0', 'limit'],
    ['limit=%D9%A5', 'limit'],
    ['limit=%EF%BC%95', 'limit'],
    ['limit=%C2%B2', 'limit'],
    ['limit=NaN', 'limit'],
    ['limit=Infinity', 'limit'],
    ['limit=null', 'limit'],
    ['limit=true', 'limit'],
    [`limit=${'9'.repeat(400)}`, 'limit'],
    ['limit=9007199254740993', 'limit'],
    [`limit=${'0'.repeat(400)}5`, 'limit'],
    ['offset=-0', 'offset'],
    ['offset=2147483648', 'offset'],
    ['offset=18446744073709551616', 'offset'],
    ['order=DESC', 'order'],
    ['order=desc%3BDROP%20TABLE', 'order'],
    ['order=__proto__', 'order'],
    ['outcome=constructor', 'outcome'],
    ['limit=%', 'limit'],
    ['limit=%4', 'limit'],
    ['limit=%zz', 'limit'],
    ['limit=%ff', 'limit'],
    ['limit=%c0%ae', 'limit'],
    ['limit=%ed%a0%80', 'limit'],
    ['%ff=5', '%ff'],
    ['%=5', '%'],
    ['action=%00', 'action'],
    ['action=%20', 'action'],
    [`agentId=${'a'.repeat(1000)}`, 'agentId'],
    ['__proto__=1', '__proto__'],
    ['__proto__[admin]=1', '__proto__[admin]'],
    ['constructor=1', 'constructor'],
    ['toString=1', 'toString'],
    ['hasOwnProperty=1', 'hasOwnProperty'],
    ['=', ''],
    ['=5', ''],
    ['%00=5', '\0'],
    ['a=1&b=2&c', 'a', 'b', 'c'],
    ['limit=5;offset=5', 'limit'],
    ['limit=5?offset=5', 'limit'],
    ['api_key=x', 'api_key'],
    ['from=now', 'from'],
    ['from=0', 'from'],
    ['from=1700000000', 'from'],
    ['from=2026-13-01', 'from'],
    ['from=2026-02-29', 'from'],
    ['from=2026-11-20T00:00:00', 'from'],
    ['from=2026-11-20T00:00:00+01:00', 'from'],
    ['from=2026-11-20%2000:00:00Z', 'from'],
    ['from=2026-11-20T00:00:00%2B99:00', 'from'],
    ['from=%2B002026-11-20', 'from'],
    ['from=%D9%A2026-11-20', 'from'],
    ['from=2026-11-20T00:00:60Z', 'from'],
    ['from=2026-11-21&to=2026-11-20', 'from'],
    ['cursor=x', 'cursor'],
    ['cursor=eyJhIjoxfQ', 'cursor'],
    [`cursor=${'A'.repeat(10_000)}`, 'cursor'],
    ['cursor=%00', 'cursor'],
  ])('is refused: %s', async (text, ...fields) => {
    const blamed = fields.map((field) => `query.${field}`);
    await expectRefusal(app, query(text), invalid(...blamed));
  });

  it.each<[string, number]>([
    ['', 2],
    ['&&&', 2],
    ['limit=0005', 2],
    ['limit=%31', 1],
    ['l%69mit=1', 1],
    ['action=entity.created', 1],
    ['action=%27%20OR%201=1--', 0],
    ['action=%25', 0],
    ['action=a+b', 0],
    ['action=__proto__', 0],
    ['agentId=%F0%9F%98%80', 0],
    ['from=2026-11-20T00:00:00%2B01:00', 2],
    ['from=0000-01-01', 2],
    ['to=9999-12-31T23:59:59.999999999Z', 2],
  ])('is read: %s', async (text, rows) => {
    const [answer, ...others] = await exchange(app, query(text));
    expect(answer?.status).toBe(200);
    expect(answer?.body.data).toHaveLength(rows);
    expect(others).toEqual([]);
  });

  it('with two thousand parameters of any names is answered', async () => {
    const many = Array.from({ length: 2000 }, (_, index) => `p${index}=1`).join('&');
    const [answer] = await exchange(app, query(many));
    expect(answer && summaryOf(answer)).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer?.body.error.details.length).toBeLessThanOrEqual(1000);
  });

  it('for one list is not accepted by another', async () => {
    const [first] = await exchange(app, query('limit=1'));
    const cursor = encodeURIComponent(first?.body.nextCursor as string);
    expect((await exchange(app, query(`cursor=${cursor}`))).map(summaryOf)).toEqual([{ status: 200 }]);
    await expectRefusal(app, query(`cursor=${cursor}`, 'provenance'), invalid('query.cursor'));
    await expectRefusal(app, query(`cursor=${cursor}&offset=0`), invalid('query.cursor'));
    const altered = `${cursor.slice(0, 10)}${cursor[10] === 'A' ? 'B' : 'A'}${cursor.slice(11)}`;
    await expectRefusal(app, query(`cursor=${altered}`), invalid('query.cursor'));
  });
});
