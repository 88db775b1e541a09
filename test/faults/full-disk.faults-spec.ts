import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { History } from './support/history';
import { falseHealth } from './support/ledger-faults';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ServedDatabase } from './support/served-database';
import { describeWithSmallDisk, smallDisk, type SmallDisk } from './support/small-disk';
import { until, untilHealthy, watch } from './support/watch';

const BACKUP = join(ROOT, 'dist', 'program', 'backup', 'main.js');
const CLIENTS = 8;
/** Bytes. */
const SPARE = 64 * 1024;

describeWithSmallDisk('A full disk', () => {
  let disk: SmallDisk;
  let served: ServedDatabase;
  let history: History;
  let load: Load;

  beforeEach(async () => {
    disk = smallDisk();
    served = new ServedDatabase(join(disk.folder, 'governance.db'));
    history = new History();
    load = new Load('room', history);
    await served.start();
    await load.prepare(served.url);
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    disk.remove();
  });

  it('makes writes 503 while reads continue; once there is room again the service recovers without a restart', async () => {
    for (let round = 1; round <= 2; round += 1) {
      const stopped = new AbortController();
      const writing = load.run(served.url, CLIENTS, stopped.signal);
      const watching = watch(served.url, history, stopped.signal);
      await sleep(300);
      disk.fill();
      const from = performance.now();
      await until('writes are refused', () => (history.statuses(from)[503] ?? 0) > 50);
      stopped.abort();
      await Promise.all([writing, watching]);
      // Nothing at all can be written any more; until now something smaller might have found room.
      disk.fill();
      const full = performance.now();
      const watched = new AbortController();
      const looking = watch(served.url, history, watched.signal);
      const one = new AbortController();
      const refused = load.run(served.url, 2, one.signal);
      await sleep(2_500);
      one.abort();
      await refused;
      expect(Object.keys(history.statuses(full))).toEqual(expect.arrayContaining(['503']));
      expect(falseHealth(history, full, performance.now())).toBe(0);
      disk.makeRoom();
      await untilHealthy(served.url, history);
      watched.abort();
      await looking;
      expect([...history.reads.keys()]).toEqual([200]);
      const wrote = history.acknowledged;
      const again = new AbortController();
      const clients = load.run(served.url, CLIENTS, again.signal);
      await until('writes go on', () => history.acknowledged > wrote + 20);
      again.abort();
      await clients;
      expect({ round, faults: await served.faults(history) }).toEqual({ round, faults: [] });
    }
    expect(await served.stop()).toBe(0);
  });

  it('with room for a page of the probe, but not for a batch, is not healthy', async () => {
    disk.fill(SPARE);
    const from = performance.now();
    const stopped = new AbortController();
    const clients = [load.fill(served.url, 10_000_000), watch(served.url, history, stopped.signal)];
    await until('writes are refused', () => (history.statuses(from)[503] ?? 0) > 3);
    await sleep(2_500);
    expect(falseHealth(history, from, performance.now())).toBe(0);
    stopped.abort();
    await Promise.all(clients);
    disk.makeRoom();
    await untilHealthy(served.url, history);
    expect(await served.faults(history)).toEqual([]);
  });

  it('with room for a stored answer, but not for a batch, is not healthy', async () => {
    const agent = await history.write(served.url, {
      operation: 'createAgent',
      method: 'POST',
      path: 'agents',
      body: { name: 'active' },
    });
    disk.fill(SPARE);
    await load.fill(served.url, 1);
    expect(await history.lookAtHealth(served.url)).toBe(503);
    const path = `agents/${agent?.body.id}/resume`;
    const resumed = await history.write(served.url, { operation: 'resumeAgent', method: 'POST', path, key: 'small' });
    expect(resumed?.status).toBe(200);
    expect(await history.lookAtHealth(served.url)).toBe(503);
    disk.makeRoom();
    await untilHealthy(served.url, history);
    expect(await served.faults(history)).toEqual([]);
  });

  it('and a kill lose nothing that was acknowledged', async () => {
    const clients = load.run(served.url, CLIENTS, new AbortController().signal);
    await sleep(200);
    disk.fill();
    const from = performance.now();
    await until('writes are refused', () => (history.statuses(from)[503] ?? 0) > 20);
    await served.stop('SIGKILL');
    await clients;
    disk.makeRoom();
    await served.start();
    expect(await served.faults(history)).toEqual([]);
  });

  it('at the start allows reads at once, and everything once there is room again', async () => {
    await served.stop('SIGKILL');
    disk.fill();
    await served.start();
    expect((await history.read(served.url, 'entities'))?.status).toBe(200);
    await load.once(served.url, randomFor('room'));
    disk.makeRoom();
    await untilHealthy(served.url, history);
    expect(await served.faults(history)).toEqual([]);
  });

  it('under a new database is reported in one clear line', async () => {
    disk.fill();
    const fresh = new ServedDatabase(join(disk.folder, 'other.db'));
    expect(await fresh.startOrEnd()).toMatchObject({
      exitCode: 1,
      printed: expect.stringMatching(/^The service could not start: .*other\.db.*full.*\n$/),
    });
  });

  it('prevents a backup from starting, and the service continues to write', async () => {
    const before = readdirSync(disk.folder).sort();
    const environment = { DATABASE_URL: `sqlite:${served.path}` };
    const backup = await run(process.execPath, [BACKUP, join(disk.folder, 'backup.db')], { environment });
    expect(backup).toEqual({
      exitCode: 1,
      output: '',
      errors: expect.stringMatching(
        /^No backup was written: the disk has room for \d+ bytes, and \d+ are needed\. .+\n$/,
      ),
    });
    expect(readdirSync(disk.folder).sort()).toEqual(before);
    const from = performance.now();
    await load.once(served.url, randomFor('backup'));
    expect(history.statuses(from)[503]).toBeUndefined();
    expect(await served.faults(history)).toEqual([]);
  });

  it('on which the log of the database grows is reported by a backup to another disk, which is made', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'governance-backup-'));
    const environment = { DATABASE_URL: `sqlite:${served.path}` };
    const backup = await run(process.execPath, [BACKUP, join(folder, 'backup.db')], { environment });
    rmSync(folder, { recursive: true });
    expect(backup).toEqual({
      exitCode: 0,
      output: expect.stringMatching(/VALID\n$/),
      errors: expect.stringMatching(/^The disk of the database has room for \d+ bytes\. .+ 503 .+\n$/),
    });
  });

  it('with room for just the copy takes a backup from another disk, since the log grows there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'governance-backup-'));
    const elsewhere = new ServedDatabase(join(folder, 'governance.db'));
    await elsewhere.start();
    await elsewhere.stop();
    const environment = { DATABASE_URL: `sqlite:${elsewhere.path}` };
    const target = join(disk.folder, 'backup.db');
    const backup = await run(process.execPath, [BACKUP, target], { environment });
    expect(backup).toMatchObject({ exitCode: 0, errors: '' });
    rmSync(target);
    disk.fill(SPARE);
    const refused = await run(process.execPath, [BACKUP, target], { environment });
    rmSync(folder, { recursive: true });
    expect(refused).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the disk has room for') });
    disk.makeRoom();
  });
});
