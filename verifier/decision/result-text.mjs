import { shown } from '../printable-text.mjs';

/**
 * What came of a recomputation, in words.
 *
 * @typedef {import('./check.mjs').Result} Result
 */

const SHOWN = 20;

/**
 * For a terminal; the last line is the verdict.
 * @param {Result} result
 */
export function textOf(result) {
  const { executionId, checkpoint, rules, steps, notes } = result;
  const lines = [
    ...(executionId === null ? [] : [`execution    ${executionId}`]),
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
  return `${lines.map(shown).join('\n')}\n`;
}

/**
 * What is wrong with the file, and where it differs from what was computed: the first of them.
 * @param {Result} result
 */
export function wrongs({ faults, firstFaults, differences, gaps }) {
  return [
    ...firstFaults.map(({ layer, place, fault }) => `FAULT ${layer}: ${place}: ${fault}`),
    ...(faults > firstFaults.length ? [`… and ${faults - firstFaults.length} more`] : []),
    ...differences.slice(0, SHOWN).map((one) => `DIFFERENCE ${placed(one)}`),
    ...(differences.length > SHOWN ? [`… and ${differences.length - SHOWN} more`] : []),
    ...gaps.slice(0, SHOWN).map((one) => `MISSING ${placed(one)}`),
    ...(gaps.length > SHOWN ? [`… and ${gaps.length - SHOWN} more`] : []),
  ];
}

/** @param {Result} result */
export function verdictOf({ recomputed, undecided, outcome, faults, differences: [first], gaps: [gap] }) {
  if (faults > 0) return `INVALID: ${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  if (undecided !== null) return `UNDECIDED: zones ${undecided}`;
  if (first !== undefined) return `DIFFERS: ${placed(first)}`;
  return recomputed || gap === undefined ? `RECOMPUTED: ${outcome} as recorded` : `UNDECIDED: ${placed(gap)}`;
}

/** @param {import('./report.mjs').Difference} difference */
function placed({ sequence, difference }) {
  return sequence === 0 ? difference : `entry ${sequence}: ${difference}`;
}
