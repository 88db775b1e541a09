import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ROOT } from '../support/documents/markdown';
import type { Parsed } from '../support/application/send';
import { describeWithFaultyDisk, type FaultyDisk } from './support/faulty-disk';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ROUNDS } from './support/rounds';
import type { ServedDatabase } from './support/served-database';
import { serviceOnFaultyDisk } from './support/temporary-service';

const RELEASES = join(ROOT, 'test', 'fixtures', 'releases');
/** Approximate number of writes of a start on a new file; that of an older release writes less. */
const WRITES_OF_A_START = 150;

const releases = readdirSync(RELEASES).filter((name) => name.endsWith('.db.gz'));

describeWithFaultyDisk('A migration killed half-way', () => {
  let disk: FaultyDisk;
  let served: ServedDatabase;

  beforeEach(async () => {
    ({ served, disk } = await serviceOnFaultyDisk());
  });
  afterEach(() => served.remove());

  /** Starts the program and kills it after a number of writes that the seed determines. */
  async function killStarts(label: string, attempts: number): Promise<number> {
    const random = randomFor(label);
    let killed = 0;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const [operation, action] = random.pick([
        ['any', 'kill'],
        ['write', 'tear'],
      ] as const);
      disk.fail({ operation, file: 'any', action, count: random.below(WRITES_OF_A_START / (1 + random.below(8))) });
      const end = await served.startOrEnd();
      disk.heal();
      if (end === null) await served.stop('SIGKILL');
      else killed += 1;
      if (end !== null) expect(end).toMatchObject({ exitCode: null });
    }
    return killed;
  }

  it('of a new database is completed by the next start', async () => {
    expect(await killStarts('new database', Math.ceil(ROUNDS / 2))).toBeGreaterThan(0);
    const history = new History();
    const load = new Load('new database', history);
    await served.start();
    await load.prepare(served.url);
    expect(await served.faults(history)).toEqual([]);
  });

  it.each(releases)(
    'of %s is completed by the next start, and loses nothing',
    async (name) => {
      const original = gunzipSync(readFileSync(join(RELEASES, name)));
      writeFileSync(served.path, original);
      await served.start();
      const expected = await everything();
      await served.stop();
      for (let round = 0; round < Math.ceil(ROUNDS / 10); round += 1) {
        served.empty();
        writeFileSync(served.path, original);
        await killStarts(`${name}, round ${round}`, 2);
        await served.start();
        expect(await everything()).toEqual(expected);
        await served.stop('SIGKILL');
      }
    },
    300_000,
  );

  /** The entries that the release left, without those that today's start adds. Records are verified against them. */
  async function everything(): Promise<unknown> {
    const { program } = served;
    const { body } = await program.send('POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    const audit: Parsed[] = (await program.send('GET', '/api/v1/audit?limit=1000&order=asc')).body.data;
    const provenance: Parsed[] = (await program.send('GET', '/api/v1/provenance?limit=1000')).body.data;
    const last = audit.findLastIndex(({ actor }) => actor.type !== 'system');
    expect(last).toBeGreaterThan(5);
    return { audit: audit.slice(0, last + 1), provenance: provenance.slice(0, last + 1) };
  }
});
