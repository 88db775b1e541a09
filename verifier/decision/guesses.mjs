import { claimsIn, hasForeignZones } from './facts.mjs';
import { recomputeRecord } from './recompute.mjs';
import { Report } from './report.mjs';

/**
 * Recomputes entries of a log that rest on what nobody can tell any more: claims that were erased, and clocks by time
 * zones of another version than that of this verifier. Each such condition may have been true or false, each clock may
 * have shown an hour more or less, and everything else has to hold.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./log-history.mjs').LogHistory} LogHistory
 */

/** The most truths that are tried one by one; further conditions have the truth of the last one. */
const MAX_UNKNOWN = 8;
/** Milliseconds by which the clock of a zone seldom differs between versions of the database. */
const HOUR = 3_600_000;

/**
 * @param {Json} entry
 * @param {LogHistory} history
 * @param {Report} report
 * @returns {boolean} true if an hour more or less decides otherwise
 */
export function recomputeWithGuesses(entry, history, report) {
  const shifts = hasForeignZones(entry['audit']) ? [0, -HOUR, HOUR] : [0];
  const attempts = shifts.map((shift) => {
    history.clockShift = shift;
    return bestAttempt(entry, history);
  });
  history.clockShift = 0;
  const best = attempts.find(isEqual) ?? attempts[0];
  report.differences.push(...(best?.differences ?? []));
  report.gaps.push(...(best?.gaps ?? []));
  report.hasUnknownBody = best?.hasUnknownBody === true;
  return attempts.some(isEqual) && !attempts.every(isEqual);
}

/**
 * Recomputes an entry with each truth of the conditions that nobody can tell.
 * @param {Json} entry
 * @param {LogHistory} history
 * @returns {Report} one without differences, or else the one with the fewest
 */
function bestAttempt(entry, history) {
  const unknown = unknownConditions(entry, history);
  let best;
  for (let number = 0; number < 2 ** Math.min(unknown.length, MAX_UNKNOWN); number += 1) {
    const attempt = new Report();
    attempt.begin(entry, true);
    history.guesses = new Map(
      unknown.map((key, index) => [key, (number >> Math.min(index, MAX_UNKNOWN - 1)) % 2 === 0]),
    );
    recomputeRecord(entry, history, attempt);
    if (best === undefined || attempt.differences.length < best.differences.length) best = attempt;
    if (isEqual(attempt)) break;
  }
  history.guesses = new Map();
  return best ?? new Report();
}

/** @param {Report} report */
function isEqual({ differences, gaps }) {
  return differences.length + gaps.length === 0;
}

/**
 * Finds the conditions on claims that were erased, by policy and index.
 * @param {Json} entry
 * @param {LogHistory} history
 * @returns {string[]}
 */
function unknownConditions({ subjectType, audit }, history) {
  if (subjectType !== 'execution') return [];
  return claimsIn(audit.details)
    .filter(({ entityId, ids }) => ids?.some((id) => history.isLost('claim', id, { entityId })))
    .map(({ policyId, condition }) => `${policyId} ${condition}`);
}
