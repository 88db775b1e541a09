import { canonicalJson } from '../canonical-json.mjs';
import { ErasureSubjects } from '../erasure-subjects.mjs';
import { quoted } from './narration.mjs';

/**
 * Checks the records that a change has left: what its body does not name stays as it was, or has its default. An export
 * shows that a record changed only in the members that its entry names; here these have to be members of the body.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 */

/** Members of a policy that are no content of it. */
const CIRCUMSTANCES = ['status', 'warnings', 'createdAt'];

/**
 * @param {readonly string[]} names of the members that the body may change
 * @param {readonly Json[]} made
 * @param {Report} report
 */
export function expectFields(names, made, report) {
  for (const { action, audit, state, sequence } of made) {
    if (action === 'agent.created')
      report.expect('the directory of an agent that nobody’s directory sent', state?.directory, undefined, sequence);
    const { fields = [] } = audit.details ?? {};
    const other = action.endsWith('.updated') ? [fields].flat().find((name) => !names.includes(name)) : undefined;
    if (other !== undefined)
      report.differ(`${action} changes ${quoted(other)}, of which the body says nothing`, sequence);
  }
}

/**
 * Checks that an erasure took what was approved.
 * @param {readonly Json[]} made
 * @param {Report} report
 */
export function expectErased(made, report) {
  const subjects = new ErasureSubjects();
  for (const entry of made) for (const fault of subjects.add(entry)) report.differ(fault, entry['sequence']);
  for (const name of subjects.missingSubjects)
    report.note(`The ${name} had been erased before, or was not erased: the export of the entries shows it.`);
}

/**
 * Checks that the policies that go out of force are those of the rules, and that none of them stays beside another
 * version of its name.
 * @param {readonly Json[]} ofPolicies the entries about policies that the change has made
 * @param {readonly Policy[]} policies in force before
 * @param {ReadonlySet<string>} idsAfter
 * @param {Report} report
 */
export function expectVersions(ofPolicies, policies, idsAfter, report) {
  const before = new Map(policies.map((policy) => [policy.id, /** @type {Json} */ (policy)]));
  for (const { action, subjectId, state, audit, sequence } of ofPolicies) {
    const content = before.get(subjectId);
    if (content !== undefined && canonicalJson(content) !== canonicalJson(contentOf(state)))
      report.differ(`${action} has another content of the policy ${subjectId} than was in force`, sequence);
    if (!idsAfter.has(subjectId)) {
      const successor = ofPolicies.find((other) => other['subjectId'] === audit.details.supersededBy);
      if (action === 'policy.superseded' && successor?.['state'].name !== state.name)
        report.differ(`the policy ${quoted(state.name)} gave way to one of another name`, sequence);
      continue;
    }
    const older = policies.find(({ id, name }) => id !== subjectId && name === state.name && idsAfter.has(id));
    if (older !== undefined)
      report.differ(`the policy ${quoted(state.name)} stays in force in another version, ${older.id}`, sequence);
  }
}

/** @param {Json} state of a policy */
function contentOf(state) {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !CIRCUMSTANCES.includes(name)));
}

/**
 * Checks the team of a record whose body names none, which is that of the sender’s key. An export shows which that is.
 * @param {Json} entry
 * @param {Json} body that was approved
 * @param {Report} report
 */
export function expectTeam({ state, audit, sequence }, body, report) {
  const { team = null } = state;
  if (body['team'] !== undefined || team === null) return;
  if (audit.actor.type !== 'api_key')
    report.differ(`the team ${quoted(team)} is neither of the body nor of a key`, sequence);
  else report.note(`The body names no team: an export shows if ${quoted(team)} is that of the key ${audit.actor.id}.`);
}
