import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { countText, showInvisible, revealedProse } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { ListEnd, PAGE } from '../../ui/list-end.js';
import { Badge, Empty, Needs, When } from '../../ui/parts.js';
import { TeamChoice } from '../../ui/team-choice.js';
import { AgentForm } from './agent-form.js';
import { Keys } from './keys.js';
import { isObserved } from './observed.js';

/** The agents, people and machines, and their keys. */
export function Agents(): JSX.Element {
  const { client, has } = useSession();
  const [limit, setLimit] = useState(PAGE);
  const [team, setTeam] = useState('');
  const list = useLoad(
    (signal) => {
      const query = { limit, order: 'desc' as const, ...(team !== '' && { team }) };
      return client.get('/api/v1/agents', { query, signal });
    },
    [client, team],
    limit,
  );
  useFeed(list.reload, ({ action }) => action.startsWith('agent.'));
  return (
    <>
      <header class="screen-head">
        <h1>Agents and keys</h1>
        <TeamChoice team={team} onChange={setTeam} />
      </header>
      <h2 class="list-head">Agents</h2>
      <AgentForm agent={null} onDone={list.reload} />
      <When load={list} label="the agents">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="No agents are registered." />
          ) : (
            <>
              <ul class="rows">
                {data.map(({ id, name, kind, roles, status, description, observeUntil, team: own }) => (
                  <li key={id}>
                    <Link to={`agents/${id}`} class="row">
                      <Badge value={kind} text={kind === 'human' ? 'person' : 'machine'} />
                      <span class="row-what">
                        <strong>
                          <bdi>{showInvisible(name)}</bdi>
                        </strong>
                        <span class="row-who">{revealedProse(description)}</span>
                      </span>
                      <span class="row-state">
                        {own === null ? null : <span>team {showInvisible(own)}</span>}
                        <span>{roles.length === 0 ? 'no roles' : showInvisible(roles.join(', '))}</span>
                        {status === 'active' ? null : <span class="urgent">{status}</span>}
                        {isObserved(observeUntil) ? <span class="urgent">observed</span> : null}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              <ListEnd
                count={data.length}
                total={total}
                text={countText(total, 'agent')}
                limit={limit}
                setLimit={setLimit}
              />
            </>
          )
        }
      </When>
      <h2 class="list-head">Keys</h2>
      {has('admin') ? <Keys /> : <Needs scope="admin" label="Seeing and issuing keys" />}
    </>
  );
}
