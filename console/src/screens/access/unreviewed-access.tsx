import type { JSX } from 'preact';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import { numberText, showInvisible } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge, Empty, When } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';

/** The agents whose access nobody has reviewed as it is now. */
export function UnreviewedAccess(): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const list = useLoad((signal) => client.get('/api/v1/access-reviews', { signal }), [client]);
  useFeed(list.reload, ({ action }) => action.startsWith('agent.') || action.startsWith('policy.'));
  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Access</h1>
          <p class="quiet">Agents of which nobody has reviewed what they may do now.</p>
        </div>
      </header>
      <When load={list} label="the agents">
        {({ data, more }) =>
          data.length === 0 ? (
            <Empty title="The access of every agent was reviewed as it is.">
              <Link to="agents">All agents</Link>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map(({ agentId, name, reviewedBy, reviewedAt }) => (
                  <li key={agentId}>
                    <Link to={`access/${agentId}`} class="row">
                      <Badge value="proposed" text={reviewedAt === null ? 'never' : 'changed'} />
                      <span class="row-what">
                        <strong>
                          <bdi>{showInvisible(name)}</bdi>
                        </strong>
                      </span>
                      <span class="row-state">
                        {reviewedAt === null || reviewedBy === null ? (
                          'never reviewed'
                        ) : (
                          <span>
                            reviewed by <bdi>{nameOf(reviewedBy)}</bdi> <TimeAgo iso={reviewedAt} />
                          </span>
                        )}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              {more ? <p class="quiet">These are the newest {numberText(data.length)}; there are more.</p> : null}
            </>
          )
        }
      </When>
    </>
  );
}
