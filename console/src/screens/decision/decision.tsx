import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useFeed } from '../../api/feed.js';
import { useLoad } from '../../api/load.js';
import { useEntityNames, useNames } from '../../api/names.js';
import { useSession } from '../../api/session.js';
import { revealed } from '../../ui/format.js';
import { HiddenContext, useHiddenParts } from '../../ui/hidden.js';
import { Link } from '../../ui/link.js';
import { Badge, When } from '../../ui/parts.js';
import { Ago, Left } from '../../ui/time.js';
import { needsText } from '../inbox/needs.js';
import { Action } from './action.js';
import { type Case, loadApprovers, loadCase, loadHistory, loadWhy } from './case.js';
import { ConfirmContext, useChecks } from './confirm.js';
import { History } from './history.js';
import { loadMeant } from './meant.js';
import { Outcome } from './outcome.js';
import { Reviewers } from './reviewers.js';
import { Settle } from './settle.js';
import { Target } from './target.js';
import { WhyPanel, WhyProposed } from './why.js';

/** One decision: everything that whoever decides has to see, then the decision itself. */
export function DecisionScreen({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const found = useLoad((signal) => loadCase(session, id, signal), [session, id]);
  return (
    <>
      <Link to="" class="back">
        ← Inbox
      </Link>
      <When of={found} what="the decision">
        {(data) => <CaseView key={id} of={data} reload={found.reload} />}
      </When>
    </>
  );
}

interface CaseViewProps {
  readonly of: Case;
  readonly reload: () => void;
}

function CaseView({ of, reload }: CaseViewProps): JSX.Element {
  const { decision, execution } = of;
  const session = useSession();
  const mayRead = session.has('read');
  const given = execution === null ? decision.context : execution.parameters;
  const [settled, setSettled] = useState(false);
  const hidden = useHiddenParts();
  const checks = useChecks();
  const inputs = [session, decision.id, execution?.id];
  const approvers = useLoad((signal) => loadApprovers(session, decision.id, signal), [session, decision.id]);
  const why = useLoad(
    async (signal) => (execution === null || !mayRead ? null : loadWhy(session, execution, signal)),
    inputs,
  );
  const target = useLoad(async (signal) => (mayRead ? loadMeant(session, of, signal) : []), inputs);
  const history = useLoad(
    async (signal) => (execution === null ? { executions: [], older: 0 } : loadHistory(session, execution, signal)),
    inputs,
  );
  const refresh = (): void => {
    reload();
    approvers.reload();
    for (const part of [why, target, history]) if (part.error !== null) part.reload();
  };
  // What came of it stands on top.
  useEffect(() => {
    if (!settled) return;
    scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }, [settled]);
  const isPending = decision.status === 'proposed';
  useFeed(refresh, ({ subjectId }) => subjectId === decision.id || subjectId === execution?.id);

  const parts = [approvers, why, target, history];
  const missing = [
    ...(parts.some(({ loading, data, error }) => loading && data === null && error === null)
      ? ['something is still loading']
      : []),
    ...(parts.some(({ error }) => error !== null) ? ['something could not be loaded, see above'] : []),
    ...hidden.parts.map((part) => `still hidden: ${part}`),
  ];

  return (
    <HiddenContext.Provider value={hidden.report}>
      <div class="decision">
        <Head of={of} />
        {isPending && settled ? (
          <p class="notice good" role="status">
            Your review is recorded. The decision still {needsText(decision)}.
          </p>
        ) : null}
        {isPending ? null : <Outcome of={of} />}
        <Action of={of} given={given} />
        {execution === null ? <WhyProposed decision={decision} /> : <WhyPanel why={why} execution={execution} />}
        {execution === null && target.data?.length === 0 ? null : (
          <ConfirmContext.Provider value={checks.register}>
            <Target target={target} isAllowed={mayRead} given={given} />
          </ConfirmContext.Provider>
        )}
        {execution === null ? null : <History history={history} />}
        <Reviewers decision={decision} approvers={approvers} />
        {isPending ? (
          <Settle
            decision={decision}
            approvers={approvers.data}
            missing={missing}
            isStillSo={() => checks.areConfirmed([why.confirm, target.confirm])}
            changed={refresh}
            settled={() => setSettled(true)}
          />
        ) : null}
      </div>
    </HiddenContext.Provider>
  );
}

function Head({ of: { decision, execution } }: { readonly of: Case }): JSX.Element {
  const nameOf = useNames();
  const withNames = useEntityNames();
  const { title, proposedBy, riskLevel, status, createdAt, expiresAt } = decision;
  const agent = nameOf(proposedBy);
  return (
    <header class="decision-head">
      <h1>
        {execution === null ? (
          <bdi>{revealed(title)}</bdi>
        ) : (
          <>
            <bdi>{agent}</bdi> <span class="quiet">{status === 'proposed' ? 'wants to' : 'wanted to'}</span>{' '}
            <bdi>{revealed(execution.action)}</bdi> <span class="quiet">on</span>{' '}
            <bdi>{revealed(execution.resourceType)}</bdi> <bdi>{withNames(execution.resourceId)}</bdi>
          </>
        )}
      </h1>
      <p class="facts">
        <Badge value={status} text={status === 'proposed' ? 'pending' : status} />
        <Badge value={riskLevel} text={`${riskLevel} risk`} />
        <span>
          requested {execution === null ? `by ${agent} ` : ''}
          <Ago at={createdAt} />
        </span>
        {status === 'proposed' && expiresAt !== null ? <Left until={expiresAt} /> : null}
        <span>{needsText(decision)}</span>
      </p>
    </header>
  );
}
