import { canonicalJson } from '../canonical-json.mjs';

/**
 * The bodies of requests that make given entries: a member that has its default may be left out, or given.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {readonly [name: string, values: readonly unknown[]]} Choice a member and its possible values; undefined: it is left out
 */

const OF_AGENTS = ['capabilities', 'description', 'directory', 'observeUntil', 'roles', 'slackId', 'team'];
const OF_WEBHOOKS = ['actions', 'agentId', 'description', 'url'];

/**
 * Yields every combination of the choices.
 * @param {readonly Choice[]} choices
 * @returns {Generator<Json>}
 */
function* combine([choice, ...others]) {
  if (choice === undefined) {
    yield {};
    return;
  }
  const [name, values] = choice;
  for (const body of combine(others))
    for (const value of values) yield value === undefined ? body : { ...body, [name]: value };
}

/**
 * Returns the ways in which a body can give a member.
 * @param {string} name
 * @param {unknown} value
 * @param {unknown} absent its default
 * @returns {Choice}
 */
function member(name, value, absent) {
  const isDefault = canonicalJson(value ?? null) === canonicalJson(absent);
  return [name, isDefault ? [undefined, absent] : [value]];
}

/**
 * @param {Json} entry `policy.created`
 * @returns {Iterable<unknown>}
 */
export function policyBodies({ state }) {
  const { name, version, effect, subjects, actions, resources, approval } = state;
  const choices = [
    member('description', state.description, ''),
    member('resourceTypes', state.resourceTypes, []),
    member('priority', state.priority, 0),
    member('conditions', state.conditions ?? [], []),
    member('limits', state.limits ?? [], []),
    member('onBehalfOf', state.onBehalfOf, null),
    // If the body has no team, the team is that of the key.
    /** @type {Choice} */ (['team', [undefined, state.team ?? null]]),
    /** @type {Choice} */ (['approval', approval === undefined ? [undefined] : approvalForms(approval)]),
  ];
  const required = { name, version, effect, subjects, actions, resources };
  return withRequired(required, choices);
}

/**
 * @param {Json} approval with all defaults filled in
 * @returns {unknown[]}
 */
function approvalForms({ riskLevel, approvers, decideWithin, executeWithin, grant }) {
  const groups = [approvers].flat();
  const short = groups.map(({ approvals, ...group }) => (approvals === 1 ? group : { ...group, approvals }));
  // The default number of approvals is a setting.
  const isEverybody = groups.length === 1 && canonicalJson(groups[0].subjects) === '["*"]';
  const forms = [
    ...combine([
      member('riskLevel', riskLevel, 'medium'),
      ['approvers', [...(isEverybody ? [undefined] : []), groups, short]],
      member('decideWithin', decideWithin, 'P1D'),
      member('executeWithin', executeWithin, 'PT1H'),
      ['grant', grant === undefined ? [undefined] : grantForms(grant)],
    ]),
  ];
  return forms.some((form) => Object.keys(form).length === 0) ? [undefined, ...forms] : forms;
}

/** @param {Json} grant */
function grantForms({ for: length, uses, wider }) {
  return [...combine([['for', [length]], member('uses', uses, null), member('wider', wider, false)])];
}

/**
 * @param {Json} entry `agent.created`
 * @returns {Iterable<unknown>}
 */
export function agentBodies({ state: { name, kind = 'machine', description, capabilities, roles, team } }) {
  return withRequired({ name }, [
    member('kind', kind, 'machine'),
    member('description', description, ''),
    member('capabilities', capabilities, []),
    member('roles', roles, []),
    ['team', [undefined, team ?? null]],
  ]);
}

/**
 * @param {Json} entry `agent.updated`
 * @param {Json} change whose summary names the members of the body
 * @returns {unknown[]}
 */
export function agentPatchBodies({ state }, change) {
  return [patchBody(OF_AGENTS, state, change)];
}

/**
 * @param {Json} entry `webhook.updated`
 * @param {Json} change whose summary names the members of the body
 * @returns {unknown[]}
 */
export function webhookPatchBodies({ state }, change) {
  return [patchBody(OF_WEBHOOKS, state, change)];
}

/**
 * Returns the members that a change of an agent may name: a mail address is set by another route.
 * @param {Json} change
 */
export function agentNamesIn(change) {
  return namesIn(change).filter((name) => OF_AGENTS.includes(name));
}

/**
 * Returns the members that a change of a webhook may name.
 * @param {Json} change
 */
export function webhookNamesIn(change) {
  return namesIn(change).filter((name) => OF_WEBHOOKS.includes(name));
}

/**
 * @param {readonly string[]} changeable
 * @param {Json} state
 * @param {Json} change
 */
function patchBody(changeable, state, change) {
  const names = namesIn(change);
  return Object.fromEntries(
    changeable.filter((name) => names.includes(name)).map((name) => [name, state[name] ?? null]),
  );
}

/**
 * Returns the names of the members of a body that changes a record, which the summary has.
 * @param {Json} change
 */
function namesIn({ summary }) {
  return (/^Change (?<names>[A-Za-z, ]+) of the /u.exec(String(summary))?.groups?.['names'] ?? '').split(', ');
}

/**
 * @param {Json} entry `webhook.created`
 * @returns {Iterable<unknown>}
 */
export function webhookBodies({ state: { url, actions, agentId, description, format, detail, buttons, approvers } }) {
  return withRequired({ url, actions }, [
    member('description', description, ''),
    member('format', format ?? 'event', 'event'),
    member('detail', detail ?? 'full', 'full'),
    member('buttons', buttons ?? false, false),
    member('approvers', approvers ?? [], []),
    ['agentId', [agentId === null ? undefined : agentId]],
  ]);
}

/**
 * @param {Json} entry `api_key.created`
 * @returns {Iterable<unknown>}
 */
export function keyBodies({ state: { name, scopes, agentId, principals, team, expiresAt } }) {
  return withRequired({ name, scopes }, [
    member('agentId', agentId, null),
    member('principals', principals ?? [], []),
    member('team', team, null),
    member('expiresAt', expiresAt, null),
  ]);
}

/**
 * Returns the bodies that have a reason at most.
 * @param {Json} entry
 * @returns {unknown[]}
 */
export function bareBodies({ audit: { reason } }) {
  return reason === null ? [{}] : [{}, { reason }];
}

/**
 * @param {Json} _entry
 * @param {Json} change whose summary names the entry after which is delivered again
 * @returns {{ after: number }[]}
 */
export function replayBodies(_entry, { summary }) {
  const after = / again what follows the entry (?<after>\d+)\.$/u.exec(summary)?.groups?.['after'];
  return after === undefined ? [] : [{ after: Number(after) }];
}

/**
 * @param {Json} required
 * @param {readonly Choice[]} choices
 * @returns {Generator<Json>}
 */
function* withRequired(required, choices) {
  for (const body of combine(choices)) yield { ...required, ...body };
}
