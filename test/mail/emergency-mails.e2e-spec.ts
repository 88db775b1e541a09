import { newPolicy, register } from '../changes/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { MailServer, mailText } from './mail-server';

describe('Mails about an emergency', () => {
  let server: MailServer;
  let app: TestApp;

  beforeAll(async () => {
    server = await MailServer.start();
    const environment = {
      FOUR_EYES: 'true',
      CHANGE_APPROVERS: '[{"subjects":["role:security"]}]',
      MAIL_FROM: 'governance@example.com',
      PUBLIC_URL: 'https://governance.example.com',
      RATE_LIMIT: '1000000',
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
    const headers = { 'Break-Glass': encodeURIComponent('The network is under attack') };
    expect((await send(app, 'POST', '/api/v1/policies', { body: newPolicy(), headers })).status).toBe(201);
    await server.until(2);
    expect(server.received.flatMap(({ to }) => to).sort()).toEqual(['idle@example.com', 'lost@example.com']);
    for (const mail of server.received) expect(mailText(mail)).toContain('emergency');
  });
});
