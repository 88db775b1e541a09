import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { type Session, useSession } from '../../api/session.js';
import { type Decision, GovernanceError } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { useDraft } from '../../ui/drafts.js';
import { useFormSending } from '../../ui/form-sending.js';
import { countText, numberText, showInvisible } from '../../ui/format.js';
import { HiddenContext, useHiddenParts } from '../../ui/hidden.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { TimeAgo, TimeLeft } from '../../ui/time.js';
import { Action } from '../decision/action.js';
import { type Case, loadCase } from '../decision/case.js';
import { type Executions, isSelectable, MAX_TOGETHER } from './groups.js';
import { needsText } from './needs.js';
import { approveAll, rejectAll, type ReviewResults } from './review-sending.js';
import type { Verdict } from './selection.js';
import { useWaitingList } from './waiting.js';

const VERBS = { approve: 'Approve', reject: 'Reject' } as const;

export interface ReviewProps {
  readonly verdict: Verdict;
  /** The selected decisions; decisions that arrive later are not added. */
  readonly decisions: readonly Decision[];
  readonly executions: Executions;
  readonly onLeave: () => void;
  /** Called with the reviewed decisions, and with a description of the results. */
  readonly onEnd: (reviewed: readonly Decision[], outcome: JSX.Element) => void;
}

/** Selected decisions, each whole and with a box of its own, before they are approved or rejected together. */
export function Review({ verdict, decisions, executions, onLeave, onEnd }: ReviewProps): JSX.Element {
  const session = useSession();
  const [selected] = useState(decisions);
  const batch = selected.slice(0, MAX_TOGETHER);
  const cases = useLoad((signal) => loadCases(session, batch, executions, signal), [session]);
  const laterCount = selected.length - batch.length;
  return (
    <div class="decision">
      <button type="button" class="unfold" onClick={onLeave}>
        ← Back to the list
      </button>
      <h1>
        {VERBS[verdict]} {countText(batch.length, 'request')}?
      </h1>
      <p>
        Read each, and tick it. Why it needs approval and what is known about its target are on its own page.
        {verdict === 'approve' && batch.some(({ actionHash }) => actionHash !== null)
          ? ' An approval covers only the agent, the action, the resource and the arguments that are shown with it, on behalf of nobody else.'
          : ''}
        {laterCount === 0 ? '' : ` The other ${numberText(laterCount)} stay selected for the next time.`}
      </p>
      <When load={cases} label="the requests">
        {(data) => <Questions verdict={verdict} cases={data} onEnd={onEnd} />}
      </When>
    </div>
  );
}

function loadCases(
  session: Session,
  decisions: readonly Decision[],
  executions: Executions,
  signal: AbortSignal,
): Promise<readonly Case[]> {
  const load = async (decision: Decision): Promise<Case> => {
    const execution = executions.get(decision.id) ?? null;
    if (execution !== null || decision.executionId === null) return { decision, execution, isWithheld: false };
    return session.lookUps.take(() => loadCase(session, decision.id, signal));
  };
  return Promise.all(decisions.map(load));
}

interface QuestionsProps extends Pick<ReviewProps, 'verdict' | 'onEnd'> {
  readonly cases: readonly Case[];
}

function Questions({ verdict, cases, onEnd }: QuestionsProps): JSX.Element {
  const session = useSession();
  const { pending, selection } = useWaitingList();
  const [comment, setComment, dropComment] = useDraft('inbox', '');
  const formId = useId();
  const waiting = new Map(pending.data?.mine?.data.filter(isSelectable).map((decision) => [decision.id, decision]));
  const ticked = cases
    .map(({ decision }) => decision)
    .filter(({ id }) => selection.tickedIds.has(id) && waiting.has(id));
  const { busy, onSubmit } = useFormSending(async () => {
    const words = comment.trim() === '' ? {} : { comment: comment.trim() };
    const body = { approverId: session.me.agentId ?? '', ...words };
    const results = await (verdict === 'approve' ? approveAll : rejectAll)(session, ticked, body);
    if (results.reviewed.length > 0) dropComment();
    // The inbox shows why it cannot be loaded.
    await pending.confirm().catch(() => null);
    onEnd(results.reviewed, <Outcome verdict={verdict} results={results} />);
  });
  return (
    <div>
      <div class="decision">
        {cases.map((subject, index) => (
          <Question
            key={subject.decision.id}
            {...{ verdict, subject, busy }}
            number={index + 1}
            current={waiting.get(subject.decision.id)}
          />
        ))}
        <Panel title="Your decision" class="settle">
          {/* Enter in a box does not send it: the boxes are outside. */}
          <form id={formId} onSubmit={onSubmit}>
            <label>
              Comment <small>(optional, kept permanently with each)</small>
              <textarea
                rows={2}
                maxLength={2000}
                value={comment}
                onInput={(event) => setComment(event.currentTarget.value)}
              />
            </label>
          </form>
        </Panel>
      </div>
      <div class="selection buttons">
        <button
          type="submit"
          form={formId}
          class={verdict === 'approve' ? 'primary' : 'danger'}
          disabled={busy || ticked.length === 0}
        >
          {VERBS[verdict]} {numberText(ticked.length)} of {numberText(cases.length)}
        </button>
        <span class="help" role="status">
          {busy ? 'Sending …' : 'Under your name. It cannot be undone.'}
        </span>
      </div>
    </div>
  );
}

interface QuestionProps {
  readonly verdict: Verdict;
  readonly subject: Case;
  readonly number: number;
  readonly busy: boolean;
  /** The decision as it is now; undefined if it no longer waits for the person. */
  readonly current: Decision | undefined;
}

/** One whole decision, with the box that selects it for the review. */
function Question({ verdict, subject, number, busy, current }: QuestionProps): JSX.Element {
  const { selection } = useWaitingList();
  const { parts, report } = useHiddenParts();
  const nameOf = useNames();
  const { decision, execution } = subject;
  const { id, title, proposedBy, riskLevel, createdAt, expiresAt } = decision;
  const isRisky = riskLevel === 'high' || riskLevel === 'critical';
  const isFolded = verdict === 'approve' && parts.length > 0;
  const isHeldUp = current === undefined || isFolded;
  return (
    <HiddenContext.Provider value={report}>
      <Action
        subject={subject}
        values={execution === null ? decision.context : execution.parameters}
        title={`${number}. ${nameOf(proposedBy)}: ${showInvisible(execution === null ? title : summaryOf(execution))}`}
      >
        <p class="facts">
          <Badge value={riskLevel} text={`${riskLevel} risk`} />
          <span>
            requested <TimeAgo iso={createdAt} />
          </span>
          {expiresAt === null ? null : <TimeLeft until={expiresAt} />}
          <span>{needsText(current ?? decision)}</span>
          <Link to={`decisions/${id}`}>More about request {number}</Link>
        </p>
        {current === undefined ? <p class="notice warn">It no longer waits for you.</p> : null}
        {isFolded ? <p class="notice">You can tick it once all of it is on screen.</p> : null}
        <label class="check tick">
          <input
            type="checkbox"
            checked={selection.tickedIds.has(id) && !isHeldUp}
            disabled={isHeldUp || busy}
            onChange={() => selection.tick(id)}
          />{' '}
          {VERBS[verdict]} request {number}
          {isRisky ? `, at ${riskLevel} risk` : ''}
        </label>
      </Action>
    </HiddenContext.Provider>
  );
}

function summaryOf({ action, resourceType, resourceId }: NonNullable<Case['execution']>): string {
  return `${action} on ${resourceType}/${resourceId}`;
}

/** The refused decisions by the reason. */
function reasonsOf(refusals: ReviewResults['refusals']): [string, readonly Decision[]][] {
  const reasons = new Map<string, Decision[]>();
  for (const { message, decision } of refusals) reasons.set(message, [...(reasons.get(message) ?? []), decision]);
  return [...reasons];
}

interface ReasonProps {
  readonly message: string;
  readonly decisions: readonly Decision[];
}

function Reason({ message, decisions }: ReasonProps): JSX.Element {
  const links = decisions.map(({ id, title }) => (
    <Link key={id} to={`decisions/${id}`}>
      {showInvisible(title)}
    </Link>
  ));
  if (links.length === 1)
    return (
      <li>
        {links}: {message}
      </li>
    );
  return (
    <li>
      {countText(links.length, 'request')}: {message}
      <details>
        <summary>Which they are</summary>
        <ul>
          {links.map((link) => (
            <li key={link.key}>{link}</li>
          ))}
        </ul>
      </details>
    </li>
  );
}

interface OutcomeProps {
  readonly verdict: Verdict;
  readonly results: ReviewResults;
}

/** Describes which reviews are recorded, and why the others are not. */
function Outcome({ verdict, results: { reviewed, refusals, fault } }: OutcomeProps): JSX.Element {
  const isUnknown = fault instanceof GovernanceError && fault.isOutcomeUnknown;
  const openCount = reviewed.filter(({ status }) => status === 'proposed').length;
  const [noun, done] = verdict === 'approve' ? ['approval', 'approved'] : ['rejection', 'rejected'];
  return (
    <div class="decision">
      {reviewed.length === 0 ? (
        isUnknown ? null : (
          <strong>Nothing was {done}.</strong>
        )
      ) : (
        <p class="notice good" role="status">
          Your {noun} of {countText(reviewed.length, 'request')} is recorded.
          {openCount === 0 ? '' : ` Others still have to approve ${numberText(openCount)} of them.`}
        </p>
      )}
      {refusals.length === 0 ? null : (
        <div class="notice bad" role="alert">
          <strong>
            {countText(refusals.length, 'request')} could not be {done}:
          </strong>
          <ul>
            {reasonsOf(refusals).map(([message, decisions]) => (
              <Reason key={message} {...{ message, decisions }} />
            ))}
          </ul>
        </div>
      )}
      {fault === null ? null : (
        <div>
          {reviewed.length === 0 || isUnknown ? null : <strong>The rest was not {done}.</strong>}
          <Problem error={fault} />
        </div>
      )}
    </div>
  );
}
