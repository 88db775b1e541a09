import { LogSigner } from '../../src/evidence/checkpoints/log-signer';
import type {
  ConsistencyProofResponse,
  InclusionProofResponse,
} from '../../src/evidence/checkpoints/dto/checkpoint.responses';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createEntity } from '../support/application/factories';
import { leafOf, openCheckpoint, rootByPath, rootOf, rootsByProof } from './log-checker';
import { faults, send, type Answer, type Parsed } from '../support/application/send';

const PROVENANCE = '/api/v1/provenance';
const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** More than one stored subtree, plus an incomplete one. */
const LENGTH = 517;

describe('Checkpoints', () => {
  let app: TestApp;
  let hashes: string[];

  beforeAll(async () => {
    app = await createTestApp({ environment: { CHECKPOINT_ORIGIN: 'example.com/log' } });
    const { id } = await createEntity(app);
    for (let made = 1; made < LENGTH; made += 43) {
      await Promise.all(Array.from({ length: 43 }, (_unused, index) => addClaim(app, id, { value: made + index })));
    }
    hashes = await entryHashes();
  });
  afterAll(() => app.close());

  async function get(path: string): Promise<Answer> {
    return send(app, 'GET', `${PROVENANCE}/${path}`);
  }

  async function entryHashes(): Promise<string[]> {
    const allHashes: string[] = [];
    for (let more = true; more;) {
      const { data } = (await get(`?limit=1000&after=${allHashes.length}`)).body;
      allHashes.push(...data.map(({ hash }: Parsed) => hash));
      more = data.length === 1000;
    }
    return allHashes;
  }

  it('are signed over the tree of all entries', async () => {
    const { status, body } = await get('checkpoint');
    const { origin, size, rootHash } = openCheckpoint(body.checkpoint, body.publicKey);
    expect({ status, origin, size, rootHash }).toEqual({
      status: 200,
      origin: 'example.com/log',
      size: hashes.length,
      rootHash: rootOf(hashes),
    });
    expect(body).toEqual({
      checkpoint: expect.stringMatching(/^example\.com\/log\n\d+\n\S{44}\n\n\u2014 example\.com\/log \S+\n$/u),
      origin,
      size,
      rootHash,
      publicKey: expect.stringMatching(/^example\.com\/log\+[0-9a-f]{8}\+\S{44}$/),
    });
  });

  it('are the same for the same log', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => get('checkpoint')));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  describe('proofs of inclusion', () => {
    it.each([1, 2, 3, 4, 7, 8, 9, 255, 256, 257, 300, 511, 512, 513, LENGTH])(
      'in the tree of size %d',
      async (size) => {
        const rootHash = rootOf(hashes.slice(0, size));
        const sequences = [1, 2, size - 1, Math.ceil(size / 2), size].filter((one) => one > 0 && one <= size);
        for (const sequence of sequences) {
          const { status, body } = await get(`${sequence}/proof?size=${size}`);
          const proof: InclusionProofResponse = body;
          const leafHash = leafOf(hashes[sequence - 1] ?? '');
          expect({ status, ...proof }).toEqual({
            status: 200,
            sequence,
            leafHash,
            size,
            rootHash,
            hashes: proof.hashes,
          });
          expect(rootByPath(sequence - 1, size, leafHash, proof.hashes)).toBe(rootHash);
        }
      },
    );

    it('are of today’s tree by default', async () => {
      const { body } = await get('17/proof');
      const checkpoint = (await get('checkpoint')).body;
      expect(body).toMatchObject({ size: checkpoint.size, rootHash: checkpoint.rootHash });
      expect(rootByPath(16, body.size, body.leafHash, body.hashes)).toBe(checkpoint.rootHash);
    });

    it.each([
      ['17/proof?size=16', { 'query.size': 'must be at least the sequence, 17' }],
      ['17/proof?size=0', { 'query.size': expect.stringContaining('from 1 to') }],
      ['17/proof?size=1e2', { 'query.size': expect.stringContaining('digits only') }],
      ['17/proof?size=100000', { 'query.size': expect.stringMatching(/^must be at most today's size, \d+$/) }],
      ['17/proof?from=1', { 'query.from': expect.any(String) }],
    ])('are refused for %s', async (path, expected) => {
      const answer = await get(path);
      expect([answer.status, faults(answer)]).toEqual([400, expected]);
    });

    it.each(['0', '01', '-1', 'x', '100000', '9007199254740993'])('are not found for %s', async (sequence) => {
      expect(await get(`${sequence}/proof`)).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
    });
  });

  describe('proofs of consistency', () => {
    const sizes = [1, 2, 3, 8, 255, 256, 257, 400, 512, 516, LENGTH];
    it.each(sizes)('from the size %d', async (from) => {
      const fromRoot = rootOf(hashes.slice(0, from));
      for (const to of sizes.filter((size) => size >= from)) {
        const { status, body } = await get(`consistency?from=${from}&to=${to}`);
        const proof: ConsistencyProofResponse = body;
        const toRoot = rootOf(hashes.slice(0, to));
        expect({ status, ...proof }).toEqual({ status: 200, from, to, fromRoot, toRoot, hashes: proof.hashes });
        expect(rootsByProof(from, to, fromRoot, proof.hashes)).toEqual([fromRoot, toRoot]);
      }
    });

    it('lead to today’s tree by default', async () => {
      const { body } = await get('consistency?from=100');
      expect(body).toMatchObject({ to: hashes.length, toRoot: rootOf(hashes) });
    });

    it('are empty from the empty tree', async () => {
      expect((await get('consistency?from=0&to=9')).body).toEqual({
        from: 0,
        to: 9,
        fromRoot: EMPTY_ROOT,
        toRoot: rootOf(hashes.slice(0, 9)),
        hashes: [],
      });
    });

    it.each([
      ['consistency', { 'query.from': 'is required' }],
      ['consistency?to=3', { 'query.from': 'is required' }],
      ['consistency?from=4&to=3', { 'query.from': 'must be at most to, 3' }],
      ['consistency?from=100000', { 'query.from': expect.stringMatching(/^must be at most today's size, \d+$/) }],
      ['consistency?from=1&to=100000', { 'query.to': expect.stringMatching(/^must be at most today's size, \d+$/) }],
      ['consistency?from=-1&to=x', { 'query.from': expect.any(String), 'query.to': expect.any(String) }],
    ])('are refused for %s', async (path, expected) => {
      const answer = await get(path);
      expect([answer.status, faults(answer)]).toEqual([400, expected]);
    });
  });

  it('of an empty log are valid, and later ones extend them', async () => {
    const empty = await createTestApp();
    try {
      const read = async (path: string): Promise<Answer> => send(empty, 'GET', `${PROVENANCE}/${path}`);
      const { body } = await read('checkpoint');
      expect(openCheckpoint(body.checkpoint, body.publicKey)).toEqual({
        origin: 'agent-governance-service',
        size: 0,
        rootHash: EMPTY_ROOT,
      });
      const nothing = { from: 0, to: 0, fromRoot: EMPTY_ROOT, toRoot: EMPTY_ROOT, hashes: [] };
      expect((await read('consistency?from=0')).body).toEqual(nothing);
      expect((await read('1/proof')).status).toBe(404);
      await createEntity(empty);
      expect((await read('checkpoint')).body).toMatchObject({ size: 1 });
      const { body: verdict } = await send(empty, 'POST', `${PROVENANCE}/verify`, {
        body: { checkpoint: body.checkpoint },
      });
      expect(verdict).toMatchObject({ valid: true, checkpoint: { size: 0, signature: 'valid', extended: true } });
    } finally {
      await empty.close();
    }
  });

  it('that are signed during writes all extend one another', async () => {
    const { id } = await createEntity(app);
    const notes: string[] = [];
    const publicKey = app.application.get(LogSigner).publicKey;
    const writers = { isWriting: true };
    const writing = Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let made = 0; made < 30; made += 1) await addClaim(app, id);
      }),
    ).finally(() => (writers.isWriting = false));
    while (writers.isWriting) notes.push((await get('checkpoint')).body.checkpoint);
    await writing;
    notes.push((await get('checkpoint')).body.checkpoint);
    const all = await entryHashes();
    const checkpoints = notes.map((note) => openCheckpoint(note, publicKey));
    expect(checkpoints.at(-1)?.size).toBe(all.length);
    expect(new Set(checkpoints.map(({ size }) => size)).size).toBeGreaterThan(2);
    for (const { size, rootHash } of checkpoints) expect(rootHash).toBe(rootOf(all.slice(0, size)));
  });
});
