/**
 * What several policies that require an approval require together: docs/policies.md.
 *
 * @typedef {{ subjects: readonly string[], approvals: number, signed?: true }} Group `signed`: only signed reviews fill it
 * @typedef {{ for: string, uses: number | null, wider: boolean }} Allowance the most that approvers may give at once
 * @typedef {{ riskLevel: string, approvers: readonly Group[], decideWithin: string, executeWithin: string, grant?: Allowance }} Requirement
 */

const RISKS = ['low', 'medium', 'high', 'critical'];
const MOST_GROUPS = 50;
const MOST_APPROVALS = 200;
const DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/u;
const SECONDS = [604_800, 86_400, 3_600, 60, 1];

/**
 * @param {readonly Requirement[]} requirements the oldest policy's first; at least one
 * @returns {Requirement}
 */
export function combined(requirements) {
  const grant = leastAllowance(requirements.map((requirement) => requirement.grant));
  return {
    riskLevel: requirements.reduce((highest, { riskLevel }) => higher(highest, riskLevel), 'low'),
    approvers: merged(requirements.flatMap(({ approvers }) => approvers)),
    decideWithin: requirements.map(({ decideWithin }) => decideWithin).reduce(shorter),
    executeWithin: requirements.map(({ executeWithin }) => executeWithin).reduce(shorter),
    ...(grant && { grant }),
  };
}

/**
 * What all of them allow.
 * @param {readonly (Allowance | undefined)[]} allowances
 * @returns {Allowance | undefined}
 */
function leastAllowance(allowances) {
  return allowances.reduce((one, other) => {
    if (one === undefined || other === undefined) return undefined;
    const uses = [one.uses, other.uses].filter((number) => number !== null);
    return {
      for: shorter(one.for, other.for),
      uses: uses.length === 0 ? null : Math.min(...uses),
      wider: one.wider && other.wider,
    };
  });
}

/**
 * `principal` is the registered person on whose behalf the agent acts.
 * @param {Requirement} requirement
 * @param {string | undefined} personId undefined where there is none
 * @returns {Requirement}
 */
export function withPrincipal(requirement, personId) {
  if (personId === undefined) return requirement;
  const named = (/** @type {string} */ subject) => (subject === 'principal' ? `agent:${personId}` : subject);
  const groups = requirement.approvers.map((group) => ({ ...group, subjects: group.subjects.map(named) }));
  return { ...requirement, approvers: merged(groups) };
}

/** @param {Requirement} requirement */
export function isTooLarge({ approvers }) {
  return approvers.length > MOST_GROUPS || approvalsOf(approvers) > MOST_APPROVALS;
}

/** @param {readonly Group[]} groups */
export function approvalsOf(groups) {
  return groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/**
 * A group with the subjects of an earlier one becomes part of it; the larger number counts, and so does that one is signed.
 * @param {readonly Group[]} groups
 */
function merged(groups) {
  /** @type {Map<string, Group>} */
  const bySubjects = new Map();
  for (const group of groups) {
    const key = subjectsKey(group);
    const { subjects, approvals, signed = group.signed } = bySubjects.get(key) ?? group;
    bySubjects.set(key, { subjects, approvals: Math.max(approvals, group.approvals), ...(signed && { signed }) });
  }
  return [...bySubjects.values()];
}

/**
 * Equal for groups whose subjects are equal as sets.
 * @param {Pick<Group, 'subjects'>} group
 */
export function subjectsKey({ subjects }) {
  return JSON.stringify([...new Set(subjects)].sort());
}

/**
 * Equal for groups that ask the same of the same people, in whatever number.
 * @param {Pick<Group, 'subjects' | 'signed'>} group
 */
export function approvalKey(group) {
  return `${subjectsKey(group)} ${group.signed === true}`;
}

/**
 * @param {string} one
 * @param {string} other
 */
function higher(one, other) {
  return RISKS.indexOf(other) > RISKS.indexOf(one) ? other : one;
}

/**
 * @param {string} one
 * @param {string} other
 */
function shorter(one, other) {
  return milliseconds(other) < milliseconds(one) ? other : one;
}

/**
 * @param {string} duration ISO 8601
 * @returns {number} NaN where it is none
 */
export function milliseconds(duration) {
  /** A part that is not given is undefined. @type {(string | undefined)[] | undefined} */
  const parts = DURATION.exec(duration)?.slice(1);
  if (parts === undefined) return Number.NaN;
  return parts.reduce((sum, part, index) => sum + Number(part ?? 0) * Number(SECONDS[index]) * 1_000, 0);
}
