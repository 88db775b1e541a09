/**
 * Requests that a gateway repeats although nobody knows whether they took effect before.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

/** The reason of an execution whose outcome is unknown, and of the refusal to repeat it. */
export const UNKNOWN = 'outcome_unknown';

/** Reasons of refusals that come after the check of unknown outcomes, or by it. */
export const LATE_REASONS = [UNKNOWN, 'approval_rejected'];

/** Milliseconds after the unknown outcome in which the same action is refused. */
export const REFUSED_FOR = 600_000;

/**
 * Checks the execution that an entry repeats: the same action, whose outcome became unknown less than ten minutes
 * before.
 * @param {Json} entry of an execution
 * @param {boolean} mayRepeat true unless the entry shows that no gateway sent the request
 * @param {History} history
 * @param {Report} report
 */
export function expectRepeated({ state, audit, sequence, timestamp }, mayRepeat, history, report) {
  const { repeats } = audit.details;
  if (repeats === undefined) {
    if (audit.reason === UNKNOWN) report.differ('no execution with an unknown outcome is named');
    return;
  }
  const isRefused = audit.reason === UNKNOWN;
  const isEarlyRefusal = audit.outcome === 'denied' && !LATE_REASONS.includes(audit.reason);
  if (isEarlyRefusal) report.differ('details.repeats is given, and does not decide this');
  if (history.isLost('execution', repeats, { agentId: state.agentId })) return;
  const before = history.stateBefore(history.entriesAbout('execution', repeats), sequence);
  if (before === undefined) return report.lack(`the file has no entry of the execution ${repeats} before it`);
  report.expect('the outcome that is repeated', [before['outcome'], before['reason']], ['failed', UNKNOWN]);
  report.expect('the action that is repeated', before['actionHash'], state.actionHash);
  if (!mayRepeat) report.differ('details.repeats is given, and no gateway sent the request');
  const elapsed = Date.parse(timestamp) - Date.parse(String(before['completedAt']));
  if (!(elapsed < REFUSED_FOR)) report.differ(`the outcome of ${repeats} does not count any more at ${timestamp}`);
  report.say(
    `Whether the same action took effect as ${repeats} was not known since ${before['completedAt']}` +
      `${isRefused ? '' : '; the caller requested it again, knowing that'}.`,
  );
}
