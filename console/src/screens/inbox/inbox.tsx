import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { later } from '../../app/later.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Decision } from '../../api/types.js';
import { focusScreen } from '../../ui/focus.js';
import { numberText } from '../../ui/format.js';
import { Empty, When } from '../../ui/parts.js';
import { useCreationHere } from './creation.js';
import { EVERYTHING, Filters, type InboxFilter, isFiltered, matches } from './filters.js';
import { Groups } from './group-list.js';
import { groupsOf, isSelectable } from './groups.js';
import { Rows } from './rows.js';
import { SelectBox, SelectionBar, type Verdict } from './selection.js';
import { type PendingPages, useWaitingList } from './waiting.js';
import { Welcome } from './welcome.js';

const Review = later(async () => (await import('../../app/later-screens.js')).LATER_SCREENS.Review);

/** The pending decisions, or the review of the selected ones. */
export function Inbox(): JSX.Element {
  const { pending, executions, selection } = useWaitingList();
  const { verdict } = selection;
  const [filter, setFilter] = useState(EVERYTHING);
  /** The results of the last review. */
  const [outcome, setOutcome] = useState<JSX.Element | null>(null);
  const lastVerdict = useRef(verdict);
  useEffect(() => {
    if (lastVerdict.current === null && verdict === null) return;
    lastVerdict.current = verdict;
    // The button that had the focus is gone.
    scrollTo(0, 0);
    focusScreen();
  }, [verdict]);
  const review = (next: Verdict | null): void => {
    setOutcome(null);
    selection.review(next);
  };
  const end = (reviewed: readonly Decision[], results: JSX.Element): void => {
    selection.select(reviewed, false);
    review(null);
    setOutcome(results);
  };
  if (verdict === null)
    return (
      <>
        {outcome}
        <List filter={filter} setFilter={setFilter} onReview={review} />
      </>
    );
  return (
    <When load={pending} label="the inbox">
      {({ mine }) => (
        <Review
          {...{ verdict, executions }}
          decisions={groupsOf(mine?.data ?? [], executions)
            .flatMap(({ decisions }) => decisions)
            .filter((decision) => selection.ids.has(decision.id) && isSelectable(decision))}
          onLeave={() => review(null)}
          onEnd={end}
        />
      )}
    </When>
  );
}

interface ListProps {
  readonly filter: InboxFilter;
  readonly setFilter: (filter: InboxFilter) => void;
  readonly onReview: (verdict: Verdict) => void;
}

/** The decisions that wait for the person, then those that wait for others. */
function List({ filter, setFilter, onReview }: ListProps): JSX.Element {
  const { pending, executions, order, sort, canShowMore, isCut, showMore, showMost } = useWaitingList();
  const creation = useCreationHere();
  const isQuiet = pending.data?.all.total === 0;
  const isEmpty = useIsEmpty(isQuiet);
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
      <When load={pending} label="the inbox">
        {(data) => <Lists data={data} filter={filter} onReview={onReview} />}
      </When>
      {canShowMore ? (
        <button type="button" class="more" onClick={showMore}>
          Show more
        </button>
      ) : isCut ? (
        <p class="quiet total">
          More are pending than fit on this page, and filters look only through these. Decide some of these, or change
          the order to begin at the other end.
        </p>
      ) : null}
    </>
  );
}

/** True if the service has no records at all; checked only if nothing is pending. */
function useIsEmpty(isQuiet: boolean): boolean {
  const { client, has } = useSession();
  const searchLoad = useLoad(
    async (signal) => (isQuiet && has('read') ? client.get('/api/v1/stats', { signal }) : null),
    [client, isQuiet],
  );
  if (searchLoad.data === null) return false;
  const { entities, claims, agents, decisions, policies } = searchLoad.data;
  return entities + claims + agents + decisions + policies === 0;
}

interface ListsProps extends Pick<ListProps, 'filter' | 'onReview'> {
  readonly data: PendingPages;
}

function Lists({ data: { mine, all }, filter, onReview }: ListsProps): JSX.Element {
  const { executions } = useWaitingList();
  const nameOf = useNames();
  const shows = (decision: Decision): boolean =>
    matches(filter, decision, executions.get(decision.id), nameOf(decision.proposedBy));
  const ids = new Set(mine?.data.map(({ id }) => id));
  const otherDecisions = all.data.filter((decision) => !ids.has(decision.id) && shows(decision));
  const otherCount = isFiltered(filter) ? otherDecisions.length : all.total - (mine?.total ?? 0);
  return (
    <>
      {mine === null ? null : (
        <Mine mine={mine} visible={mine.data.filter(shows)} isFiltered={isFiltered(filter)} onReview={onReview} />
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
            <Rows decisions={otherDecisions} executions={executions} selection={null} />
          )}
        </section>
      )}
    </>
  );
}

interface MineProps extends Pick<ListProps, 'onReview'> {
  readonly mine: PendingPages['all'];
  /** The decisions that the filter shows. */
  readonly visible: readonly Decision[];
  readonly isFiltered: boolean;
}

function Mine({ mine, visible, isFiltered: hasFilter, onReview }: MineProps): JSX.Element {
  const { executions, selection } = useWaitingList();
  const selected = mine.data.filter((decision) => selection.ids.has(decision.id) && isSelectable(decision));
  const visibleIds = new Set(visible.map(({ id }) => id));
  const count = hasFilter ? visible.length : mine.total;
  return (
    <section aria-label="Waiting for you">
      <h2 class="list-head">Waiting for you {count === 0 ? null : <span>{numberText(count)}</span>}</h2>
      {mine.total === 0 ? (
        <Empty title="Nothing is waiting for you.">
          <p>When an agent requests something that you can approve, it appears here.</p>
        </Empty>
      ) : (
        <>
          {visible.length < 2 ? null : <SelectBox decisions={visible} selection={selection} />}
          <Groups
            key={hasFilter}
            decisions={visible}
            executions={executions}
            selection={selection}
            areOpen={hasFilter}
          />
        </>
      )}
      {selected.length === 0 ? null : (
        <SelectionBar
          count={selected.length}
          hiddenCount={selected.filter(({ id }) => !visibleIds.has(id)).length}
          onReview={onReview}
          onClear={() => selection.select(selected, false)}
        />
      )}
    </section>
  );
}
