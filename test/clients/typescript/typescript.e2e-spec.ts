import { readFileSync, rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient } from '../../../clients/typescript/src/index.js' with {
  'resolution-mode': 'import',
};
import { EXECUTIONS } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import type { TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { openTcpGate } from '../../support/application/tcp-gate';
import { type builtClient, CLIENT, succeed } from '../typescript-client';
import { errorOf, openClientStage } from './client-stage';

const SEND = { action: 'send', resourceType: 'mail', resourceId: 'mails/1' };

describeOnSqlite('The TypeScript client', () => {
  let module: Awaited<ReturnType<typeof builtClient>>;
  let app: TestApp;
  let operator: GovernanceClient;
  let bot: GovernanceClient;
  let botKey: string;

  beforeAll(async () => {
    ({ module, app, operator, bot, botKey } = await openClientStage());
  });
  afterAll(() => app.close());

  it.each<string | null | undefined>(['', '.', '..', undefined, null])(
    'refuses the path parameter %j unsent',
    async (parameter) => {
      const fetch = jest.fn();
      const client = new module.GovernanceClient({ url: app.url, key: API_KEY, fetch });
      const path: Record<'id' | 'claimId', string> = JSON.parse(JSON.stringify({ id: 'ent_1', claimId: parameter }));
      const deleting = client.delete('/api/v1/entities/{id}/claims/{claimId}', { path });
      await expect(deleting).rejects.toThrow('path.claimId is an id or a name, not empty and not . or ..');
      const guarded = client.guard({ ...SEND, agent: parameter ?? '' }, () => 'ran');
      await expect(guarded).rejects.toThrow('path.agent is an id or a name');
      expect(fetch).not.toHaveBeenCalled();
    },
  );

  it('has the types of the API document', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'client-types-'));
    const generated = join(folder, 'openapi.ts');
    await succeed('npx', ['openapi-typescript', join(ROOT, 'openapi.json'), '--output', generated]);
    // `npm run openapi` writes both.
    expect(readFileSync(join(CLIENT, 'src', 'openapi.ts'), 'utf8')).toBe(readFileSync(generated, 'utf8'));
    rmSync(folder, { recursive: true });
  });

  it('can also be loaded by import', async () => {
    const script = `
      import { GovernanceClient, GovernanceError } from './dist/esm/index.js';
      const governance = new GovernanceClient({ url: process.argv[1], key: process.argv[2] });
      const { status } = await governance.get('/api/v1/health');
      console.log(status, typeof GovernanceError);`;
    const words = ['--input-type=module', '--eval', script, app.url, API_KEY];
    expect(await succeed(process.execPath, words)).toBe('healthy function\n');
  });

  it('needs nothing that browsers only have on secure pages', async () => {
    const script = `
      delete Object.getPrototypeOf(crypto).randomUUID;
      const { GovernanceClient } = await import('./dist/esm/index.js');
      const governance = new GovernanceClient({ url: process.argv[1], key: process.argv[2] });
      const { name } = await governance.post('/api/v1/entities', { body: { type: 'browser', name: 'insecure' } });
      console.log(name, typeof crypto.randomUUID);`;
    const words = ['--input-type=module', '--eval', script, app.url, API_KEY];
    expect(await succeed(process.execPath, words)).toBe('insecure undefined\n');
  });

  it('calls any route with its parameters, query and body', async () => {
    const created = await operator.post('/api/v1/entities', { body: { type: 'invoice', name: 'A/B ?' } });
    const entity = await operator.get('/api/v1/entities/{id}', { path: { id: created.id } });
    expect(entity).toEqual(created);
    const { total } = await operator.get('/api/v1/entities', { query: { type: 'invoice', limit: 1 } });
    expect(total).toBe(1);
    expect(await operator.delete('/api/v1/entities/{id}', { path: { id: created.id } })).toBeNull();
    const gone = await errorOf(operator.get('/api/v1/entities/{id}', { path: { id: created.id } }));
    expect(gone).toMatchObject({ name: 'GovernanceError', code: 'NOT_FOUND', status: 404, reason: null });
    expect(gone.requestId).toMatch(/\S/);
    const faulty = await errorOf(operator.post('/api/v1/entities', { body: { type: '', name: 'x' } }));
    expect(faulty).toMatchObject({ code: 'VALIDATION_ERROR', details: [{ field: 'type' }] });
  });

  it('asks for nothing that JSON would change on its way, and names its place', async () => {
    const [twice, gap] = [{ again: {} }, new Array<string>(2)];
    twice.again = twice;
    gap[1] = 'b';
    const changed = [
      new Set(['a']),
      new Map(),
      new URL('https://a.example'),
      new Date(),
      NaN,
      -Infinity,
      1n,
      () => 'a',
      Symbol('a'),
    ];
    const within: [unknown, string][] = [
      [[1, [undefined]], 'parameters.to[1][0]'],
      [gap, 'parameters.to[0]'],
      [Object.assign(['a'], { more: 'b' }), 'parameters.to'],
      [{ [Symbol('a')]: 'b' }, 'parameters.to'],
      [{ toJSON: () => 'a' }, 'parameters.to.toJSON'],
      [twice, 'parameters.to.again'],
    ];
    const mail = { ...SEND, resourceId: 'mails/changed' };
    for (const [to, field] of [...changed.map((value): [unknown, string] => [value, 'parameters.to']), ...within]) {
      const refused = bot.guard({ ...mail, parameters: { to } }, () => Promise.reject(new Error('It ran.')));
      await expect(refused).rejects.toThrow(
        new TypeError(`${field} must be plain JSON, so that exactly what is sent is recorded.`),
      );
    }
    expect((await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/changed`)).body.total).toBe(0);
    const shared = { name: 'carol', nobody: undefined };
    const plain = { to: [shared, shared], none: Object.assign(Object.create(null), { left: null }) };
    expect(await bot.guard({ ...mail, parameters: plain }, () => 'sent')).toBe('sent');
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/changed`)).body;
    expect(data[0].parameters).toEqual({ to: [{ name: 'carol' }, { name: 'carol' }], none: { left: null } });
  });

  it('refuses in little memory what is nested far too deep, and reports what was done without such a result', async () => {
    const script = `
      import { GovernanceClient } from './dist/esm/index.js';
      const governance = new GovernanceClient({ url: process.argv[1], key: process.argv[2] });
      const deep = JSON.parse('{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000));
      const mail = { action: 'send', resourceType: 'mail', resourceId: 'mails/deep' };
      const refused = governance.guard({ ...mail, parameters: deep }, () => console.log('It ran.'));
      await refused.catch((error) => console.log(error instanceof TypeError, error.message));
      console.log(await governance.guard(mail, () => deep) === deep);`;
    const words = ['--max-old-space-size=64', '--input-type=module', '--eval', script, app.url, botKey];
    expect(await succeed(process.execPath, words)).toBe('true The body is nested more than 1000 levels deep.\ntrue\n');
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/deep`)).body;
    expect(data).toEqual([expect.objectContaining({ parameters: {}, outcome: 'executed', result: null })]);
  });

  it('does not report what has yet to run as carried out', async () => {
    const ran: string[] = [];
    async function* stream(): AsyncGenerator<string> {
      ran.push('stream');
      yield 'sent';
    }
    function* generator(): Generator<string> {
      ran.push('generator');
      yield 'sent';
    }
    for (const run of [stream, generator]) {
      const mail = { ...SEND, resourceId: `mails/${run.name}` };
      let returned: Iterator<string> | AsyncIterator<string> | null = null;
      await expect(bot.guard(mail, () => (returned = run()))).rejects.toThrow('It returned an iterator');
      const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${mail.resourceId}`)).body;
      expect(data).toEqual([
        expect.objectContaining({ outcome: 'failed', failureReason: expect.stringContaining('iterator') }),
      ]);
      expect(await (returned as unknown as AsyncIterator<string>).next()).toEqual({ done: true, value: undefined });
    }
    expect(ran).toEqual([]);
    expect([...(await bot.guard(SEND, () => new Map([['a', 1]]).keys()))]).toEqual(['a']);
  });

  it('reads all pages of a list', async () => {
    for (let made = 0; made < 7; made += 1) {
      await operator.post('/api/v1/entities', { body: { type: 'page', name: `${made}` } });
    }
    const names: string[] = [];
    for await (const { name } of operator.pages('/api/v1/entities', { query: { type: 'page', limit: 3 } })) {
      names.push(name);
    }
    expect(names).toEqual(['0', '1', '2', '3', '4', '5', '6']);
  });

  it('repeats requests that an unreachable service did not answer, which take effect once', async () => {
    const { hostname, port } = new URL(app.url);
    const gate = await openTcpGate(hostname, Number(port));
    gate.cut();
    const client = new module.GovernanceClient({ url: `http://127.0.0.1:${gate.port}`, key: API_KEY });
    const creating = client.post('/api/v1/entities', { body: { type: 'away', name: 'once' } });
    await sleep(300);
    gate.hold();
    gate.open();
    expect((await creating).name).toBe('once');
    expect((await operator.get('/api/v1/entities', { query: { type: 'away' } })).total).toBe(1);
    await gate.close();
    const impatient = new module.GovernanceClient({
      ...{ url: `http://127.0.0.1:${gate.port}`, key: API_KEY, patience: 0 },
    });
    const error = await errorOf(impatient.get('/api/v1/stats'));
    expect(error).toMatchObject({ code: 'UNREACHABLE', status: null });
    expect(error.message).toContain(`127.0.0.1:${gate.port}`);
  });

  it('follows the audit trail over a broken connection: each entry once, in order', async () => {
    const { hostname, port } = new URL(app.url);
    const gate = await openTcpGate(hostname, Number(port));
    const client = new module.GovernanceClient({ url: `http://127.0.0.1:${gate.port}`, key: API_KEY });
    const ending = new AbortController();
    const { provenanceEntries: after } = await operator.get('/api/v1/stats');
    const events = client.events({ after, actions: ['entity.*'], signal: ending.signal });
    const seen: number[] = [];
    const made: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      made.push((await operator.post('/api/v1/entities', { body: { type: 'event', name: `${turn}` } })).id);
      const { value } = await events.next();
      expect(value).toMatchObject({ action: 'entity.created', subjectId: made[turn] });
      seen.push(Number(value?.sequence));
      gate.cut();
      gate.open();
    }
    expect(seen).toEqual([...new Set(seen)].sort((left, right) => left - right));
    ending.abort(new Error('That is enough.'));
    await expect(events.next()).rejects.toThrow('That is enough.');
    await gate.close();
  });
});
