import type { JSX } from 'preact';
import type { Loaded } from '../../api/load.js';
import { useNames } from '../../api/names.js';
import type { Approver, Approvers, Decision } from '../../api/types.js';
import { counted, listText, revealed } from '../../ui/format.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { Ago } from '../../ui/time.js';
import { subjectText } from '../inbox/needs.js';

const REASONS: Readonly<Record<string, string>> = {
  proposer: 'requested it',
  suspended: 'is suspended',
  reviewed: 'has already reviewed it',
  policy_denied: 'a policy forbids it',
};

interface ReviewersProps {
  readonly decision: Decision;
  readonly approvers: Loaded<Approvers>;
}

/** Who has decided, and who still may. */
export function Reviewers({ decision, approvers }: ReviewersProps): JSX.Element {
  const { approvers: groups, requiredApprovals, reviews, status } = decision;
  const given = reviews.filter(({ verdict }) => verdict === 'approve').length;
  return (
    <Panel title="Reviewers">
      <ul class="groups">
        {groups === null ? (
          <Group name="anybody who can approve" given={given} needed={requiredApprovals} />
        ) : (
          groups.map(({ subjects, approvals, given: inGroup }) => (
            <Group
              key={subjects.join(' ')}
              name={listText(subjects.map(subjectText), 'or')}
              given={inGroup}
              needed={approvals}
            />
          ))
        )}
      </ul>
      <Reviews decision={decision} />
      {status === 'proposed' ? (
        <When of={approvers} what="who may decide">
          {(data) => <Eligible approvers={data} />}
        </When>
      ) : null}
    </Panel>
  );
}

interface GroupProps {
  readonly name: string;
  readonly given: number;
  readonly needed: number;
}

function Group({ name, given, needed }: GroupProps): JSX.Element {
  return (
    <li>
      <strong>{name}</strong>
      <span>
        {given} of {counted(needed, 'approval')}
      </span>
      <progress value={Math.min(given, needed)} max={needed} aria-label={`Approvals of ${name}`} />
    </li>
  );
}

function Reviews({ decision: { reviews } }: { readonly decision: Decision }): JSX.Element | null {
  const nameOf = useNames();
  if (reviews.length === 0) return <p class="quiet">Nobody has reviewed it yet.</p>;
  return (
    <ul class="reviews">
      {reviews.map(({ approverId, verdict, comment, createdAt }) => (
        <li key={`${approverId ?? ''} ${createdAt}`}>
          <Badge value={verdict} text={verdict === 'approve' ? 'approved' : 'rejected'} />{' '}
          <strong>{approverId === null ? 'The operator' : nameOf(approverId)}</strong> <Ago at={createdAt} />
          {comment === null || comment === '' ? null : <q>{revealed(comment)}</q>}
        </li>
      ))}
    </ul>
  );
}

function Eligible({ approvers: { data, total, feasible } }: { readonly approvers: Approvers }): JSX.Element {
  const able = data.filter((approver) => approver.able);
  const others = data.filter((approver) => !approver.able);
  return (
    <>
      {feasible === false ? (
        <p class="notice warn">Not enough people are left to approve it. It can only be rejected or expire.</p>
      ) : null}
      <p>
        {able.length === 0 ? 'Nobody can approve it now.' : <>Can approve it: {people(able)}.</>}
        {others.length === 0 ? null : (
          <span class="quiet">
            {' '}
            Cannot approve it:{' '}
            {others.map(({ name, why }) => `${revealed(name)} (${REASONS[why ?? ''] ?? ''})`).join(', ')}.
          </span>
        )}
        {total > data.length ? (
          <span class="quiet"> And {counted(total - data.length, 'more', 'more')}, not listed here.</span>
        ) : null}
      </p>
    </>
  );
}

function people(approvers: readonly Approver[]): string {
  return listText(
    approvers.map(({ name }) => revealed(name)),
    'or',
  );
}
