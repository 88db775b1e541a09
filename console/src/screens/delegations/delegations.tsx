import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Delegation } from '../../api/types.js';
import { AgentField } from '../../ui/agent-field.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { numberText } from '../../ui/format.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';

/** Maximum number of delegations that are listed on each side: the newest. */
const MAX_LISTED = 100;

interface Sides {
  readonly ownPage: Page;
  /** The delegations that others made to the person. */
  readonly otherPage: Page;
}

interface Page {
  readonly data: readonly Delegation[];
  readonly total: number;
}

/** The delegations of a person, who makes and ends them; an administrator ends them, too. */
export function DelegationsScreen({ id }: { readonly id: string }): JSX.Element {
  const { client, me, has } = useSession();
  const nameOf = useNames();
  const list = useLoad(
    async (signal): Promise<Sides> => {
      const read = (side: 'made' | 'received'): Promise<Page> =>
        client.get('/api/v1/agents/{id}/delegations', {
          path: { id },
          query: { side, limit: MAX_LISTED, order: 'desc' },
          signal,
        });
      const [ownPage, otherPage] = await Promise.all([read('made'), read('received')]);
      return { ownPage, otherPage };
    },
    [client, id],
  );
  useFeed(list.reload, ({ action }) => action.startsWith('delegation.'));
  const isOwn = me.agentId === id;
  return (
    <>
      <header class="screen-head">
        <h1>{isOwn ? 'Your delegations' : `The delegations of ${nameOf(id)}`}</h1>
      </header>
      <When load={list} label="the delegations">
        {({ ownPage, otherPage }) => (
          <div class="decision">
            <Panel title={isOwn ? 'Who reviews in your place' : 'Who reviews in this place'}>
              <Rows page={ownPage} other="to" mayEnd={isOwn || has('admin')} onDone={list.reload} />
              {isOwn && has('review') ? (
                <>
                  <h3 class="after">A new delegation</h3>
                  <DelegationForm agentId={id} onDone={list.reload} />
                </>
              ) : null}
            </Panel>
            <Panel title={isOwn ? 'In whose place you review' : 'In whose place this person reviews'}>
              <Rows page={otherPage} other="agentId" mayEnd={has('admin')} onDone={list.reload} />
            </Panel>
          </div>
        )}
      </When>
    </>
  );
}

interface RowsProps {
  readonly page: Page;
  /** The member that names the other person. */
  readonly other: 'to' | 'agentId';
  readonly mayEnd: boolean;
  readonly onDone: () => void;
}

function Rows({ page: { data, total }, other, mayEnd, onDone }: RowsProps): JSX.Element {
  if (total === 0) return <p class="quiet">Nobody.</p>;
  return (
    <>
      <ul class="rows">
        {data.map((delegation) => (
          <Row key={delegation.id} {...{ delegation, other, mayEnd, onDone }} />
        ))}
      </ul>
      {total > data.length ? <p class="quiet">These are the newest {numberText(data.length)}.</p> : null}
    </>
  );
}

interface RowProps extends Omit<RowsProps, 'page'> {
  readonly delegation: Delegation;
}

function Row({ delegation, other, mayEnd, onDone }: RowProps): JSX.Element {
  const { promptClient } = useSession();
  const nameOf = useNames();
  const [error, setError] = useState<unknown>(null);
  const { id, agentId, status, from, until } = delegation;
  const name = nameOf(delegation[other]);
  const end = async (): Promise<void> => {
    setError(null);
    try {
      const path = { id: agentId, delegationId: id };
      await promptClient.post('/api/v1/agents/{id}/delegations/{delegationId}/end', { path });
      onDone();
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <li>
      <div class="row">
        <Badge value={status} />
        <span class="row-what">
          <strong>
            <bdi>{name}</bdi>
          </strong>
          <span class="row-who">
            from <LocalTime iso={from} /> until <LocalTime iso={until} />
          </span>
        </span>
        {mayEnd && (status === 'active' || status === 'waiting') ? (
          <span class="row-state buttons">
            <button type="button" aria-label={`End it: ${name}`} onClick={() => void end()}>
              End it
            </button>
          </span>
        ) : null}
      </div>
      {error === null ? null : <Problem error={error} />}
    </li>
  );
}

interface DelegationFormProps {
  readonly agentId: string;
  readonly onDone: () => void;
}

function DelegationForm({ agentId: id, onDone }: DelegationFormProps): JSX.Element {
  const { promptClient } = useSession();
  const { error, busy, onSubmit } = useFormSending(async (form, element) => {
    const [from, until] = [textOf(form, 'from'), textOf(form, 'until')];
    const body = {
      to: textOf(form, 'to').trim(),
      until: new Date(until).toISOString(),
      ...(from === '' ? {} : { from: new Date(from).toISOString() }),
    };
    await promptClient.post('/api/v1/agents/{id}/delegations', { path: { id }, body });
    element.reset();
    onDone();
  });
  return (
    <form class="form columns" onSubmit={onSubmit} aria-label="Delegate">
      <AgentField label="To" name="to" placeholder="a person" required />
      <label>
        From <small>(now, unless you say when)</small>
        <input name="from" type="datetime-local" />
      </label>
      <label>
        Until <small>(at most 90 days)</small>
        <input name="until" type="datetime-local" required />
      </label>
      <p class="help wide">
        Meanwhile this person may also review in your place what you could, with a key of their own. It is put on record
        whose place it was.
      </p>
      {error === null ? null : <Problem error={error} />}
      <div class="buttons wide">
        <button type="submit" class="primary" disabled={busy}>
          Let this person review in your place
        </button>
      </div>
    </form>
  );
}
