/**
 * The scopes that the caller of a change needs: docs/api-decisions.md, "Scopes". What routes of modules need says their
 * code.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

const ADMIN = 'admin';
/** The type of a decision on what was done in an emergency. */
const EMERGENCY = 'change_review';
/** The scope that each path needs. @type {readonly (readonly [RegExp, string])[]} */
const OF_PATHS = [
  [/^\/api\/v1\/policies(?:\/|$)/iu, 'policies'],
  [/^\/api\/v1\/agents(?:\/[^/]+(?:\/resume)?)?$/iu, 'agents'],
  [/^\/api\/v1\/stops\//iu, 'review'],
  // Nobody has to approve that a person removes a passkey of their own.
  [/^\/api\/v1\/agents\/[^/]+\/passkeys\//iu, ADMIN],
  [/^\/api\/v1\/(?:api-keys|webhooks|erasures)(?:\/|$)/iu, ADMIN],
];
const OF_AGENTS = ['agent.created', 'agent.updated', 'agent.resumed'];
/** The members of agents that only `admin` changes. */
const ADMINS_FIELDS = ['observeUntil', 'team'];

/**
 * Returns all scopes that the caller of a change needs.
 * @param {Json} decision
 * @param {readonly Json[]} made the entries that the change has made, if it was made
 * @returns {string[]}
 */
export function scopesOfChange(decision, made) {
  const { type, change, proposedBy } = decision;
  return [
    ...(type === EMERGENCY ? [ADMIN] : []),
    ...OF_PATHS.flatMap(([pattern, scope]) => (pattern.test(String(change.path)) ? [scope] : [])),
    ...made.filter(({ action }) => OF_AGENTS.includes(action)).flatMap((entry) => scopesOfAgent(entry, proposedBy)),
  ];
}

/**
 * @param {Json} entry about an agent
 * @param {string | null} proposedBy
 * @returns {string[]}
 */
function scopesOfAgent(entry, proposedBy) {
  const { state, audit } = entry;
  // People set their own addresses.
  if (isMail(entry)) return state.id === proposedBy ? [] : [ADMIN];
  const { fields = [] } = audit.details;
  const isAdmins = state.kind === 'human' || ADMINS_FIELDS.some((name) => fields.includes(name));
  return isAdmins ? ['agents', ADMIN] : ['agents'];
}

/**
 * True for an entry about the agent as which the proposer of a change acts: nobody changes that, except for the mail
 * address.
 * @param {Json} entry that the change has made
 * @param {Json} decision
 */
export function isOfProposer(entry, { proposedBy }) {
  return OF_AGENTS.includes(entry['action']) && entry['subjectId'] === proposedBy && !isMail(entry);
}

/** @param {Json} entry */
function isMail({ audit }) {
  const { fields } = audit.details;
  return Array.isArray(fields) && fields.length === 1 && fields[0] === 'email';
}
