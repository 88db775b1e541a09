import type { JSX } from 'preact';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Policy, UsedLimit } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { useFeed } from '../../api/use-feed.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { LocalTime } from '../../ui/time.js';

/** Maximum number of bars that are shown for a policy: the fullest. */
const MAX_BARS = 50;
/**
 * Maximum number of policies that an agent's page loads, and of rows of each. The rows include those of other agents.
 */
const MAX_POLICIES = 20;
const MAX_ROWS = 1_000;
const EVERY = 60_000;

/** The present use of the limits of a policy. */
export function UsedOfPolicy({ policy }: { readonly policy: Policy }): JSX.Element {
  const { client } = useSession();
  const usageLoad = useLoad(
    (signal) =>
      client.get('/api/v1/policies/{id}/usage', { path: { id: policy.id }, query: { limit: MAX_BARS }, signal }),
    [client, policy.id],
  );
  useFeed(usageLoad.reload, ({ action }) => action === 'execution.authorized' || action === 'execution.resumed');
  return (
    <Panel title="Used of its limits">
      <When load={usageLoad} label="what is used">
        {({ data, total }) => (
          <>
            {total === 0 ? <p class="quiet">Nothing is used at present.</p> : null}
            <ul class="history">
              {data.map((limit) => (
                <Bar key={`${limit.limit} ${limit.key ?? ''}`} policy={policy} usedLimit={limit} />
              ))}
            </ul>
            {total > data.length ? <p class="quiet">And {countText(total - data.length, 'emptier one')}.</p> : null}
          </>
        )}
      </When>
    </Panel>
  );
}

interface AgentUseProps {
  readonly agentId: string;
  /** The policies in force whose limits apply to the agent. */
  readonly policies: readonly Policy[];
}

/** The use of limits of policies by an agent, alone or together with others. */
export function UsedByAgent({ agentId, policies }: AgentUseProps): JSX.Element {
  const { patientClient, lookUps } = useSession();
  const checkedPolicies = policies.slice(0, MAX_POLICIES);
  const usageLoad = useLoad(
    (signal) => {
      const query = { limit: MAX_ROWS };
      const load = async (policy: Policy): Promise<{ policy: Policy; own: UsedLimit[]; isWhole: boolean }> => {
        const page = await patientClient.get('/api/v1/policies/{id}/usage', {
          path: { id: policy.id },
          query,
          signal,
        });
        const own = page.data.filter(({ key }) => key === null || key === agentId);
        return { policy, own, isWhole: page.total === page.data.length };
      };
      return Promise.all(checkedPolicies.map((policy) => lookUps.take(() => load(policy))));
    },
    [patientClient, agentId, checkedPolicies.map(({ id }) => id).join(' ')],
  );
  useReloads(usageLoad, EVERY);
  return (
    <Panel title="Used of limits">
      <When load={usageLoad} label="what it has used">
        {(all) => (
          <>
            {all.every(({ own }) => own.length === 0) ? <p class="quiet">Nothing is used at present.</p> : null}
            <ul class="history">
              {all.flatMap(({ policy, own }) =>
                own.map((limit) => (
                  <Bar key={`${policy.id} ${limit.limit}`} policy={policy} usedLimit={limit} isNamed />
                )),
              )}
            </ul>
            {all.every(({ isWhole }) => isWhole) && policies.length === checkedPolicies.length ? null : (
              <p class="notice warn">
                This covers {countText(MAX_POLICIES, 'policy', 'policies')} and, for each, the {MAX_ROWS} agents that
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
  readonly usedLimit: UsedLimit;
  /** True to name the policy of the limit; otherwise the user of the limit is named. */
  readonly isNamed?: boolean;
}

function Bar({
  policy,
  usedLimit: { limit, key, used: usageLoad, max, resetsAt },
  isNamed = false,
}: BarProps): JSX.Element {
  const nameOf = useNames();
  const { of = null, per, zone, by } = policy.limits[limit] ?? {};
  // The length of the bar is rounded; the amounts next to it are exact.
  const share = Number(max) === 0 ? 1 : Math.min(1, Number(usageLoad) / Number(max));
  const userText = key === null ? 'all agents together' : by === 'request' ? 'equal requests' : nameOf(key);
  const text = `${usageLoad} of ${max}`;
  return (
    <li class="used">
      <meter
        {...{ min: 0, max: 1, low: 0.8, high: 0.99, optimum: 0, value: share }}
        aria-label={`${text}, ${userText}`}
      />
      <strong>{text}</strong>
      <span>
        {of === null ? 'executions' : <code>{showInvisible(of)}</code>} a {per}
        {zone === undefined ? '' : ` in ${zone}`}
      </span>
      {isNamed ? <PolicyName policy={policy} /> : <bdi>{userText}</bdi>}
      {isNamed && key === null ? <span>{userText}</span> : null}
      <small>
        resets <LocalTime iso={resetsAt} />
      </small>
    </li>
  );
}
