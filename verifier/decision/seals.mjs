import { bytesOfHex, hexOf } from '../bytes.mjs';
import { hashOf } from '../canonical-json.mjs';
import { isSigned, keyOf, parseCheckpoint } from '../checkpoint.mjs';
import { entryFaults } from '../entry-check.mjs';
import { RECORD_ACTIONS } from '../record-actions.mjs';
import { rootOf } from './inclusion.mjs';

/**
 * Checks that a decision file has what the log has: its signature, hashes, proofs, and rules with the contents of
 * policies.
 *
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('../findings.mjs').Findings} Findings
 * @typedef {import('../checkpoint.mjs').Checkpoint} Checkpoint
 * @typedef {import('../checkpoint.mjs').VerifierKey} VerifierKey
 */

/**
 * @param {DecisionFile} file
 * @param {readonly VerifierKey[]} keys
 * @param {Findings} findings
 * @returns {Promise<Checkpoint | undefined>}
 */
export async function checkSeals(file, keys, findings) {
  const checkpoint = readCheckpoint(file, findings);
  if (checkpoint === undefined) return undefined;
  await checkSignatures(checkpoint, keys, findings);
  for (const { proof, ...entry } of file.entries) {
    const place = `entry ${entry['sequence']}`;
    for (const fault of entryFaults(entry)) findings.add('file', place, fault);
    const root = rootOf(
      bytesOfHex(String(entry['hash'])),
      entry['sequence'] - 1,
      checkpoint.size,
      proof.map(bytesOfHex),
    );
    if (root === undefined || hexOf(root) !== hexOf(checkpoint.root))
      findings.add(
        'file',
        place,
        `its proof does not lead to the root of the checkpoint of ${checkpoint.size} entries`,
      );
  }
  checkRules(file, findings);
  return checkpoint;
}

/**
 * @param {DecisionFile} file
 * @param {Findings} findings
 */
function readCheckpoint({ checkpoint }, findings) {
  try {
    return parseCheckpoint(checkpoint);
  } catch (error) {
    findings.add('checkpoint', 'the checkpoint', error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/**
 * @param {Checkpoint} checkpoint
 * @param {readonly VerifierKey[]} keys
 * @param {Findings} findings
 */
async function checkSignatures(checkpoint, keys, findings) {
  if (!(await isSigned(checkpoint, keys)))
    findings.add('checkpoint', 'the checkpoint', 'is not signed by the public key');
  // A signature without a key could be changed unnoticed.
  const unknown = checkpoint.signatures.find((signature) => keyOf(signature, keys) === undefined);
  if (unknown !== undefined)
    findings.add('checkpoint', 'the checkpoint', `has a signature by ${unknown.name}, whose public key was not given`);
}

/**
 * @param {DecisionFile} file
 * @param {Findings} findings
 */
function checkRules({ executionId, entries, rules, policies }, findings) {
  const hashes = new Map(policies.map((policy) => [policy.id, hashOf(policy)]));
  const requiredHashes = new Set(entries.flatMap(rulesIn));
  const [seenHashes, usedPolicyIds] = [new Set(), new Set()];
  for (const { hash, defaultEffect, evaluation, policies: ids } of rules) {
    const place = `rules ${hash}`;
    const missingId = ids.find((id) => !hashes.has(id));
    if (missingId !== undefined) findings.add('file', place, `the policy ${missingId} is not in the file`);
    const pairs = ids.map((id) => [id, hashes.get(id) ?? '']);
    if (hash !== hashOf({ defaultEffect, evaluation, policies: pairs }))
      findings.add('file', place, 'are not these policies with these contents and this default effect');
    if (!requiredHashes.has(hash)) findings.add('file', place, 'belong to no entry');
    if (seenHashes.has(hash)) findings.add('file', place, 'are there twice');
    seenHashes.add(hash);
    for (const id of ids) usedPolicyIds.add(id);
  }
  // In files of earlier versions the rules of earlier executions are missing: what rests on them is left open.
  const own = entries.filter(({ subjectType, subjectId }) => subjectType !== 'execution' || subjectId === executionId);
  for (const hash of own.flatMap(rulesIn))
    if (requiredHashes.delete(hash) && !seenHashes.has(hash))
      findings.add('file', `rules ${String(hash)}`, 'are not in the file');
  for (const { id } of policies)
    if (!usedPolicyIds.has(id)) findings.add('file', `policy ${id}`, 'is in none of the rules');
}

/**
 * Returns the hashes of the rules that an entry names: those that decided, and those for which a change was proposed.
 * Rules that a person only looked at decided nothing, and neither did those of a decision that was erased, or what a
 * module calls so.
 * @param {import('./read-file.mjs').Json} entry
 * @returns {unknown[]}
 */
function rulesIn({ audit, state }) {
  const { action, details } = audit;
  const isDeciding = action !== 'agent.access_reviewed' && Object.hasOwn(RECORD_ACTIONS, action);
  const deciding = isDeciding ? details?.rules : undefined;
  const proposed = state?.erased === true ? undefined : state?.change?.rules;
  return [deciding, proposed].filter((hash) => hash !== undefined);
}
