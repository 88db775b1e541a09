import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { type Session, useSession } from '../../api/session.js';
import type { Agent, Evaluation, Policy } from '../../api/types.js';
import { focusScreen } from '../../ui/focus.js';
import { countText, listText, showInvisible, revealedProse, words } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { AgentForm } from './agent-form.js';
import { Suspension } from './suspension.js';
import { means, samples, type Sample } from './samples.js';
import { UsedByAgent } from '../policies/used-limits.js';
import { isObserved } from './observed.js';

/** The longest page of a list, and the longest batch of evaluations. */
const MAX_POLICIES = 1_000;

/** The answer of the policies to one kind of request. */
interface Right {
  readonly sample: Sample;
  readonly effect: Evaluation['effect'];
  readonly reason: Evaluation['reason'];
}

interface Rights {
  readonly rights: readonly Right[];
  /** Numbers of policies in force, and of samples, that were left out. */
  readonly policiesLeft: number;
  readonly samplesLeft: number;
  /** Policies in force with limits that are about the agent. */
  readonly limited: readonly Policy[];
}

/** An agent, and what it may do. */
export function AgentScreen({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const agentLoad = useLoad(
    (signal) => session.client.get('/api/v1/agents/{id}', { path: { id }, query: {}, signal }),
    [session, id],
  );
  useFeed(agentLoad.reload, ({ subjectId }) => subjectId === id);
  return (
    <>
      <Link to="agents" class="back">
        ← Agents and keys
      </Link>
      <When load={agentLoad} label="the agent">
        {(agent) => <View key={agent.revision} agent={agent} changed={agentLoad.reload} />}
      </When>
    </>
  );
}

interface ViewProps {
  readonly agent: Agent;
  readonly changed: () => void;
}

function View({ agent, changed }: ViewProps): JSX.Element {
  const session = useSession();
  const scope = agent.kind === 'human' ? 'admin' : 'agents';
  const isOwn = session.me.agentId === agent.id;
  const rights = useLoad((signal) => loadRights(session, agent, signal), [session, agent.id, agent.revision]);
  useFeed(rights.reload, ({ action }) => action.startsWith('policy.'));
  const managedLoad = useLoad(
    (signal) => loadManagedRoles(session, agent, signal),
    [session, agent.id, agent.revision],
  );
  const managedRoles = managedLoad.data ?? [];
  useLayoutEffect(() => {
    // The form that had the focus was of the former revision.
    if (document.activeElement === document.body) focusScreen();
  }, []);
  const { name, kind, roles, status, description, capabilities, createdAt, observeUntil, team, directory } = agent;
  return (
    <div class="decision">
      <header>
        <h1>
          <bdi>{showInvisible(name)}</bdi>
        </h1>
        <p class="facts">
          <Badge value={kind} text={kind === 'human' ? 'person' : 'machine'} />
          <Badge value={status} />
          <span>
            since <LocalTime iso={createdAt} />
          </span>
        </p>
      </header>
      <Panel title="About">
        {description === '' ? null : <p class="text">{revealedProse(description)}</p>}
        <dl class="pairs">
          <dt>Roles</dt>
          <dd>
            {roles.length === 0 ? 'none' : showInvisible(roles.join(', '))}
            {managedRoles.length === 0 ? null : (
              <p class="help">From groups of the directory: {showInvisible(managedRoles.join(', '))}.</p>
            )}
          </dd>
          {directory === null ? null : (
            <>
              <dt>Directory</dt>
              <dd>
                <code>{showInvisible(directory)}</code>
                <p class="help">
                  The directory manages this person: the address, the roles that come from its groups, and whom it has
                  suspended are changed there.
                </p>
              </dd>
            </>
          )}
          {team === null ? null : (
            <>
              <dt>Team</dt>
              <dd>{showInvisible(team)}</dd>
            </>
          )}
          <dt>Capabilities</dt>
          <dd>{capabilities.length === 0 ? 'none' : showInvisible(capabilities.join(', '))}</dd>
          {isObserved(observeUntil) ? (
            <>
              <dt>Observed</dt>
              <dd>
                until <LocalTime iso={observeUntil} />: what no policy allows is let through, and noted
              </dd>
            </>
          ) : null}
        </dl>
        {kind === 'human' ? (
          <p class="links">
            <Link to={`passkeys/${agent.id}`}>Passkeys</Link> <Link to={`delegations/${agent.id}`}>Delegations</Link>
          </p>
        ) : null}
        {isOwn ? (
          <p class="quiet">Your key acts as it, so somebody else changes it.</p>
        ) : session.has(scope) ? (
          <div class="actions">
            <AgentForm agent={agent} managedRoles={managedRoles} onDone={changed} />
            <Suspension agent={agent} onDone={changed} />
          </div>
        ) : (
          <Needs scope={scope} label="Changing, suspending and resuming it" />
        )}
      </Panel>
      <Panel title="What it may do">
        <When load={rights} label="what it may do">
          {(data) => <RightsView result={data} />}
        </When>
        <p>
          <Link to={`access/${agent.id}`}>Everything that it may do</Link>
        </p>
      </Panel>
      {rights.data === null || rights.data.limited.length === 0 ? null : (
        <UsedByAgent agentId={agent.id} policies={rights.data.limited} />
      )}
    </div>
  );
}

function RightsView({ result: { rights, policiesLeft, samplesLeft } }: { readonly result: Rights }): JSX.Element {
  if (rights.length === 0)
    return <p class="quiet">It has no capabilities, so it may carry out nothing. Reviewing needs none.</p>;
  const omissions = [
    ...(policiesLeft === 0 ? [] : [countText(policiesLeft, 'older policy in force', 'older policies in force')]),
    ...(samplesLeft === 0 ? [] : [countText(samplesLeft, 'more kind of request', 'more kinds of requests')]),
  ];
  return (
    <>
      <p class="quiet">According to the policies in force, for requests without arguments, on nobody's behalf.</p>
      <ul class="history">
        {rights.map(({ sample: { action, resourceText, conditional }, effect, reason }) => (
          <li key={`${action} ${resourceText}`}>
            <Badge value={effect} /> <strong>{showInvisible(action)}</strong> <code>{showInvisible(resourceText)}</code>
            {reason === null || reason === 'approval_required' ? null : <small>{words(reason)}</small>}
            {conditional.length === 0 ? null : (
              <small>
                Other requests, or later ones, may be answered differently because of{' '}
                {showInvisible(listText([...new Set(conditional.map(({ name }) => name))], 'and'))}.
              </small>
            )}
          </li>
        ))}
      </ul>
      {omissions.length === 0 ? null : (
        <p class="notice warn">
          Not considered here: {listText(omissions, 'and')}. Ask about a single request under{' '}
          <Link to="explain">Explain</Link>.
        </p>
      )}
    </>
  );
}

/** The roles of a person that groups of the directory map; none if the caller may not see the groups. */
async function loadManagedRoles(
  { client, has }: Session,
  { directory, roles }: Agent,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (directory === null || !has('admin')) return [];
  const { data } = await client.get('/api/v1/directory/groups', { signal });
  const mappedRoles = new Set(data.flatMap((group) => group.roles));
  return roles.filter((role) => mappedRoles.has(role));
}

async function loadRights({ client }: Session, agent: Agent, signal: AbortSignal): Promise<Rights> {
  const query = { status: 'active', limit: MAX_POLICIES, order: 'desc' } as const;
  const { data, total } = await client.get('/api/v1/policies', { query, signal });
  const all = samples(agent, data);
  const checkedSamples = all.slice(0, MAX_POLICIES);
  const isAbout = ({ limits, subjects }: Policy): boolean =>
    limits.length > 0 && subjects.some((subject) => means(subject, agent));
  const omittedCounts = { policiesLeft: total - data.length, samplesLeft: all.length - checkedSamples.length };
  const limited = data.filter(isAbout);
  if (checkedSamples.length === 0) return { rights: [], ...omittedCounts, limited };
  const requests = checkedSamples.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  const response = await client.post('/api/v1/policies/evaluate', { body: { agent: agent.id, requests }, signal });
  const results = 'results' in response ? response.results : [];
  const rights = checkedSamples.flatMap((sample, index) => {
    const answer = results[index];
    return answer === undefined ? [] : [{ sample, effect: answer.effect, reason: answer.reason }];
  });
  return { rights, ...omittedCounts, limited };
}
