import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Decision, Execution } from '../../api/types.js';
import { counted, numberText, showInvisible } from '../../ui/format.js';
import { Json, jsonText } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Empty, When } from '../../ui/parts.js';
import { Ago, Left } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { useCreationHere } from './creation.js';
import { EVERYTHING, Filters, type InboxFilter, isFiltered, matches } from './filters.js';
import { needsText, principalText, whyNotMine } from './needs.js';
import { runsOf, Together } from './together.js';
import { Welcome } from './welcome.js';
import { type Pending, useExecutions, useWaitingHere } from './waiting.js';

/** The decisions that wait for the person, then those that wait for others. */
export function Inbox(): JSX.Element {
  const { pending, order, sort, canShowMore, isCut, showMore, showMost } = useWaitingHere();
  const creation = useCreationHere();
  const isQuiet = pending.data?.all.total === 0;
  const isEmpty = useIsEmpty(isQuiet);
  const [filter, setFilter] = useState(EVERYTHING);
  const executions = useExecutions(pending, order);
  const actions = [...new Set([...executions.values()].map(({ action }) => action))].sort();
  return (
    <>
      <header class="screen-head">
        <h1>Inbox</h1>
        <label class="inline">
          Order{' '}
          <select value={order} onChange={(event) => sort(event.currentTarget.value === 'asc' ? 'asc' : 'desc')}>
            <option value="desc">Newest first</option>
            <option value="asc">Oldest first</option>
          </select>
        </label>
      </header>
      {/* The first records end the emptiness; progress and errors are shown nevertheless. */}
      {isEmpty || creation.part !== null || creation.error !== null ? <Welcome creation={creation} /> : null}
      {isQuiet ? null : (
        <Filters
          filter={filter}
          actions={actions}
          onChange={(now) => {
            setFilter(now);
            if (isFiltered(now)) showMost();
          }}
        />
      )}
      <When of={pending} what="the inbox">
        {(data) => <Lists data={data} executions={executions} filter={filter} />}
      </When>
      {canShowMore ? (
        <button type="button" class="more" onClick={showMore}>
          Show more
        </button>
      ) : isCut ? (
        <p class="quiet total">
          More are pending than fit on this page. Decide some of these, or change the order to begin at the other end.
        </p>
      ) : null}
    </>
  );
}

/** Whether the service has no records at all; checked only if nothing is pending. */
function useIsEmpty(isQuiet: boolean): boolean {
  const { client, has } = useSession();
  const found = useLoad(
    async (signal) => (isQuiet && has('read') ? client.get('/api/v1/stats', { signal }) : null),
    [client, isQuiet],
  );
  if (found.data === null) return false;
  const { entities, claims, agents, decisions, policies } = found.data;
  return entities + claims + agents + decisions + policies === 0;
}

/** By the ids of their decisions. */
type Executions = ReadonlyMap<string, Execution>;

interface ListsProps {
  readonly data: Pending;
  readonly executions: Executions;
  readonly filter: InboxFilter;
}

function Lists({ data: { mine, all }, executions, filter }: ListsProps): JSX.Element {
  const nameOf = useNames();
  const shows = (decision: Decision): boolean =>
    matches(filter, decision, executions.get(decision.id), nameOf(decision.proposedBy));
  const ids = new Set(mine?.data.map(({ id }) => id));
  const mineShown = mine?.data.filter(shows) ?? [];
  const runs = runsOf(mineShown, executions);
  const inRuns = new Set([...runs.values()].flat());
  const single = mineShown.filter((decision) => !inRuns.has(decision));
  const others = all.data.filter((decision) => !ids.has(decision.id) && shows(decision));
  const otherCount = isFiltered(filter) ? others.length : all.total - (mine?.total ?? 0);
  const mineCount = isFiltered(filter) ? mineShown.length : (mine?.total ?? 0);
  return (
    <>
      {mine === null ? null : (
        <section aria-label="Waiting for you">
          <h2 class="list-head">Waiting for you {mineCount === 0 ? null : <span>{numberText(mineCount)}</span>}</h2>
          <Together runs={runs}>
            {(decisions) => <Rows decisions={decisions} executions={executions} isMine areWhole />}
          </Together>
          {mine.total === 0 ? (
            <Empty title="Nothing is waiting for you.">
              <p>When an agent requests something that you can approve, it appears here.</p>
            </Empty>
          ) : single.length === 0 && runs.size > 0 ? null : (
            <Rows decisions={single} executions={executions} isMine />
          )}
        </section>
      )}
      {mine !== null && all.total <= mine.total ? null : (
        <section aria-label="Waiting for others">
          <h2 class="list-head">
            {mine === null ? 'Pending' : 'Waiting for others'}{' '}
            {otherCount <= 0 ? null : <span>{numberText(otherCount)}</span>}
          </h2>
          {all.total === 0 ? (
            <Empty title="Nothing is pending.">
              <p>Requests that need approval appear here.</p>
            </Empty>
          ) : (
            <Rows decisions={others} executions={executions} isMine={false} />
          )}
        </section>
      )}
    </>
  );
}

interface RowsProps {
  readonly decisions: readonly Decision[];
  readonly executions: Executions;
  readonly isMine: boolean;
  /** Whether arguments are shown whole, below each row. */
  readonly areWhole?: boolean;
}

function Rows({ decisions, executions, isMine, areWhole = false }: RowsProps): JSX.Element {
  if (decisions.length === 0) return <p class="quiet">Nothing here matches.</p>;
  return (
    <ul class="rows">
      {decisions.map((decision) => (
        <Row key={decision.id} {...{ decision, isMine, areWhole }} execution={executions.get(decision.id)} />
      ))}
    </ul>
  );
}

interface RowProps {
  readonly decision: Decision;
  readonly execution: Execution | undefined;
  readonly isMine: boolean;
  readonly areWhole: boolean;
}

/** Characters of parameters in a row. */
const LONGEST_PARAMETERS = 200;

function parametersText({ parameters }: Execution): string {
  const text = jsonText(parameters, 0);
  return text.length > LONGEST_PARAMETERS ? `${text.slice(0, LONGEST_PARAMETERS)}… (open it to see all)` : text;
}

function Row({ decision, execution, isMine, areWhole }: RowProps): JSX.Element {
  const { me } = useSession();
  const nameOf = useNames();
  const { id, title, proposedBy, riskLevel, createdAt, expiresAt, reviews, executionId, onBehalfOf } = decision;
  const agent = nameOf(proposedBy);
  const shown = showInvisible(title);
  const short = shown.startsWith(`${agent}: `) ? shown.slice(agent.length + 2) : shown;
  const whole = areWhole ? execution : undefined;
  // A long title is cut.
  const what = whole ? showInvisible(`${whole.action} on ${whole.resourceType}/${whole.resourceId}`) : short;
  return (
    <li>
      <Link to={`decisions/${id}`} class="row">
        <Badge value={riskLevel} text={`${riskLevel} risk`} />
        <span class="row-what">
          <strong>
            <bdi class={executionId === null ? undefined : 'exact'}>
              <WithNames of={what} />
            </bdi>
          </strong>
          {execution === undefined || areWhole ? null : <code>{parametersText(execution)}</code>}
          <span class="row-who">
            requested by <bdi>{agent}</bdi> <Ago at={createdAt} />
            {onBehalfOf ? ` on behalf of ${principalText(onBehalfOf, nameOf)}` : ''}
          </span>
        </span>
        <span class="row-state">
          <span>{needsText(decision)}</span>
          <span class="row-who">
            {isMine ? 'you can approve it' : whyNotMine(decision, me)}
            {reviews.length === 0 ? '' : ` · ${counted(reviews.length, 'review')}`}
            {expiresAt === null ? null : (
              <>
                {' · '}
                <Left until={expiresAt} />
              </>
            )}
          </span>
        </span>
      </Link>
      {whole ? <Json value={whole.parameters} label={`Arguments of ${what}`} /> : null}
    </li>
  );
}
