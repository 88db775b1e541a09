import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Policy } from '../../api/types.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { useDrafts } from '../../ui/drafts.js';
import { countText, showInvisible, revealedProse } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { ListEnd, PAGE } from '../../ui/list-end.js';
import { Badge, Empty, Panel, Problem, When } from '../../ui/parts.js';
import { TeamChoice } from '../../ui/team-choice.js';
import { Draft, NEW_POLICY } from './draft.js';

const DRAFT = 'policies';

/** The policies in force, or all versions. */
export function Policies(): JSX.Element {
  const { client, has } = useSession();
  const [all, setAll] = useState(false);
  const [team, setTeam] = useState('');
  const [limit, setLimit] = useState(PAGE);
  const mayWrite = has('policies');
  const draft = useDisclosure(useDrafts().get(DRAFT) !== null);
  const list = useLoad(
    (signal) => {
      const ofTeam = team === '' ? {} : { team };
      const query = all ? { limit, ...ofTeam } : { limit, status: 'active' as const, ...ofTeam };
      return client.get('/api/v1/policies', { query: { ...query, order: 'desc' }, signal });
    },
    [client, all, team],
    limit,
  );
  // A plan without changes shows which policies are already shadowed.
  const policiesLoad = useLoad(
    (signal) => client.post('/api/v1/policies/plan', { body: { policies: [] }, signal }),
    [client],
  );
  const refresh = (): void => {
    list.reload();
    policiesLoad.reload();
  };
  useFeed(refresh, ({ action }) => action.startsWith('policy.'));
  const shadows = new Map(policiesLoad.data?.shadowed.map(({ policy, by }) => [policy.id, by]));

  return (
    <>
      <header class="screen-head">
        <h1>Policies</h1>
        <TeamChoice team={team} onChange={setTeam} />
        <label class="inline">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> All versions
        </label>
        {mayWrite ? (
          <button type="button" {...draft.button}>
            New policy
          </button>
        ) : null}
      </header>
      {mayWrite && draft.isOpen ? (
        <Draft
          place={DRAFT}
          initial={NEW_POLICY}
          onDone={() => {
            draft.close();
            refresh();
          }}
        />
      ) : null}
      <When load={list} label="the policies">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="No policy is in force.">
              <p>
                Without a policy that allows it, every request is denied (unless the service is set to allow by
                default).
              </p>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map((policy) => (
                  <Row key={policy.id} policy={policy} shadowedBy={shadows.get(policy.id)?.name ?? null} />
                ))}
              </ul>
              <ListEnd
                count={data.length}
                total={total}
                text={countText(total, 'policy', 'policies')}
                limit={limit}
                setLimit={setLimit}
              />
            </>
          )
        }
      </When>
      {policiesLoad.error === null ? null : (
        <>
          <p class="quiet total">Which policies never decide is not shown, since it could not be computed:</p>
          <Problem error={policiesLoad.error} retry={policiesLoad.reload} />
        </>
      )}
      {policiesLoad.data === null || policiesLoad.data.warnings.length === 0 ? null : (
        <Panel title="Warnings">
          <ul>
            {policiesLoad.data.warnings.map((warning) => (
              <li key={warning}>{showInvisible(warning)}</li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

interface RowProps {
  readonly policy: Policy;
  /** The policy that always takes precedence over this one. */
  readonly shadowedBy: string | null;
}

function Row({ policy, shadowedBy }: RowProps): JSX.Element {
  const { id, name, version, effect, status, description, actions, subjects, warnings, team } = policy;
  return (
    <li>
      <Link to={`policies/${id}`} class="row">
        <Badge value={effect} />
        <span class="row-what">
          <strong>
            <bdi>{showInvisible(name)}</bdi> <small>{showInvisible(version)}</small>
          </strong>
          <span class="row-who">
            {revealedProse(description === '' ? `${actions.join(', ')} by ${subjects.join(', ')}` : description)}
          </span>
        </span>
        <span class="row-state">
          {team === null ? null : <span>team {showInvisible(team)}</span>}
          <span>{status === 'active' ? 'in force' : 'not in force'}</span>
          {shadowedBy === null ? null : (
            <span class="urgent">never decides: shadowed by {showInvisible(shadowedBy)}</span>
          )}
          {warnings.length === 0 ? null : <span class="urgent">{countText(warnings.length, 'warning')}</span>}
        </span>
      </Link>
    </li>
  );
}
