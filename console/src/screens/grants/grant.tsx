import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Execution, Grant } from '../../api/types.js';
import { counted, showInvisible } from '../../ui/format.js';
import { grantText, usedText } from '../../ui/grant-text.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { At, Left } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { principalText } from '../inbox/needs.js';

/** Executions that are listed, the newest. */
const MOST = 50;

interface Shown {
  readonly grant: Grant;
  readonly served: { readonly data: readonly Execution[]; readonly total: number };
}

/** One grant: what it is good for, what it served, and its end. */
export function GrantScreen({ id }: { readonly id: string }): JSX.Element {
  const { client } = useSession();
  const found = useLoad(
    async (signal): Promise<Shown> => {
      const query = { grantId: id, order: 'desc', limit: MOST } as const;
      const [grant, served] = await Promise.all([
        client.get('/api/v1/grants/{id}', { path: { id }, signal }),
        client.get('/api/v1/executions', { query, signal }),
      ]);
      return { grant, served };
    },
    [client, id],
  );
  useFeed(found.reload, ({ action, subjectId }) => subjectId === id || action.startsWith('execution.'));
  return (
    <>
      <Link to="grants" class="back">
        ← Grants
      </Link>
      <When of={found} what="the grant">
        {(shown) => <View grant={shown} reload={found.reload} />}
      </When>
    </>
  );
}

function View({
  grant: { grant, served },
  reload,
}: {
  readonly grant: Shown;
  readonly reload: () => void;
}): JSX.Element {
  const nameOf = useNames();
  const { agentId, decisionId, onBehalfOf, status, until, createdAt } = grant;
  return (
    <div class="decision">
      <header class="decision-head">
        <h1>
          <bdi>{nameOf(agentId)}</bdi> <span class="quiet">may</span>{' '}
          <bdi class="exact">
            <WithNames of={grantText(grant)} />
          </bdi>
        </h1>
        <p class="facts">
          <Badge value={status} />
          <span>
            since <At at={createdAt} /> until <At at={until} />
          </span>
          {status === 'active' ? <Left until={until} /> : null}
          <span>{usedText(grant)}</span>
          {onBehalfOf === null ? null : <span>on behalf of {principalText({ subject: onBehalfOf }, nameOf)}</span>}
          <Link to={`decisions/${decisionId}`}>Decision</Link>
        </p>
      </header>
      <Panel title="What it served">
        {served.total === 0 ? <p class="quiet">Nothing yet.</p> : null}
        <ul class="history">
          {served.data.map(({ id, outcome, resourceType, resourceId, createdAt: at }) => (
            <li key={id}>
              <Badge value={outcome} />
              <Link to={`executions/${id}`}>
                <bdi class="exact">
                  <WithNames of={showInvisible(`${resourceType} ${resourceId}`)} />
                </bdi>
              </Link>
              <At at={at} />
            </li>
          ))}
        </ul>
        {served.total > MOST ? <p class="quiet">And {counted(served.total - MOST, 'earlier one')}.</p> : null}
      </Panel>
      {status === 'active' ? <Revoke id={grant.id} done={reload} /> : null}
    </div>
  );
}

function Revoke({ id, done }: { readonly id: string; readonly done: () => void }): JSX.Element | null {
  const { promptClient, has } = useSession();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>(null);
  if (!has('review')) return null;
  const revoke = async (): Promise<void> => {
    setError(null);
    try {
      const body = reason.trim() === '' ? {} : { reason: reason.trim() };
      await promptClient.post('/api/v1/grants/{id}/revoke', { path: { id }, body });
      done();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Panel title="End it">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void revoke();
        }}
      >
        <label>
          Reason <small>(optional, kept permanently)</small>
          <input maxLength={2000} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        {error === null ? null : <Problem error={error} />}
        <div class="buttons">
          <button type="submit" class="danger">
            Revoke it now
          </button>
        </div>
      </form>
    </Panel>
  );
}
