import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useEntityNames, useNames } from '../../api/names.js';
import { useSession } from '../../api/session.js';
import type { AuditEntry } from '../../api/types.js';
import { Badge, Empty, Problem, When } from '../../ui/parts.js';
import { Link } from '../../ui/link.js';
import { At } from '../../ui/time.js';
import { type ActivityFilter, Filters, matches, NO_FILTER } from './filters.js';
import { aboutText, actorText, sentence, subjectLink } from './sentences.js';

const PAGE = 50;
/** So many entries are held on screen; older ones are a page away. */
const MOST_SHOWN = 500;

/** The trail as it is written, newest first. */
export function Activity(): JSX.Element {
  const { client, feed } = useSession();
  const [filter, setFilter] = useState<ActivityFilter>(NO_FILTER);
  const [fresh, setFresh] = useState<readonly AuditEntry[]>([]);
  const [older, setOlder] = useState<{
    readonly data: readonly AuditEntry[];
    readonly cursor: string | undefined;
  } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const first = useLoad(
    (signal) => client.get('/api/v1/audit', { query: { ...filter, limit: PAGE, order: 'desc' }, signal }),
    [client, filter],
  );
  useEffect(() => {
    setFresh([]);
    setOlder(null);
    return feed.listen((entry) => {
      if (entry !== null && matches(entry, filter)) setFresh((now) => [entry, ...now].slice(0, MOST_SHOWN));
    });
  }, [feed, filter]);

  return (
    <>
      <header class="screen-head">
        <h1>Activity</h1>
      </header>
      <Filters filter={filter} onChange={setFilter} />
      <When of={first} what="the trail">
        {({ data, nextCursor }) => {
          const entries = distinct([...fresh, ...data, ...(older?.data ?? [])]);
          const cursor = older === null ? nextCursor : older.cursor;
          const showOlder = async (from: string): Promise<void> => {
            try {
              const page = await client.get('/api/v1/audit', { query: { cursor: from, limit: PAGE } });
              setOlder((now) => ({ data: [...(now?.data ?? []), ...page.data], cursor: page.nextCursor }));
            } catch (reason) {
              setError(reason);
            }
          };
          return (
            <>
              <Entries entries={entries} />
              {error === null ? null : <Problem error={error} />}
              {cursor === undefined ? null : (
                <button type="button" class="more" onClick={() => void showOlder(cursor)}>
                  Show older
                </button>
              )}
            </>
          );
        }}
      </When>
    </>
  );
}

/** What came by the stream may be on the first page, too. */
function distinct(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const bySequence = new Map(entries.map((entry) => [entry.sequence, entry]));
  return [...bySequence.values()].sort((one, other) => other.sequence - one.sequence);
}

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }): JSX.Element {
  const nameOf = useNames();
  const withNames = useEntityNames();
  if (entries.length === 0) {
    return (
      <Empty title="Nothing matches.">
        <p>What agents and people do appears here as it happens.</p>
      </Empty>
    );
  }
  return (
    <ol class="rows trail">
      {entries.map((entry) => (
        <li key={entry.id}>
          <At at={entry.timestamp} />
          <span>
            <strong>{sentence(entry)}</strong> {withNames(aboutText(entry, nameOf))}{' '}
            <span class="quiet">by {actorText(entry, nameOf)}</span>
            {entry.outcome === 'success' ? null : (
              <>
                {' '}
                <Badge value={entry.outcome} />
              </>
            )}
            {entry.reason === null ? null : <span class="quiet"> {entry.reason.replaceAll('_', ' ')}</span>}
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
  const name = entry.subjectType === 'agent' ? nameOf(entry.subjectId) : entry.subjectType.replaceAll('_', ' ');
  return <Link to={to}>{name}</Link>;
}
