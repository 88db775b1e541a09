import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Key } from '../../api/types.js';
import { focusScreen } from '../../ui/focus.js';
import { countText, listText, showInvisible } from '../../ui/format.js';
import { ListEnd, PAGE } from '../../ui/list-end.js';
import { Badge, Empty, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
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
      <IssueKey onDone={list.reload} />
      <When load={list} label="the keys">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="No issued keys yet.">
              <p>Only the operator's key exists. It is set in the environment.</p>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map((key) => (
                  <KeyRow key={key.id} apiKey={key} onDone={list.reload} />
                ))}
              </ul>
              <ListEnd
                count={data.length}
                total={total}
                text={countText(total, 'key')}
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
  readonly apiKey: Key;
  readonly onDone: () => void;
}

function KeyRow({
  apiKey: { id, name, scopes, agentId, principals, status, expiresAt, prefix },
  onDone,
}: KeyRowProps): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const [isConfirming, setIsConfirming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const wasConfirming = useRef(isConfirming);
  useLayoutEffect(() => {
    // Moves the focus to `Keep` while the revocation waits for confirmation, and back to `Revoke` afterwards.
    if (isConfirming !== wasConfirming.current) button.current?.focus();
    wasConfirming.current = isConfirming;
  }, [isConfirming]);
  const lastStatus = useRef(status);
  useLayoutEffect(() => {
    // A revoked key has no button. If the removed button had the focus, the focus moves to the screen.
    if (status !== lastStatus.current && document.activeElement === document.body) focusScreen();
    lastStatus.current = status;
  }, [status]);
  const [error, setError] = useState<unknown>(null);
  const revoke = async (): Promise<void> => {
    try {
      await client.post('/api/v1/api-keys/{id}/revoke', { path: { id }, body: {} });
      onDone();
    } catch (reason) {
      setError(reason);
    }
    setIsConfirming(false);
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
              valid until <LocalTime iso={expiresAt} />
            </span>
          )}
          {status !== 'active' ? null : isConfirming ? (
            <span class="buttons">
              <button type="button" class="danger" onClick={() => void revoke()}>
                Revoke permanently
              </button>
              <button ref={button} type="button" onClick={() => setIsConfirming(false)}>
                Keep
              </button>
            </span>
          ) : (
            <span class="buttons">
              <button
                ref={button}
                type="button"
                onClick={() => setIsConfirming(true)}
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
