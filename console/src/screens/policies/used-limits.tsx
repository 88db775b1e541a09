import type { JSX } from 'preact';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Policy, UsedLimit } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { useFeed } from '../../api/use-feed.js';
import { counted, showInvisible } from '../../ui/format.js';
import { Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { At } from '../../ui/time.js';

/** Bars that are shown of a policy, the fullest. */
const MOST_BARS = 50;
/** Policies that an agent's page looks through, and the rows of each: those of other agents are among them. */
const MOST_POLICIES = 20;
const MOST_ROWS = 1_000;
const EVERY = 60_000;

/** What is used of the limits of a policy now. */
export function UsedOfPolicy({ policy }: { readonly policy: Policy }): JSX.Element {
  const { client } = useSession();
  const used = useLoad(
    (signal) =>
      client.get('/api/v1/policies/{id}/usage', { path: { id: policy.id }, query: { limit: MOST_BARS }, signal }),
    [client, policy.id],
  );
  useFeed(used.reload, ({ action }) => action === 'execution.authorized' || action === 'execution.resumed');
  return (
    <Panel title="Used of its limits">
      <When of={used} what="what is used">
        {({ data, total }) => (
          <>
            {total === 0 ? <p class="quiet">Nothing is used at present.</p> : null}
            <ul class="history">
              {data.map((one) => (
                <Bar key={`${one.limit} ${one.key ?? ''}`} policy={policy} of={one} />
              ))}
            </ul>
            {total > data.length ? <p class="quiet">And {counted(total - data.length, 'emptier one')}.</p> : null}
          </>
        )}
      </When>
    </Panel>
  );
}

interface AgentUseProps {
  readonly agentId: string;
  /** Those in force with limits that are about the agent. */
  readonly policies: readonly Policy[];
}

/** What an agent has used of the limits of policies, by itself or with others. */
export function UsedByAgent({ agentId, policies }: AgentUseProps): JSX.Element {
  const { patientClient, lookUps } = useSession();
  const asked = policies.slice(0, MOST_POLICIES);
  const used = useLoad(
    (signal) => {
      const query = { limit: MOST_ROWS };
      const load = async (policy: Policy): Promise<{ policy: Policy; own: UsedLimit[]; isWhole: boolean }> => {
        const found = await patientClient.get('/api/v1/policies/{id}/usage', {
          path: { id: policy.id },
          query,
          signal,
        });
        const own = found.data.filter(({ key }) => key === null || key === agentId);
        return { policy, own, isWhole: found.total === found.data.length };
      };
      return Promise.all(asked.map((policy) => lookUps.take(() => load(policy))));
    },
    [patientClient, agentId, asked.map(({ id }) => id).join(' ')],
  );
  useReloads(used, EVERY);
  return (
    <Panel title="Used of limits">
      <When of={used} what="what it has used">
        {(all) => (
          <>
            {all.every(({ own }) => own.length === 0) ? <p class="quiet">Nothing is used at present.</p> : null}
            <ul class="history">
              {all.flatMap(({ policy, own }) =>
                own.map((one) => <Bar key={`${policy.id} ${one.limit}`} policy={policy} of={one} isNamed />),
              )}
            </ul>
            {all.every(({ isWhole }) => isWhole) && policies.length === asked.length ? null : (
              <p class="notice warn">
                This covers {counted(MOST_POLICIES, 'policy', 'policies')} and, for each, the {MOST_ROWS} agents that
                have used most.
              </p>
            )}
          </>
        )}
      </When>
    </Panel>
  );
}

interface BarProps {
  readonly policy: Policy;
  readonly of: UsedLimit;
  /** Whether to say which policy's limit it is; otherwise, whose use. */
  readonly isNamed?: boolean;
}

function Bar({ policy, of: { limit, key, used, max, resetsAt }, isNamed = false }: BarProps): JSX.Element {
  const nameOf = useNames();
  const { of = null, per } = policy.limits[limit] ?? {};
  // The bar is about as long as that; the amounts next to it are exact.
  const share = Number(max) === 0 ? 1 : Math.min(1, Number(used) / Number(max));
  const who = key === null ? 'all agents together' : nameOf(key);
  const text = `${used} of ${max}`;
  return (
    <li class="used">
      <meter {...{ min: 0, max: 1, low: 0.8, high: 0.99, optimum: 0, value: share }} aria-label={`${text}, ${who}`} />
      <strong>{text}</strong>
      <span>
        {of === null ? 'executions' : <code>{showInvisible(of)}</code>} a {per}
      </span>
      {isNamed ? <PolicyName policy={policy} /> : <bdi>{who}</bdi>}
      {isNamed && key === null ? <span>{who}</span> : null}
      <small>
        resets <At at={resetsAt} />
      </small>
    </li>
  );
}
