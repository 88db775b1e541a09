import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Key } from '../../api/types.js';
import { focusScreen } from '../../ui/focus.js';
import { counted, listText, showInvisible } from '../../ui/format.js';
import { ListEnd, PAGE } from '../../ui/list-end.js';
import { Badge, Empty, Problem, When } from '../../ui/parts.js';
import { At } from '../../ui/time.js';
import { IssueKey } from './issue-key.js';

/** The issued keys, with their holders and scopes. */
export function Keys(): JSX.Element {
  const { client } = useSession();
  const [limit, setLimit] = useState(PAGE);
  const list = useLoad(
    (signal) => client.get('/api/v1/api-keys', { query: { limit, order: 'desc' }, signal }),
    [client],
    limit,
  );
  useFeed(list.reload, ({ action }) => action.startsWith('api_key.'));
  return (
    <>
      <IssueKey done={list.reload} />
      <When of={list} what="the keys">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="No keys yet.">
              <p>Only the operator's key, set in the environment, exists.</p>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map((key) => (
                  <KeyRow key={key.id} of={key} done={list.reload} />
                ))}
              </ul>
              <ListEnd
                shown={data.length}
                total={total}
                text={counted(total, 'key')}
                limit={limit}
                setLimit={setLimit}
              />
            </>
          )
        }
      </When>
    </>
  );
}

interface KeyRowProps {
  readonly of: Key;
  readonly done: () => void;
}

function KeyRow({
  of: { id, name, scopes, agentId, principals, status, expiresAt, prefix },
  done,
}: KeyRowProps): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const [asks, setAsks] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const hasAsked = useRef(asks);
  useLayoutEffect(() => {
    // The button that had the focus was replaced.
    if (asks !== hasAsked.current) button.current?.focus();
    hasAsked.current = asks;
  }, [asks]);
  const lastStatus = useRef(status);
  useLayoutEffect(() => {
    if (status !== lastStatus.current && document.activeElement === document.body) focusScreen();
    lastStatus.current = status;
  }, [status]);
  const [error, setError] = useState<unknown>(null);
  const revoke = async (): Promise<void> => {
    try {
      await client.post('/api/v1/api-keys/{id}/revoke', { path: { id }, body: {} });
      done();
    } catch (reason) {
      setError(reason);
    }
    setAsks(false);
  };
  return (
    <li>
      <div class="row">
        <Badge value={status} />
        <span class="row-what">
          <strong>
            <bdi>{showInvisible(name)}</bdi>
          </strong>
          <span class="row-who">
            {agentId === null ? 'not bound to an agent' : `acts as ${nameOf(agentId)}`}
            {principals.length === 0 ? '' : `, on behalf of ${listText(principals.map(showInvisible), 'or')}`} ·{' '}
            {scopes.join(', ')}
          </span>
          <code class="hash">{prefix}…</code>
        </span>
        <span class="row-state">
          {expiresAt === null ? null : (
            <span class="row-who">
              until <At at={expiresAt} />
            </span>
          )}
          {status !== 'active' ? null : asks ? (
            <span class="buttons">
              <button type="button" class="danger" onClick={() => void revoke()}>
                Revoke permanently
              </button>
              <button ref={button} type="button" onClick={() => setAsks(false)}>
                Keep
              </button>
            </span>
          ) : (
            <span class="buttons">
              <button
                ref={button}
                type="button"
                onClick={() => setAsks(true)}
                aria-label={`Revoke the key ${showInvisible(name)}`}
              >
                Revoke
              </button>
            </span>
          )}
        </span>
      </div>
      {error === null ? null : <Problem error={error} />}
    </li>
  );
}
