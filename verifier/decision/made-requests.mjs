import { canonicalJson, hashOf } from '../canonical-json.mjs';
import { normalFormC } from '../evaluation/normal-form.mjs';
import { sha256Hex } from '../primitives.mjs';
import {
  agentBodies,
  agentNamesIn,
  agentPatchBodies,
  bareBodies,
  keyBodies,
  policyBodies,
  replayBodies,
  webhookBodies,
  webhookNamesIn,
  webhookPatchBodies,
} from './made-bodies.mjs';
import { expectErased, expectFields, expectTeam, expectVersions } from './made-states.mjs';
import { quoted } from './narration.mjs';

/**
 * Compares the request of a change, as it was approved, with the entries that it made: its path, its summary and, where
 * the entries show enough, its body.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {object} Route what a route of the service makes
 * @property {string} method
 * @property {string} path with `:id` for the record, or the name of the agent, that the entry of `main` is about
 * @property {string} [main] the action of exactly one entry
 * @property {readonly string[]} [others] actions of further entries, in any number
 * @property {(entry: Json, place: string, change: Json) => string | undefined} [summary] undefined where the entry does
 *   not show it
 * @property {(entry: Json, change: Json) => Iterable<unknown>} [bodies] those that make such an entry
 * @property {(change: Json) => readonly string[]} [fields] the members that an update may name as changed
 * @property {true} [canWait] true if an emergency changes nothing of it, because it decides who is told of one
 */

const MAX_SUMMARY = 450;
const MAX_SUBJECTS = 5;
/** Most bodies that are tried, and the most characters that they have together. */
const MAX_BODIES = 10_000;
const MAX_CHARACTERS = 32 * 2 ** 20;
/** Stands for an entry that a change has not made. @type {Json} */
const NOTHING = { state: {}, audit: { reason: null, details: {} } };
/** Actions that change which policies are in force. */
export const OF_POLICIES = ['policy.created', 'policy.superseded', 'policy.activated', 'policy.deactivated'];
/** Actions whose records may have a team. */
export const OF_TEAMS = ['policy.created', 'agent.created'];
const ERASING = [
  ...['entity.deleted', 'entity.erased', 'execution.erased', 'decision.erased'],
  ...['grant.revoked', 'grant.erased'],
];

/** @type {readonly Route[]} */
const ROUTES = [
  {
    method: 'POST',
    path: '/policies',
    main: 'policy.created',
    others: ['policy.superseded'],
    summary: ({ state }) => `Create the policy "${state.name}" (version ${state.version})`,
    bodies: policyBodies,
  },
  {
    method: 'POST',
    path: '/policies/:id/activate',
    main: 'policy.activated',
    others: ['policy.superseded'],
    summary: ({ state }) => `Put the policy "${state.name}" (version ${state.version}) in force`,
    bodies: bareBodies,
  },
  {
    method: 'POST',
    path: '/policies/:id/deactivate',
    main: 'policy.deactivated',
    summary: ({ state }) => `Take the policy "${state.name}" (version ${state.version}) out of force`,
    bodies: bareBodies,
  },
  {
    method: 'POST',
    path: '/policies/apply',
    others: [...OF_POLICIES, 'agent.created', 'agent.updated'],
    // How much changed is in the summary alone: agents may have changed since.
    summary: (_entry, _place, { summary }) => withWords('Apply a set of policies: ', summary, ''),
    fields: () => ['description', 'capabilities', 'roles', 'team'],
  },
  {
    method: 'POST',
    path: '/agents',
    main: 'agent.created',
    summary: ({ state }) => `Create the agent "${state.name}" of kind ${state.kind ?? 'machine'}`,
    bodies: agentBodies,
  },
  {
    method: 'PATCH',
    path: '/agents/:id',
    main: 'agent.updated',
    summary: ({ state }, _place, { summary }) => withNames('Change ', summary, ` of the agent "${state.name}"`),
    bodies: agentPatchBodies,
    fields: agentNamesIn,
  },
  {
    method: 'POST',
    path: '/agents/:id/resume',
    main: 'agent.resumed',
    summary: ({ state }) => `Resume the agent "${state.name}"`,
    bodies: bareBodies,
  },
  {
    method: 'PUT',
    path: '/agents/:id/email',
    main: 'agent.updated',
    summary: (_entry, place) => `Set the mail address of ${place}`,
    canWait: true,
    fields: () => ['email'],
  },
  {
    method: 'DELETE',
    path: '/agents/:id/email',
    main: 'agent.updated',
    summary: (_entry, place) => `Forget the mail address of ${place}`,
    canWait: true,
    bodies: bareBodies,
    fields: () => ['email'],
  },
  {
    method: 'POST',
    path: '/agents/:agent/passkeys/:id/remove',
    main: 'passkey.removed',
    summary: (_entry, _place, { path, summary }) =>
      withWords('Remove the passkey "', summary, `" of ${decoded(path.split('/')[4] ?? '')}`),
    bodies: bareBodies,
  },
  {
    method: 'POST',
    path: '/api-keys',
    main: 'api_key.created',
    summary: ({ state: { name, scopes, agentId } }) =>
      `Issue the key "${name}" with the scopes ${[scopes].flat().join(', ')}, ${agentId === null ? 'bound to nobody' : `for ${agentId}`}`,
    bodies: keyBodies,
  },
  {
    method: 'POST',
    path: '/webhooks',
    main: 'webhook.created',
    summary: ({ state }) => `Create a webhook to ${originOf(state.url)}`,
    bodies: webhookBodies,
  },
  {
    method: 'PATCH',
    path: '/webhooks/:id',
    main: 'webhook.updated',
    summary: (_entry, place, { summary }) => withNames('Change ', summary, ` of the webhook ${place}`),
    canWait: true,
    bodies: webhookPatchBodies,
    fields: webhookNamesIn,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/rotate-secret',
    main: 'webhook.updated',
    summary: (_entry, place) => `Give the webhook ${place} a new secret`,
    bodies: bareBodies,
    fields: () => ['secret'],
  },
  {
    method: 'POST',
    path: '/webhooks/:id/replay',
    others: ['webhook.updated'],
    summary: (_entry, place, { summary }) => {
      const [body] = replayBodies(NOTHING, { summary });
      return `Deliver to the webhook ${place} again what follows the entry ${body?.after}`;
    },
    bodies: replayBodies,
    fields: () => ['status'],
  },
  {
    method: 'DELETE',
    path: '/webhooks/:id',
    main: 'webhook.deleted',
    summary: (_entry, place) => `Delete the webhook ${place}`,
    canWait: true,
    bodies: bareBodies,
  },
  {
    method: 'POST',
    path: '/stops/:id/lift',
    main: 'stop.lifted',
    summary: (_entry, place) => `Lift the stop ${place}`,
    bodies: bareBodies,
  },
  {
    method: 'POST',
    path: '/erasures',
    main: 'erasure.begun',
    others: ERASING,
    summary: ({ state }) => `Erase the contents of ${subjectsText([state.subjects].flat())}`,
    bodies: ({ state: { subjects, reason } }) => [{ subjects, reason }],
  },
];
const MAKING = new Set(ROUTES.flatMap(({ main, others = [] }) => [main, ...others]));

/** The actions of the entries that the service's own routes make. */
export const MADE_ACTIONS = [...MAKING].filter((action) => action !== undefined);

/**
 * @param {Json} change
 * @param {readonly Json[]} made its entries
 * @param {History} history
 * @param {Report} report
 */
export function expectRequest(change, made, history, report) {
  const { method, path } = change;
  const [route, place = ''] = routeAt(String(method), String(path)) ?? [];
  if (route === undefined) {
    const own = made.find(({ action }) => MAKING.has(action));
    if (own !== undefined) report.differ(`${quoted(method)} ${quoted(path)} makes no ${own['action']}`);
    else report.note(`${method} ${path} is a route of a module: what it makes is not known to this verifier.`);
    return;
  }
  const { main, others = [], summary } = route;
  const mains = made.filter(({ action }) => action === main);
  const strange = made.find(({ action }) => action !== main && !others.includes(action));
  if (strange !== undefined) report.differ(`${method} ${path} makes no ${strange['action']}`);
  if (main !== undefined && mains.length !== 1)
    report.differ(`${method} ${path} makes one ${main}, not ${mains.length}`);
  const [entry = made[0] ?? NOTHING] = mains;
  if (place !== '' && entry !== NOTHING && !isAbout(entry, place))
    report.differ(`${method} ${path} is not about ${entry['subjectId']}`);
  const words = summary?.(entry, place, change);
  if (words !== undefined)
    report.expect('what was said to be approved', change['summary'], `${[...words].slice(0, MAX_SUMMARY).join('')}.`);
  expectFields(route.fields?.(change) ?? [], made, report);
  expectErased(made, report);
  expectPolicySets(change, made, history, report);
  const body = expectBody(route, entry, change, report);
  history.approvedBody = body;
  if (body !== undefined && OF_TEAMS.includes(String(main))) expectTeam(entry, body, report);
}

/**
 * True for a request that waits for a second person even in an emergency.
 * @param {Json} change
 */
export function canWait({ method, path }) {
  return routeAt(String(method), String(path))?.[0].canWait === true;
}

/**
 * Finds the route of a request, and what its path names.
 * @param {string} method
 * @param {string} path
 * @returns {readonly [Route, string] | undefined}
 */
function routeAt(method, path) {
  for (const route of ROUTES) {
    const pattern = route.path.replace(':id', '(?<id>[^/]+)').replace(':agent', '[^/]+');
    const match = route.method === method ? new RegExp(`^/api/v1${pattern}$`, 'iu').exec(path) : null;
    if (match !== null) return [route, decoded(match.groups?.['id'] ?? '')];
  }
  return undefined;
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * @param {Json} entry
 * @param {string} place an id, or the name of an agent
 */
function isAbout({ subjectId, subjectType, state }, place) {
  return subjectId === place || (subjectType === 'agent' && normalFormC(String(state?.name)) === normalFormC(place));
}

/**
 * Checks that the entries about policies name the set that was in force after them: that of before, as the change names
 * it, and their own.
 * @param {Json} change
 * @param {readonly Json[]} made
 * @param {History} history
 * @param {Report} report
 */
function expectPolicySets({ rules: hash }, made, history, report) {
  const ofPolicies = made.filter(({ action }) => OF_POLICIES.includes(action));
  if (hash === undefined) {
    if (ofPolicies.length > 0) report.differ('the change of policies names no rules');
    return;
  }
  const rules = history.rules(hash);
  if (rules === undefined) return report.lack('the file does not have the rules that the change names');
  const ids = new Set(rules.policies.map(({ id }) => id));
  for (const { action, subjectId, sequence } of ofPolicies) {
    const isComing = action === 'policy.created' || action === 'policy.activated';
    if (ids.has(subjectId) === isComing)
      report.differ(`the policy ${subjectId} was ${isComing ? 'in' : 'not in'} force before`, sequence);
    if (isComing) ids.add(subjectId);
    else ids.delete(subjectId);
  }
  expectVersions(ofPolicies, rules.policies, ids, report);
  const policySet = hashOf([...ids].sort());
  const coming = ofPolicies.map(({ subjectId }) => subjectId).filter((id) => ids.has(id));
  for (const { audit, sequence, action } of ofPolicies) {
    report.expect('details.policySet', audit.details.policySet, policySet, sequence);
    if (action === 'policy.superseded' && !coming.includes(audit.details.supersededBy))
      report.differ(
        `nothing took the place of the policy that gave way to ${String(audit.details.supersededBy)}`,
        sequence,
      );
  }
}

/**
 * Reports whether a body that makes these entries has the approved hash. Another hash proves nothing: a body may have
 * another spelling, and members that no entry shows.
 * @param {Route} route
 * @param {Json} entry
 * @param {Json} change
 * @param {Report} report
 * @returns {Json | undefined} the body
 */
function expectBody({ bodies }, entry, change, report) {
  const body = bodyOfHash(bodies?.(entry, change) ?? [], change['bodyHash']);
  report.hasUnknownBody = body === undefined;
  if (body === undefined)
    report.note(
      `The body with the hash ${change['bodyHash']}, which was approved, does not follow from the entries: that they are what it asked for rests on the service’s word.`,
    );
  else report.say('Its body follows from the entries, and has the hash that was approved.');
  return body;
}

/**
 * Returns the body that has the hash. Of many, or long ones, only the first are tried.
 * @param {Iterable<unknown>} bodies
 * @param {unknown} hash
 * @returns {Json | undefined}
 */
export function bodyOfHash(bodies, hash) {
  let [count, characters] = [0, 0];
  for (const body of bodies) {
    const text = canonicalJson(body);
    if (sha256Hex(text) === hash) return /** @type {Json} */ (body);
    [count, characters] = [count + 1, characters + text.length];
    if (count >= MAX_BODIES || characters >= MAX_CHARACTERS) return undefined;
  }
  return undefined;
}

/**
 * Fills in the names of members, which only the summary has.
 * @param {string} beginning
 * @param {string} summary
 * @param {string} end
 */
function withNames(beginning, summary, end) {
  const names = summary.startsWith(beginning) ? summary.slice(beginning.length).split(' of the ')[0] : '';
  return `${beginning}${names}${end}`;
}

/**
 * Fills in words that no entry of the change shows.
 * @param {string} beginning
 * @param {string} summary
 * @param {string} end
 */
function withWords(beginning, summary, end) {
  const isWhole = summary.startsWith(beginning) && summary.endsWith(`${end}.`);
  return `${beginning}${isWhole ? summary.slice(beginning.length, -end.length - 1) : ''}${end}`;
}

/** @param {string} url */
function originOf(url) {
  try {
    return new URL(url).origin;
  } catch {
    return url;
  }
}

/** @param {readonly Json[]} subjects */
function subjectsText(subjects) {
  const words = subjects.slice(0, MAX_SUBJECTS).map(({ type, id }) => `the ${type} ${id}`);
  const more = subjects.length - words.length;
  return `${words.join(', ')}${more > 0 ? ` and ${more} more records` : ''}`;
}
