import type { JSX } from 'preact';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Policy } from '../../api/types.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { useDrafts } from '../../ui/drafts.js';
import { countText, showInvisible, revealedProse } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { Draft } from './draft.js';
import { UsedOfPolicy } from './used-limits.js';

/** One policy and the other versions of its name. */
export function PolicyScreen({ id }: { readonly id: string }): JSX.Element {
  const { client } = useSession();
  const policyLoad = useLoad(
    async (signal) => {
      const policy = await client.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal });
      const query = { name: policy.name, limit: 1_000, order: 'desc' } as const;
      return { policy, versions: await client.get('/api/v1/policies', { query, signal }) };
    },
    [client, id],
  );
  useFeed(policyLoad.reload, ({ action }) => action.startsWith('policy.'));
  return (
    <>
      <Link to="policies" class="back">
        ← Policies
      </Link>
      <When load={policyLoad} label="the policy">
        {({ policy, versions }) => <View policy={policy} versions={versions} reload={policyLoad.reload} />}
      </When>
    </>
  );
}

interface ViewProps {
  readonly policy: Policy;
  readonly versions: { readonly data: readonly Policy[]; readonly total: number };
  readonly reload: () => void;
}

function View({ policy, versions, reload }: ViewProps): JSX.Element {
  const { has } = useSession();
  const place = `policies/${policy.id}`;
  const mayWrite = has('policies');
  const draft = useDisclosure(useDrafts().get(place) !== null);
  const { name, version, description, effect, status, warnings } = policy;
  return (
    <div class="decision">
      <header>
        <h1>
          <bdi>{showInvisible(name)}</bdi> <span class="quiet">{showInvisible(version)}</span>
        </h1>
        <p class="facts">
          <Badge value={effect} />
          <span>{status === 'active' ? 'in force' : 'not in force'}</span>
          <span>
            since <LocalTime iso={policy.createdAt} />
          </span>
        </p>
      </header>
      {warnings.map((warning) => (
        <p key={warning} class="notice warn">
          {showInvisible(warning)}
        </p>
      ))}
      <Panel title="The policy">
        {description === '' ? null : <p class="text">{revealedProse(description)}</p>}
        <Json value={bodyOf(policy)} label="Policy as JSON" />
      </Panel>
      {policy.limits.length === 0 ? null : <UsedOfPolicy policy={policy} />}
      <Panel title="Versions">
        <ul class="history">
          {versions.data.map((version) => (
            <li key={version.id}>
              <Link to={`policies/${version.id}`} current={version.id === policy.id}>
                {showInvisible(version.version)}
              </Link>
              <Badge value={version.status} text={version.status === 'active' ? 'in force' : 'not in force'} />
              <LocalTime iso={version.createdAt} />
            </li>
          ))}
        </ul>
        {versions.total > versions.data.length ? (
          <p class="quiet">And {countText(versions.total - versions.data.length, 'older version')}.</p>
        ) : null}
      </Panel>
      {mayWrite ? (
        <p>
          <button type="button" {...draft.button}>
            Write a new version
          </button>
        </p>
      ) : (
        <Needs scope="policies" label="Writing a new version" />
      )}
      {mayWrite && draft.isOpen ? (
        <Draft
          place={place}
          initial={nextVersion(policy)}
          onDone={() => {
            draft.close();
            reload();
          }}
        />
      ) : null}
    </div>
  );
}

/** The members of a policy that `POST /policies` accepts. */
function bodyOf(policy: Policy): object {
  const { name, version, description, effect, subjects, actions, resources, resourceTypes, priority } = policy;
  const { conditions, limits, onBehalfOf, approval, team } = policy;
  const body = {
    name,
    version,
    description,
    effect,
    subjects,
    actions,
    resources,
    resourceTypes,
    priority,
    conditions,
    ...(limits.length > 0 && { limits }),
    ...(onBehalfOf !== null && { onBehalfOf }),
    ...(team !== null && { team }),
  };
  return approval === null ? body : { ...body, approval };
}

/** The same policy with the next version number, as a starting point. */
function nextVersion(policy: Policy): object {
  const version = policy.version.replace(/\d+$/, (number) => String(Number(number) + 1));
  return { ...bodyOf(policy), version: version === policy.version ? `${version}.1` : version };
}
