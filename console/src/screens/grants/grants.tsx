import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Grant } from '../../api/types.js';
import { countText, words } from '../../ui/format.js';
import { grantText, usedText } from '../../ui/grant-text.js';
import { Link } from '../../ui/link.js';
import { ListEnd, PAGE } from '../../ui/list-end.js';
import { Options } from '../../ui/options.js';
import { Badge, Empty, When } from '../../ui/parts.js';
import { TimeLeft } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';

const STATUSES: readonly Grant['status'][] = ['active', 'used_up', 'expired', 'revoked'];

/** The grants: approvals that each count for more than one action. */
export function Grants(): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const [limit, setLimit] = useState(PAGE);
  const [status, setStatus] = useState<Grant['status'] | ''>('active');
  const list = useLoad(
    (signal) => {
      const query = { limit, order: 'desc' as const, ...(status !== '' && { status }) };
      return client.get('/api/v1/grants', { query, signal });
    },
    [client, status],
    limit,
  );
  useFeed(list.reload, ({ action }) => action.startsWith('grant.'));
  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Grants</h1>
          <p class="quiet">What agents may do again without another approval.</p>
        </div>
      </header>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <label>
          Status
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value as typeof status)}>
            <option value="">Any</option>
            <Options choices={STATUSES.map((status) => [status, words(status)])} />
          </select>
        </label>
      </form>
      <When load={list} label="the grants">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="There are none." />
          ) : (
            <>
              <ul class="rows">
                {data.map((grant) => (
                  <li key={grant.id}>
                    <Link to={`grants/${grant.id}`} class="row">
                      <Badge value={grant.status} />
                      <span class="row-what">
                        <strong>
                          <bdi class="exact">
                            <WithNames text={grantText(grant)} />
                          </bdi>
                        </strong>
                        <span class="row-who">{nameOf(grant.agentId)}</span>
                      </span>
                      <span class="row-state">
                        <span>{usedText(grant)}</span>
                        {grant.status === 'active' ? <TimeLeft until={grant.until} /> : null}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              <ListEnd {...{ total, limit, setLimit }} count={data.length} text={countText(total, 'grant')} />
            </>
          )
        }
      </When>
    </>
  );
}
