/**
 * Verifies an export of which some entries were changed, and all sealed again. Each line of the second file is a list of
 * changed entries; the first fault of each export is printed, or null.
 *
 * Usage: node verify-forged-logs.mjs <export> <changes>
 */
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { hashOf } from '../../verifier/canonical-json.mjs';
import { Chain } from '../../verifier/chain.mjs';
import { ATTESTED } from '../../verifier/decision/attested.mjs';
import { Findings } from '../../verifier/findings.mjs';
import { SEALED } from '../../verifier/hashed-forms.mjs';

/** @param {any} entry @param {string} previousHash */
function sealed({ audit, salts, state, ...entry }, previousHash) {
  const { details, ip, reason, requestId, ...identification } = audit;
  const detailsHash = hashOf({ details, ip, reason, requestId, salt: salts.details });
  const auditHash = hashOf({ ...identification, detailsHash });
  const stateHash = state === null ? null : hashOf({ salt: salts.state, state });
  const whole = { ...entry, audit, salts, state, detailsHash, auditHash, stateHash, previousHash };
  return {
    ...whole,
    hash: hashOf(Object.fromEntries(SEALED.map((name) => [name, whole[/** @type {'id'} */ (name)]]))),
  };
}

/** @param {any[]} entries */
async function firstFault(entries) {
  const findings = new Findings();
  const chain = new Chain(findings, new Set());
  for (const entry of entries) await chain.add(sealed(entry, chain.hash));
  await chain.requireErasures();
  const [first] = findings.first;
  return first === undefined ? null : `${first.layer}: ${first.place}: ${first.fault}`;
}

const [log = '', changes = ''] = process.argv.slice(2);
const entries = readFileSync(log, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
  .filter(({ audit }) => audit !== undefined);
const faults = [];
for await (const line of createInterface({ input: createReadStream(changes) })) {
  const changed = new Map(JSON.parse(line).map((/** @type {any} */ entry) => [entry.sequence, entry]));
  faults.push(await firstFault(entries.map((entry) => changed.get(entry.sequence) ?? entry)));
}
process.stdout.write(JSON.stringify({ faults, attested: Object.keys(ATTESTED) }));
