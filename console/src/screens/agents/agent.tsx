import type { JSX } from 'preact';
import { useFeed } from '../../api/feed.js';
import { useLoad } from '../../api/load.js';
import { type Session, useSession } from '../../api/session.js';
import type { Agent, Evaluation, Policy } from '../../api/types.js';
import { revealed, words } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { At } from '../../ui/time.js';
import { samples, type Sample } from './samples.js';

const MOST_POLICIES = 500;

/** What the policies answer to one kind of request. */
interface Right {
  readonly sample: Sample;
  readonly effect: Evaluation['effect'];
  readonly reason: Evaluation['reason'];
}

/** One agent, and what it may do. */
export function AgentScreen({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const found = useLoad(
    (signal) => session.client.get('/api/v1/agents/{id}', { path: { id }, query: {}, signal }),
    [session, id],
  );
  useFeed(found.reload, ({ subjectId, action }) => subjectId === id || action.startsWith('policy.'));
  return (
    <>
      <Link to="agents" class="back">
        ← Agents and keys
      </Link>
      <When of={found} what="the agent">
        {(agent) => <View key={agent.revision} agent={agent} />}
      </When>
    </>
  );
}

function View({ agent }: { readonly agent: Agent }): JSX.Element {
  const session = useSession();
  const rights = useLoad((signal) => loadRights(session, agent, signal), [session, agent.id, agent.revision]);
  const { name, kind, roles, status, description, capabilities, createdAt } = agent;
  return (
    <div class="decision">
      <header>
        <h1>
          <bdi>{revealed(name)}</bdi>
        </h1>
        <p class="facts">
          <Badge value={kind} text={kind === 'human' ? 'person' : 'machine'} />
          <Badge value={status} />
          <span>
            since <At at={createdAt} />
          </span>
        </p>
      </header>
      <Panel title="About">
        {description === '' ? null : <p>{revealed(description)}</p>}
        <dl class="pairs">
          <dt>Roles</dt>
          <dd>{roles.length === 0 ? 'none' : roles.join(', ')}</dd>
          <dt>Capabilities</dt>
          <dd>{capabilities.length === 0 ? 'none' : capabilities.join(', ')}</dd>
        </dl>
      </Panel>
      <Panel title="What it may do">
        <When of={rights} what="what it may do">
          {(all) =>
            all.length === 0 ? (
              <p class="quiet">No policy in force names any of its capabilities, so it may do nothing.</p>
            ) : (
              <>
                <p class="quiet">According to the policies in force, for requests without arguments.</p>
                <ul class="history">
                  {all.map(({ sample: { action, shown }, effect, reason }) => (
                    <li key={`${action} ${shown}`}>
                      <Badge value={effect} /> <strong>{action}</strong> <code>{shown}</code>
                      {reason === null || reason === 'approval_required' ? null : <small>{words(reason)}</small>}
                    </li>
                  ))}
                </ul>
              </>
            )
          }
        </When>
      </Panel>
    </div>
  );
}

async function loadRights({ client }: Session, agent: Agent, signal: AbortSignal): Promise<readonly Right[]> {
  const query = { status: 'active', limit: MOST_POLICIES } as const;
  const { data } = await client.get('/api/v1/policies', { query, signal });
  const asked = samples(agent.capabilities, data satisfies readonly Policy[]);
  if (asked.length === 0) return [];
  const requests = asked.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  const found = await client.post('/api/v1/policies/evaluate', { body: { agent: agent.id, requests }, signal });
  if (!('results' in found)) return [];
  return asked.flatMap((sample, index) => {
    const answer = found.results[index];
    return answer === undefined ? [] : [{ sample, effect: answer.effect, reason: answer.reason }];
  });
}
