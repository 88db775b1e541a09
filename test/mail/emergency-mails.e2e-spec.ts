import { approve, changeHeader, newPolicy, register } from '../changes/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { MailServer, mailText } from './mail-server';

const headers = { 'Break-Glass': encodeURIComponent('The network is under attack') };
const SETTINGS = {
  FOUR_EYES: 'true',
  MAIL_FROM: 'governance@example.com',
  PUBLIC_URL: 'https://governance.example.com',
  RATE_LIMIT: '1000000',
};

describe('Mails about an emergency', () => {
  let server: MailServer;
  let app: TestApp;

  beforeAll(async () => {
    server = await MailServer.start();
    const environment = {
      ...SETTINGS,
      CHANGE_APPROVERS: '[{"subjects":["role:security"]}]',
      SMTP_URL: server.url,
    };
    app = await createTestApp({ environment });
    for (const name of ['idle', 'lost', 'ben']) {
      const roles = name === 'ben' ? [] : ['security'];
      await send(app, 'POST', '/api/v1/agents', { body: { name, kind: 'human', capabilities: [], roles } });
      await send(app, 'PUT', `/api/v1/agents/${name}/email`, { body: { email: `${name}@example.com` } });
    }
    await send(app, 'PATCH', '/api/v1/agents/lost', { body: { roles: [] } });
    await send(app, 'POST', '/api/v1/agents/idle/suspend');
    await register(app, 'ada', { roles: ['security'] });
    await register(app, 'cyd', { roles: ['security'] });
  });
  afterAll(async () => {
    await app.close();
    await server.close();
  });

  it('reach only those who could have approved it recently, even if they are suspended or without the role by now', async () => {
    expect((await send(app, 'POST', '/api/v1/policies', { body: newPolicy(), headers })).status).toBe(201);
    await server.until(2);
    expect(server.received.flatMap(({ to }) => to).sort()).toEqual(['idle@example.com', 'lost@example.com']);
    for (const mail of server.received) expect(mailText(mail)).toContain('emergency');
  });

  it('are sent even if it was reviewed before anybody was told', async () => {
    const database = await temporaryDatabase();
    const environment = { ...SETTINGS, ...database.environment };
    // No server accepts mails until then.
    const first = await createTestApp({ environment: { ...environment, SMTP_URL: 'smtp://127.0.0.1:1' } });
    const [ada, cyd] = [await register(first, 'ada'), await register(first, 'cyd')];
    await send(first, 'POST', '/api/v1/agents', { body: { name: 'idle', kind: 'human', capabilities: [] }, headers });
    const proposed = await send(first, 'PUT', '/api/v1/agents/idle/email', { body: { email: 'idle@example.com' } });
    for (const person of [ada, cyd]) await approve(first, proposed.body.id, person);
    const sent = { body: { email: 'idle@example.com' }, ...changeHeader(proposed.body.id) };
    expect((await send(first, 'PUT', '/api/v1/agents/idle/email', sent)).status).toBe(204);
    expect((await send(first, 'POST', '/api/v1/policies', { body: newPolicy(), headers })).status).toBe(201);
    const { data } = (await send(first, 'GET', '/api/v1/decisions?type=change_review&status=proposed')).body;
    for (const { id } of data) for (const person of [ada, cyd]) await approve(first, id, person);
    await first.close();
    const late = await MailServer.start();
    const second = await createTestApp({ environment: { ...environment, SMTP_URL: late.url } });
    await late.until(1);
    const [mail = { to: [], source: '' }] = late.received;
    expect(mail.to).toEqual(['idle@example.com']);
    expect(mailText(mail)).toContain('Review of an emergency');
    await second.close();
    await late.close();
  });
});
