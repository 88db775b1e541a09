import { printableText } from '../printable-text.mjs';

/**
 * The result of a recomputation as text.
 *
 * @typedef {import('./check.mjs').Result} Result
 */

const SHOWN = 20;

/**
 * Returns the text for a terminal; its last line is the verdict.
 * @param {Result} result
 */
export function textOf(result) {
  const { executionId, decisionId, checkpoint, rules, steps, notes } = result;
  const lines = [
    ...(executionId === null ? [] : [`execution    ${executionId}`]),
    ...(decisionId === null ? [] : [`change       ${decisionId}`]),
    ...(checkpoint === null
      ? []
      : [`checkpoint   ${checkpoint.size} entries of ${checkpoint.origin}, root ${checkpoint.rootHash}`]),
    ...rules.map(
      ({ hash, policies, defaultEffect }) => `rules        ${hash}: ${policies} in force, default ${defaultEffect}`,
    ),
    ...steps.flatMap(({ sequence, timestamp, action, sentences }) => [
      `${timestamp} entry ${sequence}, ${action}`,
      ...sentences.map((sentence) => `  ${sentence}`),
    ]),
    ...wrongs(result),
    ...notes.map((note) => `NOTE ${note}`),
    verdictOf(result),
  ];
  return `${lines.map(printableText).join('\n')}\n`;
}

/**
 * Lists the first faults of the file, and the first differences from what was computed.
 * @param {Result} result
 */
export function wrongs({ faults, firstFaults, differences, gaps }) {
  return [
    ...firstFaults.map(({ layer, place, fault }) => `FAULT ${layer}: ${place}: ${fault}`),
    ...(faults > firstFaults.length ? [`… and ${faults - firstFaults.length} more`] : []),
    ...differences.slice(0, SHOWN).map((difference) => `DIFFERENCE ${differenceText(difference)}`),
    ...(differences.length > SHOWN ? [`… and ${differences.length - SHOWN} more`] : []),
    ...gaps.slice(0, SHOWN).map((gap) => `MISSING ${differenceText(gap)}`),
    ...(gaps.length > SHOWN ? [`… and ${gaps.length - SHOWN} more`] : []),
  ];
}

/** @param {Result} result */
export function verdictOf({ recomputed, undecided, outcome, faults, differences: [first], gaps: [gap] }) {
  if (faults > 0) return `INVALID: ${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  if (undecided !== null) return `UNDECIDED: zones ${undecided}`;
  if (first !== undefined) return `DIFFERS: ${differenceText(first)}`;
  return recomputed || gap === undefined ? `RECOMPUTED: ${outcome} as recorded` : `UNDECIDED: ${differenceText(gap)}`;
}

/** @param {import('./report.mjs').Difference} difference */
function differenceText({ sequence, difference }) {
  return sequence === 0 ? difference : `entry ${sequence}: ${difference}`;
}
