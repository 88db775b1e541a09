import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Execution, Grant } from '../../api/types.js';
import { countText, showInvisible } from '../../ui/format.js';
import { grantText, usedText } from '../../ui/grant-text.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime, TimeLeft } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { principalText } from '../inbox/needs.js';

/** Maximum number of executions that are listed: the newest. */
const MAX_EXECUTIONS = 50;

interface GrantPage {
  readonly grant: Grant;
  readonly executions: { readonly data: readonly Execution[]; readonly total: number };
}

/** One grant: the actions that it allows, the executions that used it, and its end. */
export function GrantScreen({ id }: { readonly id: string }): JSX.Element {
  const { client } = useSession();
  const grantLoad = useLoad(
    async (signal): Promise<GrantPage> => {
      const query = { grantId: id, order: 'desc', limit: MAX_EXECUTIONS } as const;
      const [grant, executions] = await Promise.all([
        client.get('/api/v1/grants/{id}', { path: { id }, signal }),
        client.get('/api/v1/executions', { query, signal }),
      ]);
      return { grant, executions };
    },
    [client, id],
  );
  useFeed(grantLoad.reload, ({ action, subjectId }) => subjectId === id || action.startsWith('execution.'));
  return (
    <>
      <Link to="grants" class="back">
        ← Grants
      </Link>
      <When load={grantLoad} label="the grant">
        {(page) => <View grant={page} reload={grantLoad.reload} />}
      </When>
    </>
  );
}

function View({
  grant: { grant, executions },
  reload,
}: {
  readonly grant: GrantPage;
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
            <WithNames text={grantText(grant)} />
          </bdi>
        </h1>
        <p class="facts">
          <Badge value={status} />
          <span>
            since <LocalTime iso={createdAt} /> until <LocalTime iso={until} />
          </span>
          {status === 'active' ? <TimeLeft until={until} /> : null}
          <span>{usedText(grant)}</span>
          {onBehalfOf === null ? null : <span>on behalf of {principalText({ subject: onBehalfOf }, nameOf)}</span>}
          <Link to={`decisions/${decisionId}`}>Decision</Link>
        </p>
      </header>
      <Panel title="What it served">
        {executions.total === 0 ? <p class="quiet">Nothing yet.</p> : null}
        <ul class="history">
          {executions.data.map(({ id, outcome, resourceType, resourceId, createdAt: time }) => (
            <li key={id}>
              <Badge value={outcome} />
              <Link to={`executions/${id}`}>
                <bdi class="exact">
                  <WithNames text={showInvisible(`${resourceType} ${resourceId}`)} />
                </bdi>
              </Link>
              <LocalTime iso={time} />
            </li>
          ))}
        </ul>
        {executions.total > MAX_EXECUTIONS ? (
          <p class="quiet">And {countText(executions.total - MAX_EXECUTIONS, 'earlier one')}.</p>
        ) : null}
      </Panel>
      {status === 'active' ? <Revoke id={grant.id} onDone={reload} /> : null}
    </div>
  );
}

function Revoke({ id, onDone }: { readonly id: string; readonly onDone: () => void }): JSX.Element | null {
  const { promptClient, has } = useSession();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>(null);
  if (!has('review')) return null;
  const revoke = async (): Promise<void> => {
    setError(null);
    try {
      const body = reason.trim() === '' ? {} : { reason: reason.trim() };
      await promptClient.post('/api/v1/grants/{id}/revoke', { path: { id }, body });
      onDone();
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
