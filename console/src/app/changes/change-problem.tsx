import type { JSX } from 'preact';
import { ChangePending } from '../../api/types.js';
import { Problem } from '../../ui/parts.js';
import { later } from '../later.js';

const PendingChange = later(async () => (await import('../later-screens.js')).LATER_SCREENS.PendingChange);

interface ChangeProblemProps {
  /** Null if nothing went wrong. */
  readonly error: unknown;
  /** Sends the same request again. */
  readonly again: () => void;
}

/** Shows what became of a request that may need a second person: a problem, or that it waits for that person. */
export function ChangeProblem({ error, again }: ChangeProblemProps): JSX.Element | null {
  if (error === null) return null;
  if (!(error instanceof ChangePending)) return <Problem error={error} />;
  return <PendingChange key={error.decision.id} decision={error.decision} again={again} />;
}
