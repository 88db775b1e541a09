/**
 * Has random agents ask a running service for random actions, random people review them, and policies, roles and
 * suspensions change in between; then recomputes the decision file of every execution. Prints what differs as JSON.
 *
 * Usage: API=<url> API_KEY=<key> node random-flows.mjs <rounds> <seed> [folder for the files]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseVerifierKey } from '../../verifier/checkpoint.mjs';
import { checkDecisionFile } from '../../verifier/decision/check.mjs';

const ROLES = ['finance', 'security', 'ops'];
const SHOWN = 3;
const LAST_CLOCKS = 3_500;
const [rounds, seed, folder] = process.argv.slice(2);
const { API, API_KEY = '' } = process.env;

let state = Number(seed) >>> 0;
/** @param {number} most */
function below(most) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * most);
}
/** @template Item @param {readonly Item[]} items @returns {Item} */
const one = (items) => /** @type {Item} */ (items[below(items.length)]);

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [key]
 * @returns {Promise<{ status: number, text: string, body: any }>}
 */
async function call(method, path, body, key = API_KEY) {
  const answer = await fetch(`${API}/api/v1${path}`, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, text, body: text === '' ? null : JSON.parse(text) };
}

/** @param {string} prefix @param {number} count @param {string} kind */
async function agents(prefix, count, kind) {
  const made = [];
  for (let number = 0; number < count; number += 1) {
    const body = { name: `${prefix} ${number}`, kind, roles: ROLES.filter(() => below(2) === 0), capabilities: ['*'] };
    made.push((await call('POST', '/agents', body)).body);
  }
  return made;
}

function group() {
  const subjects = [...new Set(Array.from({ length: 1 + below(2) }, () => one(subjectsOfGroups)))];
  const escalate = { after: 'PT1S', subjects: [one(subjectsOfGroups)] };
  return { subjects, approvals: 1 + below(2), signed: below(6) === 0, ...(below(3) === 0 && { escalate }) };
}

/** Creates a policy of one of a few names, so that it takes the place of an older one. */
async function changePolicy() {
  version += 1;
  const effect = one(['require_approval', 'require_approval', 'require_approval', 'require_approval', 'allow', 'deny']);
  const isReview = below(12) === 0;
  const approval = {
    riskLevel: one(['low', 'high']),
    decideWithin: one(['P1D', 'P1W', 'PT2S']),
    executeWithin: one(['PT1H', 'P1D', 'PT1S']),
    approvers: Array.from({ length: 1 + below(3) }, group),
  };
  await call('POST', '/policies', {
    ...{ name: `policy ${below(6)}`, version: String(version), effect: isReview ? 'deny' : effect },
    subjects: [one(isReview ? ['role:ops', 'agent:person 1'] : ['*', 'role:ops', 'agent:bot 0'])],
    actions: [isReview ? one(['decision:approve', 'decision:reject', 'decision:*']) : one(['*', 'pay', 'send'])],
    resources: [
      isReview ? one(['decisions/high/*', 'decisions/low/execution', '*']) : one(['*', 'orders/*', 'orders/1']),
    ],
    priority: effect === 'deny' && !isReview ? -1 : below(2),
    ...(effect === 'require_approval' && !isReview ? { approval } : {}),
    ...(below(4) === 0 ? { conditions: [{ parameter: '/amount', op: one(['lt', 'gte']), value: 5 }] } : {}),
  });
}

async function changeAgent() {
  const { id } = one([...people, ...bots]);
  const change = below(3);
  if (change === 0) await call('PATCH', `/agents/${id}`, { roles: ROLES.filter(() => below(2) === 0) });
  else await call('POST', `/agents/${id}/${change === 1 ? 'suspend' : 'resume'}`, {});
}

async function review() {
  const { data } = (await call('GET', '/decisions?status=proposed&limit=1000')).body;
  if (data.length === 0) return;
  const { id } = one(data);
  const able = (await call('GET', `/decisions/${id}/approvers`)).body.data.filter(
    (/** @type {any} */ approver) => approver.able,
  );
  if (able.length > 0 && below(5) > 0) {
    const { agentId, delegationId } = one(able);
    await call('POST', `/decisions/${id}/approve`, { approverId: agentId, delegationId });
    return;
  }
  const body = below(4) === 0 ? {} : { approverId: one(below(5) === 0 ? bots : people).id };
  await call('POST', `/decisions/${id}/${below(3) > 0 ? 'approve' : 'reject'}`, body);
}

/** Somebody lets another person review, or ends that. */
async function changeDelegation() {
  const person = one(people);
  const key = peoplesKeys.get(person.id);
  const path = `/agents/${person.id}/delegations`;
  const { data } = (await call('GET', `${path}?status=active`)).body;
  if (data.length > 1) await call('POST', `${path}/${one(data).id}/end`, undefined, key);
  else await call('POST', path, { to: one(people).id, until: new Date(Date.now() + 86_400_000).toISOString() }, key);
}

/** @param {string} outcome @param {string} step @param {unknown} [body] */
async function goOn(outcome, step, body) {
  const { data } = (await call('GET', `/executions?outcome=${outcome}&limit=1000`)).body;
  if (data.length > 0) await call('POST', `/executions/${one(data).id}/${step}`, body);
}

async function ask() {
  await call('POST', `/agents/${one(bots).id}/execute`, {
    ...{
      action: one(['pay', 'send']),
      resourceType: 'order',
      resourceId: `orders/${below(40)}`,
      parameters: { amount: below(10) },
    },
  });
}

const bots = await agents('bot', 3, 'machine');
const people = await agents('person', 8, 'human');
/** Maps people to their keys. @type {Map<string, string>} */
const peoplesKeys = new Map();
for (const { id: agentId } of people) {
  const { body } = await call('POST', '/api-keys', { name: 'own', scopes: ['review'], agentId });
  peoplesKeys.set(agentId, body.secret);
}
const subjectsOfGroups = [
  '*',
  ...ROLES.map((role) => `role:${role}`),
  'role:*',
  'agent:person 1',
  'person 2',
  'kind:human',
  'kind:machine',
  'agent:bot 1',
];
let version = 0;
for (let number = 0; number < 4; number += 1) await changePolicy();
const steps = [
  ...[ask, ask, ask, review, review, review, review, review, review, review, changeAgent, changeDelegation],
  () => (below(2) === 0 ? changePolicy() : review()),
  ...[
    () => goOn('approved', 'resume'),
    () => goOn('approved', 'resume'),
    () => goOn('authorized', 'result', { outcome: 'executed' }),
  ],
  () => (below(4) === 0 ? goOn('pending_approval', 'cancel', {}) : review()),
];
for (let round = 0; round < Number(rounds); round += 1) await one(steps)();
// By then what was to be decided or executed within seconds has expired.
await sleep(LAST_CLOCKS);

const { publicKey } = (await call('GET', '/provenance/checkpoint')).body;
const keys = [parseVerifierKey(publicKey)];
/** @type {Record<string, number>} */
const counts = {};
const different = [];
for (let offset = 0, more = true; more; offset += 1_000) {
  const { data, total } = (await call('GET', `/executions?limit=1000&offset=${offset}`)).body;
  more = offset + 1_000 < total;
  for (const { id } of data) {
    const { status, text } = await call('GET', `/executions/${id}/evidence`);
    const result = status === 200 ? await checkDecisionFile(text, keys) : { recomputed: false, status, text };
    if (folder !== undefined) writeFileSync(join(folder, `${id}.evidence.json`), text);
    if (!result.recomputed) different.push({ id, ...result });
    else for (const { action } of 'steps' in result ? result.steps : []) counts[action] = (counts[action] ?? 0) + 1;
  }
}
process.stdout.write(JSON.stringify({ different: different.length, counts, first: different.slice(0, SHOWN) }));
