/**
 * Asks a running service random questions, and has the offline verifier's evaluator answer them as well. Prints the
 * differences and some counts as JSON.
 *
 * Usage: API=<url> API_KEY=<key> node compare-answers.mjs <questions> <seed> [default effect]
 */
import { evaluate } from '../../verifier/evaluation/evaluate.mjs';
import { randomCases } from './random-cases.mjs';

const EACH = 1_000;
const SHOWN = 5;
const [questions, seed, defaultEffect = 'deny'] = process.argv.slice(2);
const { API, API_KEY = '' } = process.env;

/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
async function call(path, body) {
  const answer = await fetch(`${API}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const read = await answer.json();
  if (answer.ok) return read;
  throw new Error(`${path}: ${answer.status} ${JSON.stringify(read.error.details?.slice(0, 5) ?? read)}`);
}

/** @returns {Promise<any[]>} */
async function inForce() {
  const policies = [];
  for (
    let page = await call('/policies?status=active&limit=1000');
    ;
    page = await call(`/policies?cursor=${page.nextCursor}&limit=1000`)
  ) {
    policies.push(...page.data);
    if (page.nextCursor === undefined) return policies;
  }
}

/** Returns the answer of either in one form. @param {any} answer */
function shape({ effect, reason, policies, approval }) {
  const listedPolicies = policies
    .slice(0, 10)
    .map((/** @type {any} */ policy) => [policy.id, policy.name, policy.version, policy.effect]);
  return JSON.stringify({
    effect,
    reason,
    policies: listedPolicies,
    approval: approval && [
      approval.riskLevel,
      approval.decideWithin,
      approval.executeWithin,
      approval.approvers.map((/** @type {any} */ group) => [group.subjects, group.approvals, group.signed]),
    ],
  });
}

const cases = randomCases(Number(seed));
const agents = [];
for (const body of cases.agentBodies()) agents.push(await call('/agents', body));
await call(`/agents/${agents[6].id}/suspend`, {});
agents[6].status = 'suspended';
const byId = new Map(agents.map((agent) => [agent.id, agent]));
cases.know(agents);

/** @param {{ subject: string, roles?: string[] } | undefined} onBehalfOf */
function principalOf(onBehalfOf) {
  if (onBehalfOf === undefined) return null;
  const subject = onBehalfOf.subject.normalize();
  const [type, id = ''] = subject.split(/:(.*)/su);
  if (type !== 'agent') return { ...onBehalfOf, subject };
  return { person: agents.find((agent) => agent.id === id || agent.name === id) };
}

/**
 * The parameters as the service sees them: what stands for a secret is equal to nothing, so it need not be computed.
 * @param {Record<string, any>} parameters
 */
function redacted({ token, text, ...others }) {
  const isSecret = token !== undefined && ![null, true, false, ''].includes(token);
  const isHash = text?.$sha256 !== undefined;
  return {
    ...others,
    ...(token === undefined ? {} : { token: isSecret ? { $secret: 'a' } : token }),
    ...(text === undefined ? {} : { text: isHash ? { $hmac: 'a', bytes: text.bytes } : text }),
  };
}

/** @type {Record<string, number>} */
const counts = {};
const differences = [];
let base = (await call('/policies/plan', { policies: [] })).base;
for (let questionCount = 0, round = 0; questionCount < Number(questions); questionCount += EACH, round += 1) {
  ({ policySet: base } = await call('/policies/apply', {
    base,
    policies: cases.policies(`${seed}.${round}`),
    prune: true,
  }));
  const policies = await inForce();
  const requests = cases.requests(Math.min(EACH, Number(questions) - questionCount));
  // The clock of conditions is the time that is asked about.
  const time = new Date();
  const { results } = await call('/policies/evaluate', { requests, asOf: time.toISOString() });
  for (const [index, request] of requests.entries()) {
    const agent =
      request.agent === undefined ? { roles: [], kind: 'machine', ...request.subject } : byId.get(request.agent);
    const principal = principalOf(request.onBehalfOf);
    const seen = { ...request, parameters: redacted(request.parameters), evaluation: 4, time };
    const own = evaluate(agent, seen, policies, defaultEffect, { principal });
    const [mine, theirs] = [shape(own), shape(results[index])];
    const outcome = `${own.effect} ${own.reason}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (mine === theirs) continue;
    const policyIds = new Set([...own.policies, ...results[index].policies].map(({ id }) => id));
    differences.push({ request, agent, mine, theirs, policies: policies.filter(({ id }) => policyIds.has(id)) });
  }
}
process.stdout.write(
  `${JSON.stringify({ differences: differences.length, counts, first: differences.slice(0, SHOWN) })}\n`,
);
