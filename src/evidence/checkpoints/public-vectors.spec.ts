import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isConsistent, isIncluded } from '../../ledger/merkle/proof-check';
import { leafHash, nodeHash, TreeFrontier } from '../../ledger/merkle/tree';
import { checkpointText, parseCheckpoint } from './checkpoint';
import { formatNote, parseVerifierKey, signatureVerdict } from '../../core/signed-notes/signed-note';

/**
 * The test data of transparency-dev/merkle and transparency-dev/tessera, if they are checked out next to the project.
 */
const VECTORS = join(__dirname, '../../../../shared/vectors');
const whenPresent = existsSync(VECTORS) ? describe : describe.skip;

function files(folder: string): string[] {
  const path = join(VECTORS, folder);
  if (!existsSync(path)) return ['absent'];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .sort();
}

interface InclusionCase {
  readonly leafIdx: number;
  readonly treeSize: number;
  readonly root: string | null;
  readonly leafHash: string | null;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
}

interface ConsistencyCase {
  readonly size1: number;
  readonly size2: number;
  readonly root1: string | null;
  readonly root2: string | null;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
}

function hex(base64: string | null): string {
  return Buffer.from(base64 ?? '', 'base64').toString('hex');
}

function read(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(VECTORS, folder, name), 'utf8'));
}

whenPresent('Proofs of others are judged as they say (../shared/vectors/merkle)', () => {
  const [inclusion, consistency] = ['merkle/testdata/inclusion', 'merkle/testdata/consistency'];

  it('has cases of both', () => {
    expect([files(inclusion).length, files(consistency).length]).toEqual([98, 98]);
  });

  it.each(files(inclusion))('inclusion: %s', (name) => {
    const { leafIdx, treeSize, root, leafHash: leaf, proof, wantErr } = read(inclusion, name) as InclusionCase;
    const tree = { size: treeSize, rootHash: hex(root) };
    expect(isIncluded(leafIdx, hex(leaf), tree, (proof ?? []).map(hex))).toBe(!wantErr);
  });

  it.each(files(consistency))('consistency: %s', (name) => {
    const { size1, size2, root1, root2, proof, wantErr } = read(consistency, name) as ConsistencyCase;
    const earlier = { size: size1, rootHash: hex(root1) };
    const later = { size: size2, rootHash: hex(root2) };
    expect(isConsistent(earlier, later, (proof ?? []).map(hex))).toBe(!wantErr);
  });
});

whenPresent('Checkpoints of another log are read and checked (../shared/vectors/tessera-log)', () => {
  const folder = join(VECTORS, 'tessera-log/testdata/log');
  const key = parseVerifierKey('example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx');
  const words = 'one two three four five six seven eit nain ten ileven twelf threeten fourten fivten'.split(' ');
  const sizes = Array.from({ length: words.length + 1 }, (_unused, size) => size);
  /** Leaves of that log are words, not hashes of 32 bytes. */
  const leafOf = (word: string): string => createHash('sha256').update(`\0${word}`).digest('hex');

  it.each(sizes)('signature, root and every part of the checkpoint of size %d', (size) => {
    const text = readFileSync(join(folder, `checkpoint.${size}`), 'utf8');
    const checkpoint = parseCheckpoint(text);
    if (typeof checkpoint === 'string') throw new Error(checkpoint);
    if (key === undefined) throw new Error('The verifier key cannot be read.');
    const frontier = TreeFrontier.empty();
    for (const word of words.slice(0, size)) frontier.append(leafOf(word));
    expect(checkpoint).toMatchObject({ origin: 'example.com/log/testdata', size, rootHash: frontier.root });
    expect(signatureVerdict(checkpoint.note, [key])).toBe('valid');
    expect(signatureVerdict(checkpoint.note, [])).toBe('unknown_key');
    const altered = { ...checkpoint.note, text: checkpoint.note.text.replace(`\n${size}\n`, `\n${size + 1}\n`) };
    expect(signatureVerdict(altered, [key])).toBe('invalid');
    expect(checkpointText(checkpoint)).toBe(checkpoint.note.text);
    expect(formatNote(checkpoint.note)).toBe(text);
  });

  it('its tile of leaf hashes gives the same nodes', () => {
    const tile = readFileSync(join(folder, 'tile/0/000.p/2')).toString('hex');
    const [one = '', two = ''] = words.map(leafOf);
    expect(tile).toBe(one + two);
    const checkpoint = parseCheckpoint(readFileSync(join(folder, 'checkpoint.2'), 'utf8'));
    expect(checkpoint).toMatchObject({ rootHash: nodeHash(one, two) });
    // Anything other than a hash of 32 bytes is a leaf as text.
    expect(leafHash('one')).toBe(one);
  });
});
