import { hexOf } from '../bytes.mjs';
import { Findings } from '../findings.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { AgainstLog } from './log-check.mjs';
import { readDecisionFile } from './read-file.mjs';
import { recompute } from './recompute.mjs';
import { checkSeals } from './seals.mjs';
import { madeSignatures } from './signatures.mjs';

/**
 * Everything about a decision file, for the command line and for a page alike.
 *
 * @typedef {object} Result
 * @property {boolean} recomputed
 * @property {string | null} executionId
 * @property {string | null} undecided the version of the IANA database that it takes, if this verifier has another
 * @property {string | null} outcome of its last entry
 * @property {{ origin: string, size: number, rootHash: string } | null} checkpoint
 * @property {{ hash: string, defaultEffect: string, policies: number }[]} rules
 * @property {import('./report.mjs').Step[]} steps
 * @property {import('./report.mjs').Difference[]} differences between what is recorded and what was computed
 * @property {import('./report.mjs').Difference[]} gaps what the file lacks, so that it cannot be recomputed whole
 * @property {number} faults of the file itself: with any of them nothing was computed
 * @property {import('../findings.mjs').Finding[]} firstFaults
 * @property {string[]} notes what to keep in mind, and what no file shows
 *
 * @typedef {(log: AgainstLog, size: number, findings: Findings) => Promise<void>} FeedLog
 */

const ONLY_THE_OPERATOR = 'That the operator’s clock was right rests on the operator’s word.';
/** Entries after the checkpoint. */
const MOST_NAMED = 10;
const NOT_SHOWN = [
  'A file cannot show that it has all entries of the execution and its decision, or that nothing follows its checkpoint.',
  'A file cannot show that agents are in their newest revision, or that no policy is missing. An export of all entries can.',
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
  const undecided = foreignZones(file);
  if (undecided !== undefined) return resultOf(findings, { executionId: file.executionId, undecided });
  const { outcome, report, history } = recompute(file, await madeSignatures(file.entries));
  const notes = [...NOT_SHOWN];
  if (feedLog !== undefined) {
    const log = new AgainstLog(file, history, checkpoint.size);
    await feedLog(log, checkpoint.size, findings);
    report.differences.push(...log.differences);
    const found = [...laterThan(checkpoint.size, log.later), ...unknownContents(log)];
    notes.splice(0, notes.length, ...found, ONLY_THE_OPERATOR);
  }
  for (const note of [...report.notes, ...notes]) findings.note(note);
  const { origin, size, root } = checkpoint;
  return resultOf(findings, {
    recomputed: findings.count === 0 && report.differences.length === 0 && report.gaps.length === 0,
    executionId: file.executionId,
    outcome,
    steps: report.steps,
    differences: report.differences,
    gaps: report.gaps,
    checkpoint: { origin, size, rootHash: hexOf(root) },
    rules: file.rules.map(({ hash, defaultEffect, policies }) => ({ hash, defaultEffect, policies: policies.length })),
  });
}

/**
 * What a clock of another database says cannot be decided again.
 * @param {import('./read-file.mjs').DecisionFile} file
 * @returns {string | undefined} the version that an entry names
 */
function foreignZones({ entries, policies }) {
  const named = entries.flatMap(({ audit }) => audit?.details?.zones ?? []);
  const foreign = named.find((version) => version !== ZONES.version);
  if (foreign !== undefined) return String(foreign);
  const hasClock = policies.some(({ conditions = [] }) => conditions.some(({ clock }) => clock !== undefined));
  return ZONES.zones.length === 0 && hasClock ? 'of the verifier are missing' : undefined;
}

/**
 * @param {number} size
 * @param {AgainstLog['later']} later
 */
function laterThan(size, later) {
  const erased = later.find(({ action }) => action.endsWith('.erased'));
  const named = later.slice(0, MOST_NAMED).map(({ sequence, action }) => `${sequence} ${action}`);
  const others = later.length > MOST_NAMED ? ', …' : '';
  return [
    ...(later.length === 0
      ? []
      : [
          `After the ${size} entries of the checkpoint the export has more about this decision: ${named.join(', ')}${others}.`,
        ]),
    ...(erased === undefined
      ? []
      : [`Its contents were erased by entry ${erased.sequence}: this file holds what was to be forgotten.`]),
  ];
}

/** @param {AgainstLog} log */
function unknownContents({ erasedClaims, erasedUses, erasedEarlier, erasedRejections, targets }) {
  const of = [...targets].join(', ');
  return [
    ...(erasedClaims === 0
      ? []
      : [
          `Of ${of} the export has ${erasedClaims} erased claims that the file does not: what they were cannot be checked.`,
        ]),
    ...(erasedUses === 0
      ? []
      : [
          `The export has ${erasedUses} erased executions after the grant was made: whether they used it cannot be checked.`,
        ]),
    ...(erasedEarlier === 0
      ? []
      : [
          `The export has ${erasedEarlier} erased executions of the agent before: whether a condition on earlier ones meant them cannot be checked.`,
        ]),
    ...(erasedRejections === 0
      ? []
      : [
          `The export has ${erasedRejections} erased rejections of what the agent asked for: whether one of them held cannot be checked.`,
        ]),
  ];
}

/**
 * @param {Findings} findings
 * @param {Partial<Result>} [computed]
 * @returns {Result}
 */
function resultOf({ count, first, notes }, computed = {}) {
  return {
    recomputed: false,
    executionId: null,
    undecided: null,
    outcome: null,
    checkpoint: null,
    rules: [],
    steps: [],
    differences: [],
    gaps: [],
    ...computed,
    faults: count,
    firstFaults: first,
    notes,
  };
}
