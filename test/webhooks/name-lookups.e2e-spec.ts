import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent, createEntity } from '../support/application/factories';
import { NAME_SERVER, NameServer, type Otherwise } from '../support/application/name-server';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';
import { describeOnSqlite } from '../support/database/database-kind';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { startCommand, type StartedProgram } from '../support/processes/started-program';

const WEBHOOKS = '/api/v1/webhooks';
const SILENT = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name}.silent.example`);
/** The system's own resolver waits for minutes: longer than a test may take. */
const RESOLVER = `nameserver ${NAME_SERVER}\nsearch corp.example\noptions timeout:30 attempts:5\n`;
/** There the system takes two seconds to find out that a name server is silent. */
const HASTY_RESOLVER = `nameserver ${NAME_SERVER}\noptions timeout:2 attempts:1 edns0\n`;
/** Names that only the system finds, if any. */
const ABSENT = 'absent-and-silent.example';
const NEIGHBOUR = 'neighbour.example';
/** Together the system takes longer for as many than one attempt lasts. */
const TESTS = 9;
const PATIENCE = 100_000;
const LISTED = '127.0.0.1 localhost\n127.0.0.1 listed.example # as the operator wants it\n';
const KNOWN = {
  'hooks.example': ['127.0.0.1'],
  'hooks.corp.example': ['127.0.0.1'],
  'listed.example': ['93.184.215.14'],
  'half.example': ['93.184.215.14', '::1'],
  ...{ faulty: ['127.0.0.1'], silent: ['127.0.0.1'] },
  'neighbour.example': ['127.0.0.1'],
};
const MOUNTS = 'mount --bind "$0" /etc/resolv.conf && mount --bind "$1" /etc/hosts && shift && exec "$@"';

const canMount = spawnSync('unshare', ['-Urm', 'mount', '--bind', '/etc/hosts', '/etc/hosts']).status === 0;

function otherwise(name: string): Otherwise {
  if (name.includes('silent')) return 'silence';
  return name.includes('faulty') ? 'fault' : 'none';
}

function isKnownToSystem(name: string): boolean {
  return [ABSENT, NEIGHBOUR].includes(name);
}

describeOnSqlite('The names of endpoints', () => {
  let folder: string;
  let names: NameServer | null = null;
  let database: TemporaryDatabase;
  let program: StartedProgram;
  let target: WebhookEndpoint;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'webhook-lookups-'));
    writeFileSync(join(folder, 'hosts'), LISTED);
    target = await WebhookEndpoint.start();
    names = canMount ? await NameServer.start({ known: KNOWN, otherwise, isFaultyWithoutEdns: isKnownToSystem }) : null;
    if (names === null)
      process.stdout.write('SKIPPED: look-ups of names need unshare, and the right to listen at 53.\n');
  });
  afterEach(async () => {
    if (names === null) return;
    await program.stop('SIGKILL');
    await database.remove();
  });
  afterAll(async () => {
    await names?.close();
    await target.close();
    rmSync(folder, { recursive: true });
  });

  async function start(environment: Record<string, string>, resolver = RESOLVER): Promise<void> {
    writeFileSync(join(folder, 'resolv.conf'), resolver);
    database = await temporaryDatabase();
    const files = ['resolv.conf', 'hosts'].map((name) => join(folder, name));
    const words = ['-Urm', 'sh', '-c', MOUNTS, ...files, process.execPath, join(ROOT, 'dist', 'main.js')];
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', ...environment };
    program = await startCommand('unshare', words, folder, { ...allowed, ...database.environment });
  }

  async function webhookAt(host: string, action: string): Promise<string> {
    const url = target.url.replace('127.0.0.1', host);
    const { status, body } = await program.send('POST', WEBHOOKS, { body: { url, actions: [action] } });
    expect(status).toBe(201);
    return `${WEBHOOKS}/${body.id}`;
  }

  async function statusAt(host: string): Promise<number | null> {
    const path = await webhookAt(host, 'none');
    return (await program.send('POST', `${path}/test`)).body.status;
  }

  it(
    'whose servers never answer hold up neither other endpoints nor the end of the service',
    async () => {
      if (names === null) return;
      await start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
      for (const host of SILENT) await webhookAt(host, 'agent.created');
      const healthy = ['hooks.example', 'listed.example'];
      for (const host of healthy) await webhookAt(host, 'entity.created');
      await createAgent(program, { name: 'looked up' });
      await names.until(2);
      await createEntity(program);
      await target.until(healthy.length);
      expect(await program.stop()).toBe(0);
    },
    PATIENCE,
  );

  it('are found in the file of hosts first, and under the domains that are searched', async () => {
    if (names === null) return;
    await start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(await statusAt('listed.example')).toBe(204);
    expect(await statusAt('hooks')).toBe(204);
    expect(await statusAt('nowhere.example')).toBeNull();
  });

  it('stand for no other host while their server is silent, or has a fault', async () => {
    if (names === null) return;
    await start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
    const before = target.received.length;
    for (const host of ['silent', 'faulty']) expect([host, await statusAt(host)]).toEqual([host, null]);
    expect(names.asked).toEqual(expect.arrayContaining(['silent.corp.example', 'faulty.corp.example']));
    expect(target.received).toHaveLength(before);
  });

  it('that only the system finds are not held up by many questions for one that it does not find', async () => {
    if (names === null) return;
    await start({ WEBHOOK_ALLOW_PRIVATE: 'true' }, HASTY_RESOLVER);
    const absent = await webhookAt(ABSENT, 'none');
    const tests = Array.from({ length: TESTS }, () => program.send('POST', `${absent}/test`));
    // For addresses of either family, by each of them.
    while (names.asked.filter((name) => name === ABSENT).length < 2 * tests.length) await sleep(20);
    expect(await statusAt(NEIGHBOUR)).toBe(204);
    expect((await Promise.all(tests)).map(({ body }) => body.status)).toEqual(tests.map(() => null));
  });

  it('are refused where a name server says one private address', async () => {
    if (names === null) return;
    await start({});
    const before = target.received.length;
    for (const host of ['hooks.example', 'half.example']) expect([host, await statusAt(host)]).toEqual([host, null]);
    expect(target.received).toHaveLength(before);
  });
});
