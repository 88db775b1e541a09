import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { MailServer, mailText } from '../mail/mail-server';

const MAIN = join(ROOT, 'dist', 'main.js');
/** In full with MAILS_IN_FULL=true; a sample otherwise. */
const [DECISIONS, KILLS] = process.env['MAILS_IN_FULL'] === 'true' ? [10_000, 10] : [200, 1];
const CLIENTS = 10;
const NAMED = 20;
const NOBODY = 'smtp://127.0.0.1:1';

describe('Mails of a service that is killed while its mail server is down', () => {
  it(`name or count each of ${DECISIONS} decisions, and only the mail under way comes twice`, async () => {
    const database = await temporaryDatabase();
    const server = await MailServer.start();
    const start = (SMTP_URL: string): Promise<StartedProgram> =>
      startProgram(MAIN, {
        ...{ ...database.environment, SMTP_URL, MAIL_FROM: 'governance@example.com' },
        ...{ RATE_LIMIT: '10000000', LOG_LEVEL: 'fatal' },
      });
    let program = await start(NOBODY);
    const bot = { name: 'bot', capabilities: ['*'] };
    for (const body of [bot, { name: 'ann', kind: 'human' }]) await program.send('POST', '/api/v1/agents', { body });
    await program.send('PUT', '/api/v1/agents/ann/email', { body: { email: 'ann@example.com' } });

    let next = 0;
    const propose = async (): Promise<void> => {
      for (let number = next++; number < DECISIONS; number = next++) {
        const body = { type: 'deployment', title: `change ${number}!`, riskLevel: 'low', proposedBy: 'bot' };
        const headers = { 'Idempotency-Key': `change-${number}` };
        const sent = (): Promise<number> =>
          program.send('POST', '/api/v1/decisions', { body, headers }).then(
            ({ status }) => status,
            () => 0,
          );
        // Only a service that is killed or starts is asked again.
        for (let status = await sent(); status !== 201; status = await sent()) {
          expect([0, 503]).toContain(status);
          await sleep(20);
        }
      }
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, propose));
    for (let kill = 1; kill <= KILLS; kill += 1) {
      while (next < (kill * DECISIONS) / (KILLS + 1)) await sleep(5);
      await program.stop('SIGKILL');
      program = await start(NOBODY);
    }
    await clients;
    await program.stop('SIGKILL');

    // Killed once more when the mail is there, and not yet confirmed. The mail may come before the start is over.
    let confirm: () => void = () => undefined;
    const confirmation = new Promise<void>((resolve) => {
      confirm = resolve;
    });
    const receipt = new Promise<void>((resolve) => {
      server.beforeConfirmation = () => {
        resolve();
        return confirmation;
      };
    });
    program = await start(server.url);
    await receipt;
    await program.stop('SIGKILL');
    server.beforeConfirmation = () => Promise.resolve();
    confirm();
    program = await start(server.url);
    await server.until(2);
    const texts = server.received.map((mail) => mailText(mail));
    expect(new Set(server.received.map(({ source }) => /^Message-ID: (.*)$/im.exec(source)?.[1])).size).toBe(1);
    for (const text of texts) {
      expect(text).toMatch(new RegExp(`^${DECISIONS} decisions wait for you\\.`));
      expect(new Set(text.match(/change \d+!/g)).size).toBe(NAMED);
      expect(text).toContain(`And ${DECISIONS - NAMED} more`);
    }
    // Nor is it sent a third time: what follows comes in a mail of its own, to somebody who has had none.
    await program.send('POST', '/api/v1/agents', { body: { name: 'ben', kind: 'human' } });
    await program.send('PUT', '/api/v1/agents/ben/email', { body: { email: 'ben@example.com' } });
    const last = { type: 'deployment', title: 'the last', riskLevel: 'low', proposedBy: 'bot' };
    await program.send('POST', '/api/v1/decisions', { body: last });
    await server.until(3);
    expect(server.received.map(({ to }) => to)).toEqual([
      ['ann@example.com'],
      ['ann@example.com'],
      ['ben@example.com'],
    ]);
    await program.stop('SIGKILL');
    await server.close();
    await database.remove();
  });
});
