import type { JSX } from 'preact';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Execution } from '../../api/types.js';
import { ErasedNotice } from '../../ui/erased.js';
import { showInvisible, revealedProse, words } from '../../ui/format.js';
import { ReplacedValues } from '../../ui/replaced-values.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { TimeAgo } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { ForWhom } from '../decision/action.js';
import { Instead } from '../decision/instead.js';
import { DecisionFile } from './decision-file.js';
import { Story } from './story.js';

/** One execution: what was requested, the outcome, and its whole timeline. */
export function ExecutionScreen({ id }: { readonly id: string }): JSX.Element {
  const { client } = useSession();
  const executionLoad = useLoad(
    (signal) => client.get('/api/v1/executions/{id}', { path: { id }, query: {}, signal }),
    [client, id],
  );
  useFeed(executionLoad.reload, ({ subjectId }) => subjectId === id);
  return (
    <>
      <Link to="activity" class="back">
        ← Activity
      </Link>
      <When load={executionLoad} label="the execution">
        {(execution) => <View execution={execution} />}
      </When>
    </>
  );
}

function View({ execution }: { readonly execution: Execution }): JSX.Element {
  const { has } = useSession();
  const nameOf = useNames();
  const { id, agentId, action, resourceType, resourceId, outcome, reason, decisionId, grantId, createdAt } = execution;
  const { traceId } = execution;
  const isErased = execution.erased === true;
  return (
    <div class="decision">
      <header class="decision-head">
        <h1>
          <bdi>{nameOf(agentId)}</bdi> <span class="quiet">requested</span>{' '}
          <bdi class="exact">{showInvisible(action)}</bdi> <span class="quiet">on</span>{' '}
          <bdi class="exact">{showInvisible(resourceType)}</bdi>{' '}
          <bdi class="exact">
            <WithNames text={showInvisible(resourceId)} />
          </bdi>
        </h1>
        <p class="facts">
          <Badge value={outcome} />
          <TimeAgo iso={createdAt} />
          {reason === null ? null : <span>{words(reason)}</span>}
          {execution.observed === true ? <span>observed: no policy allowed it</span> : null}
          {decisionId === null ? null : <Link to={`decisions/${decisionId}`}>Decision</Link>}
          {grantId === null ? null : <Link to={`grants/${grantId}`}>Allowed by a grant</Link>}
          {traceId === null ? null : <span class="exact">trace {traceId}</span>}
        </p>
        {isErased ? <ErasedNotice /> : <DecisionFile records="executions" id={id} />}
      </header>
      {isErased ? null : (
        <Panel title="The request">
          <dl class="pairs">
            <ForWhom execution={execution} />
            <dt>Arguments</dt>
            <dd>
              <Json value={execution.parameters} label="Arguments" />
              <ReplacedValues value={execution.parameters} />
            </dd>
          </dl>
        </Panel>
      )}
      {execution.policies.length === 0 ? null : (
        <Panel title="Policies that decided">
          <ul class="history">
            {execution.policies.map((policy) => (
              <li key={policy.id}>
                <Badge value={policy.effect} /> <PolicyName policy={policy} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <Instead execution={execution} />
      <Panel title="Timeline">
        {has('audit') ? (
          <Story subjectIds={decisionId === null ? [id] : [decisionId, id]} version={outcome} />
        ) : (
          <Needs scope="audit" label="Seeing the timeline" />
        )}
        {execution.failureReason === null ? null : (
          <p class="notice bad text">{revealedProse(execution.failureReason)}</p>
        )}
        {execution.result === null ? null : <Json value={execution.result} label="Result" />}
        <ReplacedValues value={execution.result} />
      </Panel>
    </div>
  );
}
