import type { JSX } from 'preact';
import type { Loaded } from '../../api/load.js';
import { useNames } from '../../api/names.js';
import type { Approver, Approvers, Decision } from '../../api/types.js';
import { counted, listText } from '../../ui/format.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { Ago } from '../../ui/time.js';
import { subjectText } from '../inbox/needs.js';

const REASONS: Readonly<Record<string, string>> = {
  proposer: 'asked for it',
  suspended: 'is suspended',
  reviewed: 'has reviewed it',
  policy_denied: 'a policy denies it',
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
    <Panel title="Who decides">
      <ul class="groups">
        {groups === null ? (
          <Group name="anybody who may approve" given={given} needed={requiredApprovals} />
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
        {given} of {needed} given
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
          {comment === '' ? null : <q>{comment}</q>}
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
        <p class="notice warn">Nobody is left who could approve it as it stands. It can only be rejected or expire.</p>
      ) : null}
      <p>
        {able.length === 0 ? 'Nobody may approve it now.' : <>May still approve: {people(able)}.</>}
        {others.length === 0 ? null : (
          <span class="quiet">
            {' '}
            Cannot approve it: {others.map(({ name, why }) => `${name} (${REASONS[why ?? ''] ?? ''})`).join(', ')}.
          </span>
        )}
        {total > data.length ? (
          <span class="quiet"> {counted(total - data.length, 'other')} not listed here.</span>
        ) : null}
      </p>
    </>
  );
}

function people(approvers: readonly Approver[]): string {
  return listText(
    approvers.map(({ name }) => name),
    'or',
  );
}
