import type { JSX } from 'preact';
import { usePages } from '../../api/pages.js';
import { useSession } from '../../api/session.js';
import { useFeed } from '../../api/use-feed.js';
import { countText, listText, showInvisible, revealedProse } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { PagesEnd } from '../../ui/pages-end.js';
import { Badge, Empty, When } from '../../ui/parts.js';

/** The webhooks, to which audit entries are delivered. */
export function Webhooks(): JSX.Element {
  const { client } = useSession();
  const list = usePages({}, (query, signal) => client.get('/api/v1/webhooks', { query, signal }));
  useFeed(list.reload, ({ action }) => action.startsWith('webhook.'));
  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Webhooks</h1>
          <p class="quiet">Where entries of the audit trail are delivered to.</p>
        </div>
      </header>
      <When load={list} label="the webhooks">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="There are none.">
              <p>They are created by the API, which shows the secret of each once.</p>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map(({ id, url, status, format, actions, description }) => (
                  <li key={id}>
                    <Link to={`webhooks/${id}`} class="row">
                      <Badge value={status} />
                      <span class="row-what">
                        <strong>
                          <bdi class="exact">{showInvisible(url)}</bdi>
                        </strong>
                        <span class="row-who">{revealedProse(description)}</span>
                      </span>
                      <span class="row-state">
                        <span>{format}</span>
                        <span class="row-who">{showInvisible(listText(actions, 'and'))}</span>
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              <PagesEnd pages={list} text={countText(total, 'webhook')} />
            </>
          )
        }
      </When>
    </>
  );
}
