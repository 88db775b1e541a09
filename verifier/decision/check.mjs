import { hexOf } from '../bytes.mjs';
import { Findings } from '../findings.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { LogCheck } from './log-check.mjs';
import { readDecisionFile } from './read-file.mjs';
import { recompute } from './recompute.mjs';
import { checkSeals } from './seals.mjs';
import { findValidSignatures } from './signatures.mjs';

/**
 * The result of checking a decision file, for the command line and for a page.
 *
 * @typedef {object} Result
 * @property {boolean} recomputed
 * @property {string | null} executionId null for a change
 * @property {string | null} decisionId of a change; null for an execution
 * @property {string | null} undecided the version of the IANA database that the file needs, if this verifier has
 *   another
 * @property {string | null} outcome of its last entry
 * @property {{ origin: string, size: number, rootHash: string } | null} checkpoint
 * @property {{ hash: string, defaultEffect: string, policies: number }[]} rules
 * @property {import('./report.mjs').Step[]} steps
 * @property {import('./report.mjs').Difference[]} differences between what is recorded and what was computed
 * @property {import('./report.mjs').Difference[]} gaps what the file lacks, so that it cannot be recomputed whole
 * @property {number} faults of the file itself: with any of them nothing was computed
 * @property {import('../findings.mjs').Finding[]} firstFaults
 * @property {string[]} notes limits of the check, and facts that no file shows
 *
 * @typedef {(log: LogCheck, size: number, findings: Findings) => Promise<void>} FeedLog
 */

const ONLY_THE_OPERATOR = 'That the operator’s clock was right rests on the operator’s word.';
/** Number of entries after the checkpoint that are named. */
const MAX_NAMED = 10;
const NOT_SHOWN = [
  'A file cannot show that it has all entries of what it is about and of its decision, or that nothing follows its checkpoint.',
  'A file cannot show that agents are in their newest revision, or that no policy is missing. An export of all entries can.',
  'A file cannot show what a record was before its first entry here, or that a change left the rest of it as it was. An export can.',
  ONLY_THE_OPERATOR,
];

/**
 * @param {string} text of the file
 * @param {readonly import('../checkpoint.mjs').VerifierKey[]} keys at least one
 * @param {FeedLog} [feedLog] gives all entries of an export, and its faults
 * @returns {Promise<Result>}
 * @throws {import('./read-file.mjs').UnreadableFile}
 */
export async function checkDecisionFile(text, keys, feedLog) {
  const findings = new Findings();
  const file = readDecisionFile(text, findings);
  const checkpoint = file && (await checkSeals(file, keys, findings));
  if (file === undefined || checkpoint === undefined || findings.count > 0) return resultOf(findings);
  const subject = { executionId: file.executionId ?? null, decisionId: file.decisionId ?? null };
  const foreignVersion = foreignZones(file);
  if (foreignVersion !== undefined) return resultOf(findings, { ...subject, undecided: foreignVersion });
  const { outcome, report, history } = recompute(file, await findValidSignatures(file.entries));
  const notes = [...NOT_SHOWN];
  if (feedLog !== undefined) {
    const log = new LogCheck(file, history, checkpoint.size);
    await feedLog(log, checkpoint.size, findings);
    report.differences.push(...log.differences);
    report.gaps.push(...log.gaps);
    const logNotes = [...laterThan(checkpoint.size, log.later), ...log.erasedContents.notes()];
    notes.splice(0, notes.length, ...logNotes, ONLY_THE_OPERATOR);
  }
  for (const note of [...report.notes, ...notes]) findings.note(note);
  const { origin, size, root } = checkpoint;
  return resultOf(findings, {
    recomputed: findings.count === 0 && report.differences.length === 0 && report.gaps.length === 0,
    ...subject,
    outcome,
    steps: report.steps,
    differences: report.differences,
    gaps: report.gaps,
    checkpoint: { origin, size, rootHash: hexOf(root) },
    rules: file.rules.map(({ hash, defaultEffect, policies }) => ({ hash, defaultEffect, policies: policies.length })),
  });
}

/**
 * Finds a version of the IANA database other than this verifier's: conditions on its clock cannot be recomputed.
 * @param {import('./read-file.mjs').DecisionFile} file
 * @returns {string | undefined} the version that an entry names
 */
function foreignZones({ entries, policies }) {
  const versions = entries.flatMap(({ audit }) => audit?.details?.zones ?? []);
  const foreign = versions.find((version) => version !== ZONES.version);
  if (foreign !== undefined) return String(foreign);
  const hasClock = policies.some(({ conditions = [] }) => conditions.some(({ clock }) => clock !== undefined));
  return ZONES.zones.length === 0 && hasClock ? 'of the verifier are missing' : undefined;
}

/**
 * @param {number} size
 * @param {LogCheck['later']} later
 */
function laterThan(size, later) {
  const erasure = later.find(({ action }) => action.endsWith('.erased'));
  const entryNames = later.slice(0, MAX_NAMED).map(({ sequence, action }) => `${sequence} ${action}`);
  const ellipsis = later.length > MAX_NAMED ? ', …' : '';
  return [
    ...(later.length === 0
      ? []
      : [
          `After the ${size} entries of the checkpoint the export has more about this decision: ${entryNames.join(', ')}${ellipsis}.`,
        ]),
    ...(erasure === undefined
      ? []
      : [`Its contents were erased by entry ${erasure.sequence}: this file holds what was to be forgotten.`]),
  ];
}

/**
 * @param {Findings} findings
 * @param {Partial<Result>} [members]
 * @returns {Result}
 */
function resultOf({ count, first, notes }, members = {}) {
  return {
    recomputed: false,
    executionId: null,
    decisionId: null,
    undecided: null,
    outcome: null,
    checkpoint: null,
    rules: [],
    steps: [],
    differences: [],
    gaps: [],
    ...members,
    faults: count,
    firstFaults: first,
    notes,
  };
}
