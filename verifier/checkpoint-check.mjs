import { hexOf } from './bytes.mjs';
import { isSigned } from './checkpoint.mjs';

/**
 * Compares the chain with checkpoints that the caller kept.
 * @param {import('./chain.mjs').Chain} chain
 * @param {readonly { name: string, checkpoint: import('./checkpoint.mjs').Checkpoint }[]} notes
 * @param {readonly import('./checkpoint.mjs').VerifierKey[]} keys
 * @param {import('./findings.mjs').Findings} findings
 */
export async function checkCheckpoints(chain, notes, keys, findings) {
  for (const { name, checkpoint } of notes) {
    const { size, root } = checkpoint;
    if (size > chain.tree.size) {
      findings.add(
        'checkpoint',
        name,
        `has ${size} entries, the chain ${chain.tree.size}: the end was cut off, or it was taken earlier`,
      );
    } else if (chain.roots.get(size) !== hexOf(root)) {
      findings.add('checkpoint', name, `another history: the first ${size} entries do not have its root`);
    }
    if (keys.length === 0) findings.note(`The signature of ${name} was not checked: no --public-key was given.`);
    else if (!(await isSigned(checkpoint, keys))) findings.add('checkpoint', name, 'is not signed by the public key');
  }
}
