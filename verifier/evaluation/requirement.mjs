/**
 * Combines the requirements of several policies: docs/policies.md.
 *
 * @typedef {{ after: string, subjects: readonly string[], at?: string }} Escalation who may fill a group as well, from `at` on
 * @typedef {{ subjects: readonly string[], approvals: number, signed?: true, escalate?: Escalation }} Group `signed`: only signed reviews
 * fill it
 * @typedef {{ for: string, uses: number | null, wider: boolean }} Allowance the most that approvers may give at once
 * @typedef {{ riskLevel: string, approvers: readonly Group[], decideWithin: string, executeWithin: string, grant?: Allowance }} Requirement
 */

export const RISKS = ['low', 'medium', 'high', 'critical'];
const MAX_GROUPS = 50;
const MAX_APPROVALS = 200;
const DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/u;
const SECONDS = [604_800, 86_400, 3_600, 60, 1];
/** The longest duration, of 365 days, in milliseconds. */
const MAX_DURATION_MS = 365 * 86_400_000;

/**
 * @param {readonly Requirement[]} requirements the oldest policy's first; at least one
 * @returns {Requirement}
 */
export function combineRequirements(requirements) {
  const grant = leastAllowance(requirements.map((requirement) => requirement.grant));
  return {
    riskLevel: requirements.reduce((highest, { riskLevel }) => higherRisk(highest, riskLevel), 'low'),
    approvers: mergeGroups(requirements.flatMap(({ approvers }) => approvers)),
    decideWithin: requirements.map(({ decideWithin }) => decideWithin).reduce(shorterDuration),
    executeWithin: requirements.map(({ executeWithin }) => executeWithin).reduce(shorterDuration),
    ...(grant && { grant }),
  };
}

/**
 * Returns the most that all of them allow.
 * @param {readonly (Allowance | undefined)[]} allowances
 * @returns {Allowance | undefined}
 */
function leastAllowance(allowances) {
  return allowances.reduce((left, right) => {
    if (left === undefined || right === undefined) return undefined;
    const uses = [left.uses, right.uses].filter((number) => number !== null);
    return {
      for: shorterDuration(left.for, right.for),
      uses: uses.length === 0 ? null : Math.min(...uses),
      wider: left.wider && right.wider,
    };
  });
}

/**
 * Replaces the subject `principal` by the registered person on whose behalf the agent acts.
 * @param {Requirement} requirement
 * @param {string | undefined} personId undefined where there is none
 * @returns {Requirement}
 */
export function withPrincipal(requirement, personId) {
  if (personId === undefined) return requirement;
  const withPersonId = (/** @type {string} */ subject) => (subject === 'principal' ? `agent:${personId}` : subject);
  const groups = requirement.approvers.map(({ escalate, ...group }) => ({
    ...group,
    subjects: group.subjects.map(withPersonId),
    ...(escalate && { escalate: { ...escalate, subjects: escalate.subjects.map(withPersonId) } }),
  }));
  return { ...requirement, approvers: mergeGroups(groups) };
}

/** @param {Requirement} requirement */
export function isTooLarge({ approvers }) {
  return approvers.length > MAX_GROUPS || approvalsOf(approvers) > MAX_APPROVALS;
}

/** @param {readonly Group[]} groups */
export function approvalsOf(groups) {
  return groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/**
 * Merges groups with equal subjects: the larger number of approvals counts, the result is signed if one of them is, and
 * escalates if all of them do.
 * @param {readonly Group[]} groups
 */
function mergeGroups(groups) {
  /** @type {Map<string, Group>} */
  const bySubjects = new Map();
  for (const group of groups) {
    const key = subjectsKey(group);
    const { subjects, approvals, signed = group.signed, escalate } = bySubjects.get(key) ?? group;
    const escalation = mergeEscalations(escalate, group.escalate);
    bySubjects.set(key, {
      subjects,
      approvals: Math.max(approvals, group.approvals),
      ...(signed && { signed }),
      ...(escalation && { escalate: escalation }),
    });
  }
  return [...bySubjects.values()];
}

/**
 * Returns an escalation as both allow it: the later one, to the people whom both name.
 * @param {Escalation | undefined} one
 * @param {Escalation | undefined} other
 * @returns {Escalation | undefined}
 */
function mergeEscalations(one, other) {
  if (one === undefined || other === undefined) return undefined;
  const subjects = one.subjects.filter((subject) => other.subjects.includes(subject));
  const after = milliseconds(other.after) > milliseconds(one.after) ? other.after : one.after;
  return subjects.length === 0 ? undefined : { after, subjects };
}

/**
 * Returns a key that is equal for groups whose subjects are equal as sets.
 * @param {Pick<Group, 'subjects'>} group
 */
export function subjectsKey({ subjects }) {
  return JSON.stringify([...new Set(subjects)].sort());
}

/**
 * Returns a key that is equal for groups with the same subjects and the same need of signatures, in any number.
 * @param {Pick<Group, 'subjects' | 'signed'>} group
 */
export function approvalKey(group) {
  return `${subjectsKey(group)} ${group.signed === true}`;
}

/**
 * @param {string} left
 * @param {string} right
 */
function higherRisk(left, right) {
  return RISKS.indexOf(right) > RISKS.indexOf(left) ? right : left;
}

/**
 * @param {string} left
 * @param {string} right
 */
function shorterDuration(left, right) {
  return milliseconds(right) < milliseconds(left) ? right : left;
}

/**
 * @param {string} duration ISO 8601
 * @returns {number} NaN for no duration, and for one that is longer than any can be
 */
export function milliseconds(duration) {
  /** A part that is not given is undefined. @type {(string | undefined)[] | undefined} */
  const parts = DURATION.exec(duration)?.slice(1);
  if (parts === undefined) return Number.NaN;
  const length = parts.reduce((sum, part, index) => sum + Number(part ?? 0) * Number(SECONDS[index]) * 1_000, 0);
  return length <= MAX_DURATION_MS ? length : Number.NaN;
}
