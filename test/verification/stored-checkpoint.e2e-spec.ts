import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointText } from '../../src/evidence/checkpoints/checkpoint';
import { type CheckpointFiles, StoredCheckpoint } from '../../src/evidence/checkpoints/stored-checkpoint';
import { NoteSigner } from '../../src/core/signed-notes/signed-note';
import { ROOT } from '../support/documents/markdown';

const COMPILED = join(ROOT, 'dist');
const ORIGIN = 'example.org/log';
const SIGNER = new NoteSigner(ORIGIN, Buffer.alloc(32, 1));

describe('The kept checkpoint of several processes', () => {
  let folder: string;
  let files: CheckpointFiles & { lock: string };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'governance-test-'));
    const checkpoint = join(folder, 'kept.checkpoint');
    files = {
      checkpoint,
      earlierCheckpoints: [],
      lock: `${checkpoint}.lock`,
      erasures: join(folder, 'kept.erasures'),
      earlierErasures: [],
      signingKey: join(folder, 'kept.signing-key'),
    };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function issued(size: number): { text: string; size: number } {
    return { text: SIGNER.sign(checkpointText({ origin: ORIGIN, size, rootHash: 'ab'.repeat(32) })), size };
  }

  it('never goes back, whichever process writes last', async () => {
    const store = new StoredCheckpoint(files);
    for (let round = 1; round <= 20; round += 1) {
      const sizes = [4, 1, 3, 2].map((size) => round * 10 + size);
      await Promise.all(sizes.map((size) => new StoredCheckpoint(files).keep(issued(size))));
      expect(store.read()?.size).toBe(round * 10 + 4);
    }
  });

  it('can still be replaced after a process died while replacing it', async () => {
    const store = new StoredCheckpoint(files);
    await store.keep(issued(1));
    const program =
      `const { lockedFile } = require('${COMPILED}/ledger/database/sqlite/sqlite-file.js');` +
      `lockedFile(process.argv[1], 0).then(() => { console.log('held'); setInterval(() => {}, 1000) });`;
    const holder = spawn(process.execPath, ['-e', program, files.lock], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    const keeping = store.keep(issued(2));
    expect(store.read()?.size).toBe(1);
    holder.kill('SIGKILL');
    await keeping;
    expect(store.read()?.size).toBe(2);
  });
});
