import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Access } from '../../api/types.js';
import { countText, listText, showInvisible } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { regionText, Verdict } from '../policies/plan.js';

type Region = Access['allowed'][number];
type AccessPolicy = NonNullable<Region['because']['to']>[number];

/** Shows what one agent may do, now or at an earlier time, and what has changed since another. */
export function AccessScreen({ id }: { readonly id: string }): JSX.Element {
  const { slowClient } = useSession();
  const nameOf = useNames();
  const [asOf, setAsOf] = useState('');
  const [since, setSince] = useState('');
  const query = { ...(asOf !== '' && { asOf }), ...(since !== '' && { since }) };
  const access = useLoad(
    (signal) => slowClient.get('/api/v1/agents/{id}/access', { path: { id }, query, signal }),
    [slowClient, id, asOf, since],
  );
  useFeed(access.reload, ({ action, subjectId }) => subjectId === id || /^(?:policy|stop)\./.test(action));
  return (
    <>
      <Link to="access" class="back">
        ← Access
      </Link>
      <header class="screen-head">
        <h1>
          Access of <bdi>{nameOf(id)}</bdi>
        </h1>
        <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Time">
          <label>
            As of <small>(UTC)</small>
            <input type="date" value={asOf} onInput={(event) => setAsOf(event.currentTarget.value)} />
          </label>
          <label>
            Changes since <small>(UTC)</small>
            <input type="date" value={since} onInput={(event) => setSince(event.currentTarget.value)} />
          </label>
        </form>
      </header>
      <When load={access} label="what it may do">
        {(data) => <View access={data} isNow={asOf === ''} reload={access.reload} />}
      </When>
    </>
  );
}

interface ViewProps {
  readonly access: Access;
  readonly isNow: boolean;
  readonly reload: () => void;
}

function View({ access, isNow, reload }: ViewProps): JSX.Element {
  const { agentId, allowed, withApproval, complete, reason, changes } = access;
  return (
    <div class="decision">
      {reason === undefined ? null : <p class="notice warn">{complete ? reason : `This is incomplete: ${reason}`}</p>}
      <Regions title="By itself" regions={allowed} none="It may do nothing by itself." />
      <Regions title="Once somebody approves it" regions={withApproval} none="No policy asks for an approval." />
      {changes === undefined ? null : <Changes changes={changes} />}
      <Beside access={access} />
      <p>
        <Link to={`agents/${agentId}`}>The agent</Link>
      </p>
      {isNow ? <Review access={access} onDone={reload} /> : null}
    </div>
  );
}

interface RegionsProps {
  readonly title: string;
  readonly regions: readonly Region[];
  readonly none: string;
}

function Regions({ title, regions, none }: RegionsProps): JSX.Element {
  return (
    <Panel title={title}>
      {regions.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <ul class="effects">
          {regions.map((region, index) => (
            <li key={index}>
              <Verdict outcome={region.to} />
              <p>{regionText(region)}</p>
              {region.because.to === null ? (
                <small>no policy: the default effect allows it</small>
              ) : (
                region.because.to.map((policy) => <PolicyFacts key={policy.id} policy={policy} />)
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** A policy, with what it depends on. */
function PolicyFacts({ policy }: { readonly policy: AccessPolicy }): JSX.Element {
  const { id, name, version, conditions, limits, onBehalfOf } = policy;
  const texts = [
    ...conditions.map((condition) => `where ${jsonText(condition, 0)}`),
    ...limits.map(({ max, of, per, by }) => `at most ${max} ${of ?? 'executions'} a ${per}, by ${by}`),
    ...(onBehalfOf === null ? [] : [`on behalf of ${listText(onBehalfOf, 'or')}`]),
  ];
  return (
    <p>
      <Link to={`policies/${id}`}>{showInvisible(`${name} ${version}`)}</Link>
      {texts.length === 0 ? null : <small> {showInvisible(texts.join('; '))}</small>}
    </p>
  );
}

function Changes({ changes }: { readonly changes: NonNullable<Access['changes']> }): JSX.Element {
  return (
    <Panel title="What has come and gone">
      {changes.length === 0 ? <p class="quiet">Nothing.</p> : null}
      <ul class="effects">
        {changes.map((change, index) => (
          <li key={index}>
            <Verdict outcome={change.from} /> → <Verdict outcome={change.to} />
            <p>{regionText(change)}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The facts that change no region: stops, grants and the observation. */
function Beside({ access: { agentId, stops, grants, observeUntil } }: { readonly access: Access }): JSX.Element | null {
  if (stops.length + grants.length === 0 && observeUntil === null) return null;
  return (
    <Panel title="Beside the policies">
      {stops.map(({ id, reason }) => (
        <p key={id} class="notice bad">
          Stopped: {showInvisible(reason)}
        </p>
      ))}
      {grants.length === 0 ? null : (
        <p>
          <Link to="grants">{countText(grants.length, 'grant')}</Link> in force:{' '}
          {listText([...new Set(grants.map(({ action }) => showInvisible(action)))], 'and')}
        </p>
      )}
      {observeUntil === null ? null : (
        <p>
          <Badge value="suspended" text="observed" /> until <LocalTime iso={observeUntil} />: what no policy allows is
          let through, and noted. <Link to={`agents/${agentId}`}>End it</Link>
        </p>
      )}
    </Panel>
  );
}

/** Says who reviewed it last, and lets a person put on record that they have seen it. */
function Review({ access, onDone }: { readonly access: Access; readonly onDone: () => void }): JSX.Element {
  const { client, me, has } = useSession();
  const nameOf = useNames();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { agentId, rules, revision, reviewedBy, reviewedAt } = access;
  const mayReview = has('review') && me.agentId !== null && me.agentId !== agentId;
  const review = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await client.post('/api/v1/agents/{id}/access/review', { path: { id: agentId }, body: { rules, revision } });
      onDone();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <Panel title="Review">
      {reviewedBy === null || reviewedAt === null ? (
        <p>Nobody has reviewed this.</p>
      ) : (
        <p>
          Last reviewed by <bdi>{nameOf(reviewedBy)}</bdi>, <LocalTime iso={reviewedAt} />
        </p>
      )}
      {mayReview ? (
        <button type="button" class="primary" disabled={busy} onClick={() => void review()}>
          I have seen what it may do
        </button>
      ) : (
        <p class="quiet">
          A person with `review` other than the agent itself can put on record that they have seen this.
        </p>
      )}
      {error === null ? null : <Problem error={error} />}
    </Panel>
  );
}
