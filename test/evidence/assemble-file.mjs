/**
 * Makes the decision file of an execution from what other routes answer, by the words of the contract alone, and prints
 * it. The service's own route is held against it.
 *
 * Usage: API=<url> API_KEY=<key> node assemble-file.mjs <execution>
 */
import { createHash } from 'node:crypto';

const { API, API_KEY = '' } = process.env;
const NOT_CONTENT = ['status', 'warnings', 'createdAt'];

/** @param {string} path @returns {Promise<string>} */
async function read(path) {
  const answer = await fetch(`${API}/api/v1${path}`, { headers: { 'X-API-Key': API_KEY } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}

/** @param {any} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** @param {any} value */
function hashOf(value) {
  return createHash('sha256').update(canonical(value)).digest('hex');
}

/** @param {number} prefix @param {...Buffer} parts */
function hashed(prefix, ...parts) {
  return createHash('sha256')
    .update(Buffer.concat([Buffer.of(prefix), ...parts]))
    .digest();
}

/** RFC 6962, section 2.1. @param {Buffer[]} leaves @returns {Buffer} */
function root(leaves) {
  if (leaves.length === 1) return hashed(0, /** @type {Buffer} */ (leaves[0]));
  const middle = splitOf(leaves.length);
  return hashed(1, root(leaves.slice(0, middle)), root(leaves.slice(middle)));
}

/** @param {number} index @param {Buffer[]} leaves @returns {string[]} */
function proof(index, leaves) {
  if (leaves.length === 1) return [];
  const middle = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
  return index < middle
    ? [...proof(index, left), root(right).toString('hex')]
    : [...proof(index - middle, right), root(left).toString('hex')];
}

/** @param {number} size */
function splitOf(size) {
  return 2 ** Math.ceil(Math.log2(size) - 1);
}

const [executionId = ''] = process.argv.slice(2);
const { checkpoint } = JSON.parse(await read('/provenance/checkpoint'));
const size = Number(checkpoint.split('\n')[1]);
const lines = (await read('/provenance/export')).trimEnd().split('\n').slice(0, size);
const log = lines.map((line) => JSON.parse(line));
const reached = [executionId];
for (const id of reached)
  for (const { subjectType, state, audit } of log.filter(({ subjectId }) => subjectId === id)) {
    const { decisionId, grantId, instead, executionId: decidedExecutionId } = state;
    const earlierIds = (audit.details.earlier ?? []).map((/** @type {any} */ one) => one.executionId);
    const linkedIds = {
      execution: [decisionId, grantId, instead?.grantId, audit.details.repeats, ...earlierIds],
      decision: [decidedExecutionId],
      grant: [decisionId],
    }[/** @type {'grant'} */ (subjectType)];
    reached.push(...linkedIds.filter((one) => one && !reached.includes(one)));
  }
const own = log.filter(({ subjectId }) => reached.includes(subjectId));
const needed = new Set(own);
for (const { sequence, audit, state } of own) {
  const { agentRevision, principalRevision, approverRevision, approvers = [], claims = [] } = audit.details;
  for (const id of claims.flatMap((/** @type {any} */ { ids }) => ids ?? []))
    needed.add(log.find((entry) => entry.subjectId === id));
  const agentRevisions = [
    [state.agentId, agentRevision],
    [audit.agentId, approverRevision],
    [state.onBehalfOf?.subject.replace('agent:', ''), principalRevision],
    ...approvers.map((/** @type {any} */ one) => [one.agentId, one.revision]),
  ];
  for (const [id, revision] of agentRevisions.filter(([, revision]) => Number.isInteger(revision)))
    needed.add(
      log.findLast(
        (entry) => entry.subjectId === id && entry.sequence < sequence && entry.state?.revision === revision,
      ),
    );
}

const contents = new Map();
const inForce = new Set();
const rules = new Map();
const { defaultEffect = 'deny' } = process.env;
for (const { subjectType, state, audit } of log) {
  if (subjectType === 'policy') {
    contents.set(state.id, Object.fromEntries(Object.entries(state).filter(([name]) => !NOT_CONTENT.includes(name))));
    if (state.status === 'active') inForce.add(state.id);
    else inForce.delete(state.id);
  }
  const { rules: hash } = audit.details;
  if (hash === undefined || !own.some((entry) => entry.audit.details.rules === hash)) continue;
  rules.set(hash, { hash, defaultEffect, evaluation: 4, policies: [...inForce].sort() });
}
const ids = new Set([...rules.values()].flatMap(({ policies }) => policies));
const leaves = log.map(({ hash }) => Buffer.from(hash, 'hex'));
for (const { hash, defaultEffect, evaluation, policies } of rules.values()) {
  const computed = hashOf({
    defaultEffect,
    evaluation,
    policies: policies.map((/** @type {string} */ id) => [id, hashOf(contents.get(id))]),
  });
  if (computed !== hash) throw new Error(`rules ${hash} are ${computed}`);
}
process.stdout.write(
  canonical({
    format: 'agent-governance-evidence/1',
    executionId,
    checkpoint,
    entries: log
      .filter((entry) => needed.has(entry))
      .map((entry) => ({ ...entry, proof: proof(entry.sequence - 1, leaves) })),
    rules: [...rules.values()],
    policies: [...ids].sort().map((id) => contents.get(id)),
  }),
);
