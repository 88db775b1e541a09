import { closeSync, copyFileSync, mkdirSync, openSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../support/application/send';
import type { ProgramEnded } from '../support/processes/started-program';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ROUNDS, roundsTimeLimit } from './support/rounds';
import { ServedDatabase } from './support/served-database';
import { describeWithSmallDisk, smallDisk, type SmallDisk } from './support/small-disk';
import { temporaryService } from './support/temporary-service';

/** Milliseconds for one round. */
const MAX_ROUND_MS = 5_000;
const WRITES = 250;

let original: ServedDatabase;
let history: History;

/** A database with records of every kind, closed in an orderly way. */
beforeAll(async () => {
  original = await temporaryService();
  history = new History();
  const load = new Load('start', history);
  await original.start();
  await load.prepare(original.url);
  const random = randomFor('start');
  for (let write = 0; write < WRITES; write += 1) await load.once(original.url, random);
  expect(await original.faults(history)).toEqual([]);
  expect(await original.stop()).toBe(0);
});
afterAll(() => original.remove());

/** Matches one line, which names the file. */
const clearLine = (path: string, reason: RegExp): unknown =>
  expect.stringMatching(new RegExp(`^The service could not start: .*${path}.*${reason.source}.*\\n$`));

describe('A start', () => {
  let served: ServedDatabase;

  beforeEach(async () => {
    served = await temporaryService();
  });
  afterEach(() => served.remove());

  it.each([
    ['a folder', 'governance.db', /is a folder/],
    ['below a file', 'file/governance.db', /cannot be created or entered/],
  ])('is refused with a clear line where the file would be %s', async (_what, name, reason) => {
    mkdirSync(served.path);
    writeFileSync(join(served.folder, 'file'), '');
    const end = await endOfStart(join(served.folder, name));
    expect(end).toMatchObject({ exitCode: 1, printed: clearLine(served.folder, reason) });
  });

  it('is refused with a clear line if no folder can be created', async () => {
    const end = await endOfStart('/proc/governance/governance.db');
    expect(end).toMatchObject({ exitCode: 1, printed: clearLine('/proc/governance', /cannot/) });
  });

  it('is refused with exit code 75 while another process serves the file, undisturbed', async () => {
    copyOriginal(served.path);
    await served.start();
    const seen = history.ofCopy();
    const load = new Load('second', seen);
    const stopped = new AbortController();
    const clients = load.run(served.url, 4, stopped.signal);
    const end = await endOfStart(served.path);
    expect(end).toMatchObject({
      exitCode: 75,
      printed: expect.stringMatching(/^The database \S+ is in use by .*\n$/),
    });
    stopped.abort();
    await clients;
    expect(await served.faults(seen)).toEqual([]);
    expect(seen.attempts.length).toBeGreaterThan(history.attempts.length);
    expect(seen.statuses()).not.toHaveProperty('0');
  });

  it.each([
    ['its beginning', 0],
    ['its second page', 1],
  ])('is refused with a clear line when %s is overwritten', async (_what, page) => {
    copyOriginal(served.path);
    overwrite(served.path, page * 4096, Buffer.alloc(4096, 0xa5));
    const end = await served.startOrEnd();
    expect(end).toMatchObject({ exitCode: 1, printed: clearLine(served.path, /damaged/) });
  });

  it(
    'or verification reports any page that is overwritten; nothing false is called valid',
    async () => {
      const random = randomFor('pages');
      const pages = Math.floor(statSync(original.path).size / 4096);
      for (let round = 0; round < Math.ceil(ROUNDS / 4); round += 1) {
        const page = random.below(pages);
        await expectReported(`page ${page}`, (path) =>
          overwrite(path, page * 4096, Buffer.alloc(4096, random.below(256))),
        );
      }
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );

  it(
    'or verification reports any byte that is flipped; nothing false is called valid',
    async () => {
      const random = randomFor('bytes');
      const { size } = statSync(original.path);
      for (let round = 0; round < Math.ceil(ROUNDS / 4); round += 1) {
        const [position, bit] = [random.below(size), random.below(8)];
        await expectReported(`bit ${bit} of byte ${position}`, (path) => flip(path, position, bit));
      }
    },
    roundsTimeLimit(MAX_ROUND_MS),
  );

  /**
   * With a damaged copy the program either does not start, with one line, or runs, answers, and calls only what is
   * valid valid.
   */
  async function expectReported(damage: string, harm: (path: string) => void): Promise<void> {
    served.empty();
    copyOriginal(served.path);
    harm(served.path);
    const end = await served.startOrEnd();
    if (end !== null) {
      expect({ damage, ...end }).toMatchObject({ exitCode: 1, printed: clearLine('', /./) });
      return;
    }
    const answer = await send(served.program, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    const isCalledValid = answer.status === 200 && answer.body.valid === true;
    const entries = isCalledValid ? (await served.faults(history.ofCopy()).catch(String)).toString() : '';
    // Nothing in the chain may be false; everything else is checked with the state.
    expect({ damage, status: [200, 500, 503].includes(answer.status), wrong: /entry \d+/.exec(entries) }).toEqual({
      damage,
      status: true,
      wrong: null,
    });
    expect(served.program.process.exitCode).toBe(null);
    await served.stop('SIGKILL');
  }
});

describeWithSmallDisk('A start on a read-only disk', () => {
  let disk: SmallDisk;

  beforeEach(() => {
    disk = smallDisk();
  });
  afterEach(() => disk.remove());

  it.each([
    ['with the database', 'governance.db'],
    ['without one', 'new.db'],
    ['without its folder', 'new/new.db'],
  ])('%s is refused with a clear line', async (_what, name) => {
    copyOriginal(join(disk.folder, 'governance.db'));
    disk.setReadOnly(true);
    const end = await endOfStart(join(disk.folder, name));
    expect(end).toMatchObject({ exitCode: 1, printed: clearLine(disk.folder, /(written|read-only)/) });
    disk.setReadOnly(false);
    const served = new ServedDatabase(join(disk.folder, 'governance.db'));
    await served.start();
    expect(await served.faults(history.ofCopy())).toEqual([]);
    await served.stop();
  });

  it('that only makes the file read-only is refused with a clear line', async () => {
    const path = join(disk.folder, 'governance.db');
    copyOriginal(path);
    disk.setFileReadOnly(path, true);
    const end = await endOfStart(path);
    disk.setFileReadOnly(path, false);
    expect(end).toMatchObject({ exitCode: 1, printed: clearLine(path, /cannot be written/) });
  });
});

/** Copies the database, with the key of its secrets. */
function copyOriginal(path: string): void {
  for (const ending of ['', '.secret-key']) copyFileSync(`${original.path}${ending}`, `${path}${ending}`);
}

/** Starts the program on the file: how it ended; null if it ran, after stopping it. */
async function endOfStart(path: string): Promise<ProgramEnded | null> {
  const served = new ServedDatabase(path);
  const end = await served.startOrEnd();
  await served.stop('SIGKILL');
  return end;
}

function overwrite(path: string, position: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, position);
  closeSync(file);
}

function flip(path: string, position: number, bit: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, position);
  byte.writeUInt8(byte.readUInt8() ^ (1 << bit));
  writeSync(file, byte, 0, 1, position);
  closeSync(file);
}
