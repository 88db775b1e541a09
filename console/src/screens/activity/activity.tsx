import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { AuditEntry } from '../../api/types.js';
import { words } from '../../ui/format.js';
import { Badge, Empty, Problem, When } from '../../ui/parts.js';
import { Link } from '../../ui/link.js';
import { At } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { useQuery } from '../../app/router.js';
import { type ActivityFilter, filterIn, Filters, matches } from './filters.js';
import { aboutText, actorText, sentence, subjectLink } from './sentences.js';

const PAGE = 50;
/** With more new entries than this, the list starts again from its first page. */
const MOST_FRESH = 500;

/** The audit trail as it is written, newest first. */
export function Activity(): JSX.Element {
  const query = useQuery();
  return <Filtered key={query.toString()} initial={filterIn(query)} />;
}

function Filtered({ initial }: { readonly initial: ActivityFilter }): JSX.Element {
  const [filter, setFilter] = useState(initial);
  return (
    <>
      <header class="screen-head">
        <h1>Activity</h1>
      </header>
      <Filters filter={filter} onChange={setFilter} />
      <Trail key={JSON.stringify(filter)} filter={filter} />
    </>
  );
}

interface Older {
  readonly data: readonly AuditEntry[];
  readonly cursor: string | undefined;
}

function Trail({ filter }: { readonly filter: ActivityFilter }): JSX.Element {
  const { client, feed } = useSession();
  /** Entries that match, since the first page was read. */
  const [fresh, setFresh] = useState<readonly AuditEntry[]>([]);
  const [older, setOlder] = useState<Older | null>(null);
  const [error, setError] = useState<unknown>(null);
  const first = useLoad(
    async (signal) => {
      const page = await client.get('/api/v1/audit', { query: { ...filter, limit: PAGE, order: 'desc' }, signal });
      const newest = page.data[0]?.sequence ?? 0;
      setFresh((now) => now.filter(({ sequence }) => sequence > newest));
      setOlder(null);
      return page;
    },
    [client],
  );
  // The filter may be a name, but entries have ids: the first entry found has the agent's.
  const agentId = first.data?.data[0]?.agentId ?? null;
  const isAgentUnknown = filter.agentId !== undefined && agentId === null;
  const isMatch = useRef((entry: AuditEntry) => matches(entry, filter, agentId));
  isMatch.current = (entry) => matches(entry, filter, agentId);
  useLayoutEffect(
    () =>
      feed.listen((entry) => {
        if (entry !== null && isMatch.current(entry)) setFresh((now) => [entry, ...now]);
      }),
    [feed],
  );
  // This also reloads after the page was hidden, since entries may be missing in between.
  useFeed(first.reload, () => isAgentUnknown || first.error !== null);
  useEffect(() => {
    // After an error the feed decides when to try again.
    if (fresh.length > MOST_FRESH && !first.loading && first.error === null) first.reload();
  }, [fresh.length, first.loading, first.error, first.reload]);

  const cursor = older === null ? first.data?.nextCursor : older.cursor;
  const current = useRef(cursor);
  current.current = cursor;
  const showOlder = async (from: string): Promise<void> => {
    setError(null);
    try {
      const page = await client.get('/api/v1/audit', { query: { cursor: from, limit: PAGE } });
      // The list may have started again in the meantime.
      if (current.current !== from) return;
      setOlder((now) => ({ data: [...(now?.data ?? []), ...page.data], cursor: page.nextCursor }));
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <When of={first} what="the trail">
      {({ data }) => (
        <>
          <Entries entries={distinct([...fresh, ...data, ...(older?.data ?? [])])} />
          {error === null ? null : <Problem error={error} />}
          {cursor === undefined ? null : (
            <button type="button" class="more" onClick={() => void showOlder(cursor)}>
              Show older
            </button>
          )}
        </>
      )}
    </When>
  );
}

/** An entry from the stream may also be on the first page. */
function distinct(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const bySequence = new Map(entries.map((entry) => [entry.sequence, entry]));
  return [...bySequence.values()].sort((one, other) => other.sequence - one.sequence);
}

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }): JSX.Element {
  const nameOf = useNames();
  if (entries.length === 0) {
    return (
      <Empty title="Nothing matches.">
        <p>What agents and people do appears here as it happens. An agent is found by its exact name.</p>
      </Empty>
    );
  }
  return (
    <ol class="rows trail">
      {entries.map((entry) => (
        <li key={entry.id}>
          <At at={entry.timestamp} />
          <span>
            <strong>{sentence(entry)}</strong>{' '}
            <bdi class="exact">
              <WithNames of={aboutText(entry, nameOf)} />
            </bdi>{' '}
            <span class="quiet">by {actorText(entry, nameOf)}</span>
            {entry.outcome === 'success' ? null : (
              <>
                {' '}
                <Badge value={entry.outcome} />
              </>
            )}
            {entry.reason === null ? null : <span class="quiet"> {words(entry.reason)}</span>}
          </span>
          <span class="trail-links">
            <Subject entry={entry} nameOf={nameOf} />
            <Link to={`proof?entry=${entry.sequence}`} label={`Proof of entry ${entry.sequence}`}>
              #{entry.sequence}
            </Link>
          </span>
        </li>
      ))}
    </ol>
  );
}

interface SubjectProps {
  readonly entry: AuditEntry;
  readonly nameOf: (id: string) => string;
}

function Subject({ entry, nameOf }: SubjectProps): JSX.Element | null {
  const to = subjectLink(entry);
  if (to === null) return null;
  const name = entry.subjectType === 'agent' ? nameOf(entry.subjectId) : words(entry.subjectType);
  return <Link to={to}>{name}</Link>;
}
