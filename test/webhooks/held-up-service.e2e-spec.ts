import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOnSqlite } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

/** Milliseconds: longer than the right to deliver is good for where several processes share a database. */
const HELD_UP = 8_000;
const EVENTS = 10;

/** A machine that has too much to do, or sleeps. */
describeOnSqlite('Webhooks of a service on a file that is held up', () => {
  let program: StartedProgram;
  let endpoint: WebhookEndpoint;

  beforeAll(async () => {
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };
    program = await startProgram(join(ROOT, 'dist', 'main.js'), allowed);
    endpoint = await WebhookEndpoint.start();
    const body = { url: endpoint.url, actions: ['entity.*'] };
    expect((await program.send('POST', '/api/v1/webhooks', { body })).status).toBe(201);
  });
  afterAll(async () => {
    await program.stop();
    await endpoint.close();
  });

  it('come once, also the one that was confirmed meanwhile', async () => {
    const isHeldUp = new Promise<void>((resolve) => {
      endpoint.answering = (response, _received, index) => {
        if (index === 2) {
          program.process.kill('SIGSTOP');
          resolve();
        }
        response.writeHead(204).end();
      };
    });
    // Answered when it goes on, where it is held up before.
    const first = Promise.all(Array.from({ length: 3 }, () => createEntity(program)));
    await isHeldUp;
    await sleep(HELD_UP);
    program.process.kill('SIGCONT');
    await first;
    for (let made = 3; made < EVENTS; made += 1) await createEntity(program);
    await endpoint.until(EVENTS);
    // What would be repeated comes before what was written last.
    expect(new Set(endpoint.sequences).size).toBe(EVENTS);
    expect(endpoint.sequences).toHaveLength(EVENTS);
  });
});
