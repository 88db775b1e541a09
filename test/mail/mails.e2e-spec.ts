import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { MailDispatcher } from '../../src/evidence/mail/mail-dispatcher';
import { WebhookBodies } from '../../src/evidence/webhooks/messages/webhook-bodies';
import { AgentEmails } from '../../src/governance/agents/agent-emails';
import { DatabaseFault } from '../../src/ledger/database/database-fault';
import { approve, company, type Company, pending, requireApproval } from '../approvals/support';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, issueKey, propose } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { MailServer, mailText } from './mail-server';

const SETTINGS = {
  MAIL_FROM: 'governance@example.com',
  MAIL_ZONE: 'Europe/Berlin',
  PUBLIC_URL: 'https://governance.example.com',
  RATE_LIMIT: '1000000',
};

describe('Mails', () => {
  let server: MailServer;
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    server = await MailServer.start();
    app = await createTestApp({ environment: { ...SETTINGS, SMTP_URL: server.url } });
    people = await company(app);
    await requireApproval(app, { riskLevel: 'high' });
  });
  afterAll(async () => {
    await chainIsValid(app);
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await app.close();
    await server.close();
  });

  function put(name: string, email: unknown, key?: string, at = app): Promise<Answer> {
    return send(at, 'PUT', `/api/v1/agents/${name}/email`, { body: { email }, ...(key !== undefined && { key }) });
  }

  it('name what waits, with its facts and a link, for those who could approve', async () => {
    expect((await put('ann', 'ann@example.com')).status).toBe(204);
    expect((await put('eve', 'eve@example.com')).status).toBe(204);
    const { decisionId } = await pending(app, people.bot, {
      resourceId: 'mail/1',
      parameters: { note: 'https://evil.example WWW.evil.example \u202etxet', amount: 80 },
    });
    await server.until(1);
    const [mail] = server.received;
    expect(mail?.to).toEqual(['ann@example.com']);
    expect(mail?.source).toMatch(/^From: governance@example.com$/m);
    expect(mail?.source).toMatch(/^Subject: A decision waits for you$/m);
    const text = mailText(mail ?? { to: [], source: '' });
    for (const line of [
      'Agent: bot',
      'Action: refund',
      'On: payment/mail/1',
      'Risk: high',
      '"amount": 80',
      'https: //evil.example WWW. evil.example \\u202etxet',
    ])
      expect(text).toContain(line);
    expect(text).toMatch(/Until: \w+day, \d+ \w+ \d{4}, \d\d:\d\d in Berlin \((?:.* )?\d\d:\d\d UTC\)/);
    expect(text).toContain(`https://governance.example.com/console/decisions/${decisionId}`);
    // At most one mail is sent in a minute; later ones wait.
    await pending(app, people.bot, { resourceId: 'mail/2' });
    await put('ben', 'ben@example.com');
    await pending(app, people.bot, { resourceId: 'mail/3' });
    await server.until(2);
    expect(server.received.map(({ to }) => to)).toEqual([['ann@example.com'], ['ben@example.com']]);
    expect(mailText(server.received[1] ?? { to: [], source: '' })).toContain('mail/3');
  });

  it('go to whom a decision escalates, and to whoever reviews in the place of another', async () => {
    const own = await MailServer.start();
    const other = await createTestApp({ environment: { ...SETTINGS, SMTP_URL: own.url } });
    const { bot, ann, eve } = await company(other);
    const { secret: key } = await issueKey(other, { agentId: ann.id, scopes: ['review'] });
    for (const { name } of [ann, eve]) await put(name, `${name}@example.com`, undefined, other);
    const escalate = { after: 'PT2S', subjects: ['role:security'] };
    await propose(other, bot.id, { title: 'Late', approvers: [{ subjects: ['role:finance'], escalate }] });
    await own.until(2);
    expect(own.received.map(({ to }) => to)).toEqual([['ann@example.com'], ['eve@example.com']]);
    const pat = await createAgent(other, { name: 'pat', kind: 'human' });
    await put('pat', 'pat@example.com', undefined, other);
    const until = new Date(Date.now() + 86_400_000).toISOString();
    await send(other, 'POST', `/api/v1/agents/${ann.id}/delegations`, { key, body: { to: pat.id, until } });
    await propose(other, bot.id, { title: 'In her place', approvers: [{ subjects: ['role:finance'] }] });
    await own.until(3);
    expect(own.received[2]?.to).toEqual(['pat@example.com']);
    expect(mailText(own.received[2] ?? { to: [], source: '' })).toContain('In her place');
    await other.close();
    await own.close();
  });

  it('go to addresses that only the person and admins see', async () => {
    const person = await createAgent(app, { name: 'pat', kind: 'human' });
    const own = (await issueKey(app, { name: 'pat', agentId: 'pat', scopes: ['read', 'review'] })).secret;
    const other = (await issueKey(app, { name: 'other', agentId: 'ann', scopes: ['read', 'review', 'agents'] })).secret;
    const unbound = (await issueKey(app, { name: 'unbound', scopes: ['read', 'agents'] })).secret;
    const path = '/api/v1/agents/pat';
    expect((await send(app, 'GET', path)).body.email).toBeNull();
    expect((await put('pat', 'pat@example.com', own)).status).toBe(204);
    expect((await put('pat', 'pat@example.com', own)).status).toBe(204);
    for (const key of [own, API_KEY])
      expect((await send(app, 'GET', path, { key })).body.email).toBe('pat@example.com');
    const copy = { headers: { 'If-None-Match': '"1"' } };
    expect((await send(app, 'GET', path, copy)).body).toMatchObject({ email: 'pat@example.com', revision: 2 });
    for (const key of [other, unbound])
      expect((await send(app, 'GET', path, { key })).body).not.toHaveProperty('email');
    expect((await send(app, 'GET', '/api/v1/agents')).text).not.toContain('@example.com');
    expect((await put('pat', 'x@example.com', other)).body.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'not_this_agent',
    });
    expect((await put('pat', 'x@example.com', unbound)).body.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'scope_missing',
    });
    for (const email of ['x', '@x', 'a b@x', 'a@x\r\nBcc: b@x', '<a@x>', 'a@x,b@x', `${'a'.repeat(65)}@x`, 7])
      expect([email, Object.keys(faults(await put('pat', email)))]).toEqual([email, ['email']]);
    expect(Object.keys(faults(await put('bot', 'bot@example.com')))).toEqual(['email']);
    expect((await put('nobody', 'a@example.com')).status).toBe(404);
    const entries = (await auditOf(app, person.id)).filter(({ action }) => action === 'agent.updated');
    expect(entries.map(({ details }) => details)).toEqual([{ fields: ['email'] }]);
    expect((await send(app, 'GET', '/api/v1/provenance/export')).text).not.toContain('@example.com');
    for (const key of [own, API_KEY]) expect((await send(app, 'DELETE', `${path}/email`, { key })).status).toBe(204);
    expect((await send(app, 'GET', path)).body.email).toBeNull();
  });

  it('count what is beyond twenty, name nothing that is settled, and survive the service and its mail server', async () => {
    const database = await temporaryDatabase();
    const late = await MailServer.start();
    const environment = { ...SETTINGS, ...database.environment, SMTP_URL: 'smtp://127.0.0.1:1' };
    // No server accepts mails.
    const first = await createTestApp({ environment });
    await createAgent(first, { name: 'bot' });
    await createAgent(first, { name: 'ann', kind: 'human' });
    expect((await put('ann', 'ann@example.com', undefined, first)).status).toBe(204);
    const decisions = [];
    for (let index = 0; index < 23; index += 1)
      decisions.push(await propose(first, 'bot', { title: `change ${index}!` }));
    await approve(first, decisions[0]?.id ?? '', { id: 'ann' });
    await first.close();
    const second = await createTestApp({ environment: { ...environment, SMTP_URL: late.url } });
    await late.until(1);
    const text = mailText(late.received[0] ?? { to: [], source: '' });
    expect(text).toMatch(/^22 decisions wait for you\./);
    expect(text).not.toContain('change 0!');
    expect([1, 20].filter((index) => !text.includes(`change ${index}!`))).toEqual([]);
    expect(text).not.toContain('change 21!');
    expect(text).toContain('And 2 more: https://governance.example.com/console');
    await second.close();
    // A decision that was mailed once is not mailed again.
    const third = await createTestApp({ environment: { ...environment, SMTP_URL: late.url } });
    await createAgent(third, { name: 'ben', kind: 'human' });
    await put('ben', 'ben@example.com', undefined, third);
    await propose(third, 'bot', { title: 'another' });
    await late.until(2);
    expect(late.received.map(({ to }) => to)).toEqual([['ann@example.com'], ['ben@example.com']]);
    await third.close();
    await late.close();
    await database.remove();
  });

  it('come once where the mail server confirms one while the service stops', async () => {
    const database = await temporaryDatabase();
    const late = await MailServer.start();
    const environment = { ...SETTINGS, ...database.environment, SMTP_URL: late.url };
    let confirm = (): void => undefined;
    late.beforeConfirmation = () => new Promise<void>((resolve) => (confirm = resolve));
    const first = await createTestApp({ environment });
    await createAgent(first, { name: 'bot' });
    await createAgent(first, { name: 'ann', kind: 'human' });
    await put('ann', 'ann@example.com', undefined, first);
    await propose(first, 'bot', { title: 'one' });
    await late.until(1);
    const dispatcher = first.application.get(MailDispatcher);
    const destroy = dispatcher.onModuleDestroy.bind(dispatcher);
    jest.spyOn(dispatcher, 'onModuleDestroy').mockImplementationOnce(() => {
      const destroyed = destroy();
      confirm();
      return destroyed;
    });
    await first.close();
    late.beforeConfirmation = () => Promise.resolve();
    const second = await createTestApp({ environment });
    await createAgent(second, { name: 'ben', kind: 'human' });
    await put('ben', 'ben@example.com', undefined, second);
    await propose(second, 'bot', { title: 'another' });
    await late.until(2);
    expect(late.received.map(({ to }) => to)).toEqual([['ann@example.com'], ['ben@example.com']]);
    await second.close();
    await late.close();
    await database.remove();
  });

  it('count nothing that is settled while they are written', async () => {
    const late = await MailServer.start();
    const other = await createTestApp({ environment: { ...SETTINGS, SMTP_URL: late.url } });
    await createAgent(other, { name: 'bot' });
    const ann = await createAgent(other, { name: 'ann', kind: 'human' });
    await put('ann', 'ann@example.com', undefined, other);
    const bodies = other.application.get(WebhookBodies);
    const ofWaiting = bodies.messagesForWaiting.bind(bodies);
    const settled = new Promise<void>((resolve) => {
      jest.spyOn(bodies, 'messagesForWaiting').mockImplementationOnce(async (id, escape) => {
        await approve(other, id, ann);
        resolve();
        return ofWaiting(id, escape);
      });
    });
    await propose(other, 'bot', { title: 'settled meanwhile' });
    await settled;
    await propose(other, 'bot', { title: 'still waiting' });
    await late.until(1);
    const text = mailText(late.received[0] ?? { to: [], source: '' });
    expect(text).toMatch(/^A decision waits for you\.\n\n1\. [^]*still waiting/);
    expect(text).not.toContain('more');
    await other.close();
    await late.close();
  });

  it('come once to everybody where the database is gone when one of them was sent', async () => {
    const late = await MailServer.start();
    const other = await createTestApp({ environment: { ...SETTINGS, SMTP_URL: late.url } });
    await createAgent(other, { name: 'bot' });
    for (const name of ['ann', 'ben']) {
      await createAgent(other, { name, kind: 'human' });
      await put(name, `${name}@example.com`, undefined, other);
    }
    let confirm = (): void => undefined;
    const confirmed = new Promise<void>((resolve) => (confirm = resolve));
    late.beforeConfirmation = () => (late.received.at(-1)?.to[0] === 'ben@example.com' ? confirmed : Promise.resolve());
    const emails = other.application.get(AgentEmails);
    const fault = new DatabaseFault('unavailable', 'CONNECTION', 'Connection terminated unexpectedly');
    jest.spyOn(emails, 'advance').mockRejectedValueOnce(fault);
    await propose(other, 'bot', { title: 'waits for both' });
    await late.until(2);
    const isWritten = async (): Promise<boolean> =>
      (await emails.all()).some(({ email, mailedAt }) => email === 'ann@example.com' && mailedAt !== null);
    for (let looks = 0; looks < 200 && !(await isWritten()); looks += 1) await sleep(50);
    expect(await isWritten()).toBe(true);
    confirm();
    await other.close();
    expect(late.received.map(({ to }) => to[0]).sort()).toEqual(['ann@example.com', 'ben@example.com']);
    await late.close();
  });

  it('are held up by no address that bounces, and no server that says nothing holds up the service', async () => {
    server.refuses = (address) => address.startsWith('gone');
    await createAgent(app, { name: 'gone', kind: 'human', roles: ['finance'] });
    await createAgent(app, { name: 'here', kind: 'human', roles: ['finance'] });
    await put('gone', 'gone@example.com');
    await put('here', 'here@example.com');
    await pending(app, people.bot, { resourceId: 'mail/4' });
    // Mails about earlier decisions may come before.
    await server.untilSentTo('here@example.com');

    const sockets: Socket[] = [];
    const silent: Server = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const SMTP_URL = `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const held = await createTestApp({ environment: { ...SETTINGS, SMTP_URL } });
    const all = await company(held);
    await requireApproval(held);
    await put('ann', 'ann@example.com', undefined, held);
    const { decisionId } = await pending(held, all.bot);
    for (let looks = 0; looks < 600 && sockets.length === 0; looks += 1) await sleep(50);
    expect(sockets.length).toBeGreaterThan(0);
    expect((await approve(held, decisionId, all.ann)).status).toBe(200);
    await held.close();
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => silent.close(resolve));
  });
});
