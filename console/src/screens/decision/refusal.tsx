import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { listText } from '../../ui/format.js';
import type { Difference, Scrutiny } from './confirm.js';

/** Milliseconds after a refusal in which nobody can approve: a second click is not a second look. */
const FIRST_LOOK = 2_000;
/**
 * Milliseconds after a refusal in which additions do not count any more, if two refusals in a row were for additions
 * alone.
 */
const LOOK = 30_000;

/** The reason why Approve needs a second confirmation. */
export interface Refusal {
  readonly differences: readonly Difference[];
  readonly timeMs: number;
  /** Number of refusals in a row, this one included, that were for additions alone. */
  readonly additionsInARow: number;
}

export function refusalFor(differences: readonly Difference[], last: Refusal | null): Refusal {
  const isAddition = differences.every((difference) => difference.isAddition);
  return { differences, timeMs: Date.now(), additionsInARow: isAddition ? (last?.additionsInARow ?? 0) + 1 : 0 };
}

export function scrutinyAfter(refusal: Refusal | null): Scrutiny {
  return isForAdditions(refusal) && Date.now() - refusal.timeMs <= LOOK ? 'all but additions' : 'everything';
}

function isForAdditions(refusal: Refusal | null): refusal is Refusal {
  return refusal !== null && refusal.additionsInARow > 1;
}

/** True if Approve was refused a moment ago. */
export function useLook(refusal: Refusal | null): boolean {
  const [seen, setSeen] = useState<Refusal | null>(null);
  useEffect(() => {
    if (refusal === null) return;
    const timer = setTimeout(() => setSeen(refusal), FIRST_LOOK);
    return () => clearTimeout(timer);
  }, [refusal]);
  return refusal !== null && refusal !== seen;
}

/** Shows what changed while the page was open, and what the next press will do. */
export function RefusalNotice({ refusal }: { readonly refusal: Refusal }): JSX.Element {
  const changes = [...new Set(refusal.differences.map(({ words }) => words))];
  return (
    <div class="notice warn" role="alert">
      <strong>Nothing was approved: something changed while this page was open.</strong>
      <p>It is shown now: {listText(changes, 'and')}. Look at it, then approve.</p>
      {isForAdditions(refusal) ? (
        <p>
          If this goes on: for the next half minute, further claims and requests hold your approval up only if they are
          about values in this request.
        </p>
      ) : null}
    </div>
  );
}
