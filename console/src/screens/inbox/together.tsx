import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import { type Decision, type Execution, GovernanceError } from '../../api/types.js';
import { focusScreen } from '../../ui/focus.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { counted, numberText, showInvisible } from '../../ui/format.js';
import { HiddenContext, useHiddenParts } from '../../ui/hidden.js';
import { Panel, Problem } from '../../ui/parts.js';
import { useWaitingHere } from './waiting.js';

/** As many decisions as one request approves. */
const MOST = 50;
/** Risks that the reviewer also has to tick, the gravest first. */
const RISKY = ['critical', 'high'] as const;

type Runs = ReadonlyMap<string, readonly Decision[]>;

/** The runs of agents of which several decisions wait, apart from those that take a signature each. */
export function runsOf(decisions: readonly Decision[], executions: ReadonlyMap<string, Execution>): Runs {
  const runs = new Map<string, Decision[]>();
  for (const decision of decisions) {
    const { id, proposedBy, run, approvers } = decision;
    if (!run || !executions.has(id) || approvers?.some(({ signed }) => signed)) continue;
    const key = `${proposedBy} ${run}`;
    runs.set(key, [...(runs.get(key) ?? []), decision]);
  }
  return new Map([...runs].filter(([, { length }]) => length > 1));
}

interface TogetherProps {
  readonly runs: Runs;
  /** Shows decisions whole. */
  readonly children: (decisions: readonly Decision[]) => ComponentChildren;
}

/** The waiting of each run as one list, whole, to be approved as one; above them, what came of it the last time. */
export function Together({ runs, children }: TogetherProps): JSX.Element {
  const [outcome, setOutcome] = useState<JSX.Element | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    scrollTo(0, 0);
    focusScreen();
  }, [outcome]);
  return (
    <div class="decision together">
      {outcome}
      {[...runs].map(([key, waiting]) => (
        <Run key={key} waiting={waiting} ended={setOutcome}>
          {children}
        </Run>
      ))}
    </div>
  );
}

interface RunProps extends Pick<TogetherProps, 'children'> {
  readonly waiting: readonly Decision[];
  readonly ended: (outcome: JSX.Element) => void;
}

function Run({ waiting, ended, children }: RunProps): JSX.Element {
  const { me, promptClient } = useSession();
  const { pending } = useWaitingHere();
  const nameOf = useNames();
  const { parts, report } = useHiddenParts();
  const first = waiting.slice(0, MOST).map(({ id }) => id);
  /** What comes meanwhile is not approved unseen. */
  const [seen, setSeen] = useState<readonly string[]>(first);
  const shown = waiting.filter(({ id }) => seen.includes(id));
  const rest = waiting.length - shown.length;
  const risk = RISKY.find((level) => shown.some(({ riskLevel }) => riskLevel === level));
  const { busy, onSubmit } = useFormSending(async (given) => {
    const decisions = shown.map(({ id, actionHash }) => ({ id, actionHash }));
    const comment = textOf(given, 'comment').trim();
    const body = { decisions, approverId: me.agentId ?? '', ...(comment !== '' && { comment }) };
    try {
      const { data } = await promptClient.post('/api/v1/decisions/approve', { body });
      const open = data.filter(({ status }) => status === 'proposed').length;
      ended(
        <p class="notice good" role="status">
          Your approval of {counted(data.length, 'request')} is recorded.
          {open === 0 ? '' : ` Others still have to approve ${numberText(open)} of them.`}
        </p>,
      );
    } catch (error) {
      const isRefused = error instanceof GovernanceError && !error.isOutcomeUnknown;
      ended(
        <div>
          {isRefused ? <strong>Nothing was approved.</strong> : null}
          <Problem error={error} />
        </div>,
      );
    }
    // The inbox shows why it cannot be loaded.
    await pending.confirm().catch(() => null);
  });
  const { proposedBy = '', run } = waiting[0] ?? {};
  return (
    <Panel
      title={`${counted(waiting.length, 'request')} of ${nameOf(proposedBy)} in the run ${showInvisible(run ?? '')}`}
    >
      <HiddenContext.Provider value={report}>{shown.length === 0 ? null : children(shown)}</HiddenContext.Provider>
      {rest === 0 || shown.length === MOST ? null : (
        <button type="button" class="unfold" onClick={() => setSeen(first)}>
          Show {numberText(rest)} more of this run
        </button>
      )}
      <form onSubmit={onSubmit}>
        <label>
          Comment <small>(optional, kept permanently with each)</small>
          <textarea name="comment" rows={2} maxLength={2000} />
        </label>
        {risk === undefined ? null : (
          <label class="check" key={seen}>
            <input type="checkbox" required /> Including what is of {risk} risk
          </label>
        )}
        {parts.length === 0 ? null : (
          <p class="notice after">You can approve them once everything is on screen: {parts.join('; ')}.</p>
        )}
        <div class="buttons">
          <button class="primary" disabled={busy || parts.length > 0 || shown.length === 0}>
            Approve all {numberText(shown.length)}
          </button>
          <span class="help">All of them or none, under your name. It cannot be undone.</span>
        </div>
      </form>
    </Panel>
  );
}
