import type { JSX } from 'preact';
import type { LoadState } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Approver, Approvers, Decision } from '../../api/types.js';
import { countText, listText, numberText, showInvisible, revealedProse } from '../../ui/format.js';
import { givenText } from '../../ui/grant-text.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';
import { currentSubjects, isOnePersonInTwo, peopleText, subjectText } from '../inbox/needs.js';

const REASONS: Readonly<Record<string, string>> = {
  proposer: 'requested it',
  suspended: 'is suspended, or the agent that requested it is',
  reviewed: 'has already reviewed it',
  no_passkey: 'has no passkey to sign it',
  policy_denied: 'a policy forbids it',
};

interface ReviewersProps {
  readonly decision: Decision;
  readonly approvers: LoadState<Approvers | null>;
  readonly showMore: () => void;
}

/** Shows who has reviewed, and who still can. */
export function Reviewers({ decision, approvers, showMore }: ReviewersProps): JSX.Element {
  const { approvers: groups, requiredApprovals, reviews, status } = decision;
  const givenApprovals = reviews.filter(({ verdict }) => verdict === 'approve').length;
  return (
    <Panel title="Reviewers">
      <ul class="groups">
        {groups === null ? (
          <Group name="anybody who can approve" givenApprovals={givenApprovals} neededApprovals={requiredApprovals} />
        ) : (
          groups.map((group) => (
            <Group
              key={group.subjects.join(' ')}
              name={`${listText(currentSubjects(group).map(subjectText), 'or')}${group.signed ? ', signed with a passkey' : ''}`}
              givenApprovals={group.given}
              neededApprovals={group.approvals}
            />
          ))
        )}
      </ul>
      {isOnePersonInTwo(decision) ? (
        <p class="notice">It takes {peopleText(requiredApprovals)}: who fits several of these counts once.</p>
      ) : null}
      <Reviews decision={decision} />
      {status === 'proposed' ? (
        <When load={approvers} label="who may decide">
          {(data) =>
            data === null ? (
              <Needs scope="read" label="Seeing who can decide" />
            ) : (
              <Eligible approvers={data} showMore={showMore} />
            )
          }
        </When>
      ) : null}
    </Panel>
  );
}

interface GroupProps {
  readonly name: string;
  readonly givenApprovals: number;
  readonly neededApprovals: number;
}

function Group({ name, givenApprovals, neededApprovals }: GroupProps): JSX.Element {
  return (
    <li>
      <strong>{name}</strong>
      <span>
        {givenApprovals} of {countText(neededApprovals, 'approval')}
      </span>
      <progress
        value={Math.min(givenApprovals, neededApprovals)}
        max={neededApprovals}
        aria-label={`Approvals of ${name}`}
      />
    </li>
  );
}

function Reviews({ decision: { reviews } }: { readonly decision: Decision }): JSX.Element | null {
  const nameOf = useNames();
  if (reviews.length === 0) return <p class="quiet">Nobody has reviewed it yet.</p>;
  return (
    <ul class="reviews">
      {reviews.map(({ approverId, verdict, comment, grant, createdAt, signature, delegationId }) => (
        <li key={`${approverId ?? ''} ${createdAt}`}>
          <Badge value={verdict} text={verdict === 'approve' ? 'approved' : 'rejected'} />{' '}
          <strong>{approverId === null ? 'The holder of an unbound key' : nameOf(approverId)}</strong>{' '}
          <TimeAgo iso={createdAt} />
          {delegationId === undefined ? null : <span> in the place of somebody who is away</span>}
          {signature ? <span> signed with a passkey</span> : null}
          {grant ? <span> for {givenText(grant)}</span> : null}
          {comment === null || comment === '' ? null : <q class="text">{revealedProse(comment)}</q>}
        </li>
      ))}
    </ul>
  );
}

function ableText(names: readonly string[], isComplete: boolean): string {
  if (names.length > 0) return `Can approve it: ${listText(names, 'or')}.`;
  return isComplete ? 'Nobody can approve it now.' : 'None of those listed can approve it now.';
}

interface EligibleProps {
  readonly approvers: Approvers;
  readonly showMore: () => void;
}

function Eligible({ approvers: { data, total, feasible }, showMore }: EligibleProps): JSX.Element {
  const { me } = useSession();
  const placeNameOf = useNames();
  const nameOf = ({ agentId, name, for: place }: Approver): string =>
    `${showInvisible(name)}${agentId === me.agentId ? ' (you)' : ''}${place === undefined ? '' : ` for ${placeNameOf(place)}`}`;
  const able = data.filter((approver) => approver.able);
  const unableApprovers = data.filter((approver) => !approver.able);
  return (
    <>
      {feasible === false ? (
        <p class="notice warn">
          {unableApprovers.some(({ why }) => why === 'no_passkey')
            ? 'Not enough people have a passkey yet. Until more of those named here add one, it can only be rejected or expire.'
            : 'Not enough people are left to approve it. It can only be rejected or expire.'}
        </p>
      ) : null}
      <p>
        {ableText(able.map(nameOf), data.length === total)}
        {unableApprovers.length === 0 ? null : (
          <span class="quiet">
            {' '}
            Cannot approve it:{' '}
            {unableApprovers.map((approver) => `${nameOf(approver)} (${REASONS[approver.why ?? ''] ?? ''})`).join(', ')}
            .
          </span>
        )}
      </p>
      {total > data.length ? (
        <button type="button" class="unfold" onClick={showMore}>
          List more reviewers: {numberText(total - data.length)} left
        </button>
      ) : null}
    </>
  );
}
