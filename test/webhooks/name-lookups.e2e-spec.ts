import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent, createEntity } from '../support/application/factories';
import { NAME_SERVER, NameServer } from '../support/application/name-server';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';
import { describeOnSqlite } from '../support/database/database-kind';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { startCommand, type StartedProgram } from '../support/processes/started-program';

const WEBHOOKS = '/api/v1/webhooks';
const SILENT = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name}.silent.example`);
const MANY_SILENT = Array.from({ length: 9 }, (_unused, index) => `${index}.silent.example`);
/** The system takes two seconds to find out that a name server is silent. */
const RESOLVER = `nameserver ${NAME_SERVER}\nsearch corp.example\noptions timeout:2 attempts:1\n`;
/** Number of test events whose look-ups would together take longer than an attempt. */
const TESTS = 9;
const PATIENCE = 100_000;
const LISTED =
  '127.0.0.1 localhost\n127.0.0.1 listed.example # as the operator wants it\n' +
  '93.184.215.14 two.example\n127.0.0.1 two.example\n';
const ADDRESSES = {
  'hooks.example': ['127.0.0.1'],
  'hooks.corp.example': ['127.0.0.1'],
  'listed.example': ['93.184.215.14'],
  'half.example': ['93.184.215.14', '::1'],
};
const MOUNTS = 'mount --bind "$0" /etc/resolv.conf && mount --bind "$1" /etc/hosts && shift && exec "$@"';

const canMount = spawnSync('unshare', ['-Urm', 'mount', '--bind', '/etc/hosts', '/etc/hosts']).status === 0;

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
    names = canMount
      ? await NameServer.start({ addresses: ADDRESSES, isSilent: (name) => name.includes('silent') })
      : null;
    if (names === null)
      process.stdout.write('SKIPPED: look-ups of names need unshare, and the right to listen at 53.\n');
    else await start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
  });
  beforeEach(() => names?.queries.splice(0));
  afterAll(async () => {
    if (names !== null) await stop();
    await names?.close();
    await target.close();
    rmSync(folder, { recursive: true });
  });

  async function start(environment: Record<string, string>): Promise<void> {
    writeFileSync(join(folder, 'resolv.conf'), RESOLVER);
    database = await temporaryDatabase();
    const files = ['resolv.conf', 'hosts'].map((name) => join(folder, name));
    const words = ['-Urm', 'sh', '-c', MOUNTS, ...files, process.execPath, join(ROOT, 'dist', 'main.js')];
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', ...environment };
    program = await startCommand('unshare', words, folder, { ...allowed, ...database.environment });
  }

  async function stop(): Promise<void> {
    await program.stop('SIGKILL');
    await database.remove();
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

  it('are found in the file of hosts first, and under the domains that are searched', async () => {
    if (names === null) return;
    expect(await statusAt('listed.example')).toBe(204);
    expect(await statusAt('hooks')).toBe(204);
    expect(await statusAt('nowhere.example')).toBeNull();
  });

  it('are looked up once, with any number of attempts that wait for the answer', async () => {
    if (names === null) return;
    const silent = await webhookAt('silent.example', 'none');
    const tests = Array.from({ length: TESTS }, () => program.send('POST', `${silent}/test`));
    while (!names.queries.includes('silent.example')) await sleep(20);
    expect(await statusAt('hooks.example')).toBe(204);
    expect((await Promise.all(tests)).map(({ body }) => body.status)).toEqual(tests.map(() => null));
  });

  it('found before are found in time, however many others have silent servers', async () => {
    if (names === null) return;
    expect(await statusAt('hooks.example')).toBe(204);
    const silent = await Promise.all(MANY_SILENT.map((host) => webhookAt(host, 'none')));
    const tests = silent.map((path) => program.send('POST', `${path}/test`));
    await names.until(1);
    expect(await statusAt('hooks.example')).toBe(204);
    await Promise.all(tests);
  });

  it(
    'whose servers never answer hold up neither other endpoints for good nor the end of the service',
    async () => {
      if (names === null) return;
      const before = target.received.length;
      for (const host of SILENT) await webhookAt(host, 'agent.created');
      const healthy = ['hooks.example', 'listed.example'];
      for (const host of healthy) await webhookAt(host, 'entity.created');
      await createAgent(program, { name: 'looked up' });
      await names.until(2);
      await createEntity(program);
      await target.until(before + healthy.length);
      expect(await program.stop()).toBe(0);
    },
    PATIENCE,
  );

  it('are refused where one of their addresses is private, by a name server or by the file of hosts', async () => {
    if (names === null) return;
    await stop();
    await start({});
    const before = target.received.length;
    for (const host of ['hooks.example', 'half.example', 'listed.example', 'two.example'])
      expect([host, await statusAt(host)]).toEqual([host, null]);
    expect(target.received).toHaveLength(before);
  });
});
