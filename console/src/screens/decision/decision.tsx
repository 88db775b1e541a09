import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Decision } from '../../api/types.js';
import { ErasedNotice } from '../../ui/erased.js';
import { focusScreen } from '../../ui/focus.js';
import { showInvisible } from '../../ui/format.js';
import { HiddenContext, useHiddenParts } from '../../ui/hidden.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { TimeAgo, TimeLeft } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { DecisionFile } from '../activity/decision-file.js';
import { needsText } from '../inbox/needs.js';
import { Action } from './action.js';
import { type Case, FIRST_APPROVERS, loadApprovers, loadCase, loadHistory, loadWhy, MAX_PAGE_SIZE } from './case.js';
import { ChangePanel, loadChangeBody } from './change-panel.js';
import { areMentionsEqual, mentionDifferences } from './changes.js';
import { useCommentEnd } from './comment.js';
import { allEnded, ConfirmContext, type Difference, type Scrutiny, useChecks } from './confirm.js';
import { History } from './history.js';
import { Instead } from './instead.js';
import { loadMentioned } from './mentioned-entities.js';
import { Outcome } from './outcome.js';
import { Reviewers } from './reviewers.js';
import { Settle } from './settle.js';
import { Target } from './target.js';
import { WhyPanel, WhyProposed } from './why.js';

/** One decision: everything that a reviewer has to see, then the decision itself. */
export function DecisionScreen({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const caseLoad = useLoad((signal) => loadCase(session, id, signal), [session, id]);
  return (
    <>
      <Link to="inbox" class="back">
        ← Inbox
      </Link>
      <When load={caseLoad} label="the decision">
        {(data) => <CaseView key={id} subject={data} reload={caseLoad.reload} />}
      </When>
    </>
  );
}

interface CaseViewProps {
  readonly subject: Case;
  readonly reload: () => void;
}

function CaseView({ subject, reload }: CaseViewProps): JSX.Element {
  const { decision, isWithheld } = subject;
  const isErased = decision.erased === true;
  // Nothing of an erased execution is left that could be explained or looked up.
  const execution = isErased ? null : subject.execution;
  const session = useSession();
  const mayRead = session.has('read');
  const values = execution === null ? decision.context : execution.parameters;
  /** The decision in the service's answer to the caller's review. */
  const [settled, setSettled] = useState<Decision | null>(null);
  const [mostApprovers, setMostApprovers] = useState(FIRST_APPROVERS);
  const hidden = useHiddenParts();
  const checks = useChecks();
  const inputs = [session, decision.id, execution?.id, isErased];
  const approvers = useLoad(
    (signal) => loadApprovers(session, decision.id, mostApprovers, signal),
    [session, decision.id],
    mostApprovers,
  );
  const why = useLoad(
    async (signal) => (execution === null || !mayRead ? null : loadWhy(session, execution, signal)),
    inputs,
  );
  const target = useLoad(
    async (signal) => (mayRead && !isErased ? loadMentioned(session, subject, signal) : []),
    inputs,
  );
  const history = useLoad(
    async (signal) => (execution === null ? { executions: [], older: 0 } : loadHistory(session, execution, signal)),
    inputs,
  );
  const body = useLoad((signal) => loadChangeBody(session, decision, signal), [session, decision.id, decision.status]);
  const differences = async (scrutiny: Scrutiny): Promise<readonly Difference[]> => {
    // The claims about entities are checked first, because they are loaded anew if the request means other entities.
    const [policyChange, historyChange, claimChanges] = await allEnded(
      why.confirm(),
      scrutiny === 'everything' ? history.confirm() : Promise.resolve(null),
      checks.run(scrutiny),
    );
    const targetChange = await target.confirm(areMentionsEqual);
    return [
      ...(policyChange === null ? [] : [{ words: 'what the policies say about it', isAddition: false }]),
      ...(historyChange === null ? [] : [{ words: 'the other requests of this agent', isAddition: true }]),
      ...claimChanges,
      ...(targetChange === null ? [] : mentionDifferences(targetChange)),
    ];
  };
  const refresh = (): void => {
    reload();
    approvers.reload();
    for (const part of [why, target, history, body, checks]) part.retry();
  };
  // The outcome comes first.
  useEffect(() => {
    if (settled === null) return;
    scrollTo(0, 0);
    focusScreen();
  }, [settled]);
  const isPending = decision.status === 'proposed';
  useCommentEnd(decision);
  useLayoutEffect(() => {
    // Somebody else settled it, and the form that had the focus is gone.
    if (!isPending && document.activeElement === document.body) focusScreen();
  }, [isPending]);
  useFeed(refresh, ({ subjectId }) => subjectId === decision.id || subjectId === execution?.id);

  const parts = [approvers, why, target, history, body];
  const missing = [
    ...(mayRead ? [] : ['the policies and the claims, which your key may not see (it needs read)']),
    ...(parts.some(({ loading, data, error }) => loading && data === null && error === null)
      ? ['something is still loading']
      : []),
    ...(parts.some(({ error }) => error !== null) ? ['something could not be loaded, see above'] : []),
    ...hidden.parts.map((part) => `still hidden: ${part}`),
  ];

  return (
    <HiddenContext.Provider value={hidden.report}>
      <div class="decision">
        <Head subject={subject} />
        {isPending && settled !== null ? <RecordedDecision decision={newerDecision(settled, decision)} /> : null}
        {isPending ? null : <Outcome subject={subject} />}
        {decision.change === undefined || isErased ? null : (
          <ChangePanel decision={decision} change={decision.change} body={body} />
        )}
        {execution === null ? null : <Instead execution={execution} />}
        {isErased || decision.change !== undefined ? null : isWithheld ? (
          <Panel title="The request">
            <Needs scope="read" label="Seeing the request and why it needs approval" />
          </Panel>
        ) : (
          <Action subject={subject} values={values} />
        )}
        {execution !== null ? (
          <WhyPanel why={why} execution={execution} />
        ) : isWithheld || isErased || decision.change !== undefined ? null : (
          <WhyProposed decision={decision} />
        )}
        {isErased || (execution === null && target.data?.length === 0) ? null : (
          <ConfirmContext.Provider value={checks.register}>
            <Target
              target={target}
              isAllowed={mayRead}
              requestInput={execution === null ? values : [values, execution.resourceId]}
            />
          </ConfirmContext.Provider>
        )}
        {execution === null ? null : <History history={history} />}
        <Reviewers
          decision={decision}
          approvers={approvers}
          showMore={() => setMostApprovers((most) => most + MAX_PAGE_SIZE)}
        />
        {isPending ? (
          <Settle
            decision={decision}
            parameters={execution?.parameters ?? null}
            approvers={approvers.data}
            missing={missing}
            differences={differences}
            changed={refresh}
            settled={setSettled}
          />
        ) : null}
      </div>
    </HiddenContext.Provider>
  );
}

function RecordedDecision({ decision }: { readonly decision: Decision }): JSX.Element {
  const needs = needsText(decision);
  return (
    <p class="notice good" role="status">
      Your review is recorded.{needs === '' ? '' : ` The decision still ${needs}.`}
    </p>
  );
}

function newerDecision(left: Decision, right: Decision): Decision {
  return left.updatedAt > right.updatedAt ? left : right;
}

function Head({ subject: { decision, execution } }: { readonly subject: Case }): JSX.Element {
  const nameOf = useNames();
  const { title, type, proposedBy, riskLevel, status, createdAt, expiresAt, executionId } = decision;
  const isErased = decision.erased === true;
  const agent = nameOf(proposedBy);
  return (
    <header class="decision-head">
      <h1>
        {execution === null ? (
          <bdi class={executionId === null ? undefined : 'exact'}>{showInvisible(isErased ? type : title)}</bdi>
        ) : (
          <>
            <bdi>{agent}</bdi> <span class="quiet">{status === 'proposed' ? 'wants to' : 'wanted to'}</span>{' '}
            <bdi class="exact">{showInvisible(execution.action)}</bdi> <span class="quiet">on</span>{' '}
            <bdi class="exact">{showInvisible(execution.resourceType)}</bdi>{' '}
            <bdi class="exact">
              <WithNames text={showInvisible(execution.resourceId)} />
            </bdi>
          </>
        )}
      </h1>
      <p class="facts">
        <Badge value={status} text={status === 'proposed' ? 'pending' : status} />
        <Badge value={riskLevel} text={`${riskLevel} risk`} />
        <span>
          requested {execution === null ? `by ${agent} ` : ''}
          <TimeAgo iso={createdAt} />
        </span>
        {status === 'proposed' && expiresAt !== null ? <TimeLeft until={expiresAt} /> : null}
        <span>{needsText(decision)}</span>
      </p>
      {isErased ? <ErasedNotice /> : <FileOfDecision decision={decision} />}
    </header>
  );
}

/** The button for the decision file; nothing if the decision is about neither an execution nor a change. */
function FileOfDecision({
  decision: { id, executionId, change },
}: {
  readonly decision: Decision;
}): JSX.Element | null {
  if (executionId !== null) return <DecisionFile records="executions" id={executionId} />;
  return change === undefined ? null : <DecisionFile records="decisions" id={id} />;
}
