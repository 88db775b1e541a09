import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { usePages } from '../../api/pages.js';
import { useFeed } from '../../api/use-feed.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { AuditEntry } from '../../api/types.js';
import { words } from '../../ui/format.js';
import { PagesEnd } from '../../ui/pages-end.js';
import { Badge, Empty, When } from '../../ui/parts.js';
import { Link } from '../../ui/link.js';
import { LocalTime } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { type ActivityFilter, matches } from './filters.js';
import { aboutText, actorText, reasonText, sentence, subjectLink } from './sentences.js';

/** With more new entries than this, the list starts again from its first page. */
const MAX_FRESH = 500;

/** The entries that match a filter, as they are written. */
export function Trail({ filter }: { readonly filter: ActivityFilter }): JSX.Element {
  const { client, feed } = useSession();
  /** Entries that match, since the first page was read. */
  const [fresh, setFresh] = useState<readonly AuditEntry[]>([]);
  const list = usePages(filter, async (query, signal) => {
    const page = await client.get('/api/v1/audit', { query, signal });
    const newest = page.data[0]?.sequence ?? 0;
    if (!('cursor' in query)) setFresh((now) => now.filter(({ sequence }) => sequence > newest));
    return page;
  });
  // The filter may be a name, but entries have ids: the first entry found has the agent's.
  const agentId = list.data?.data[0]?.agentId ?? null;
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
  useFeed(list.reload, () => isAgentUnknown || list.error !== null);
  useEffect(() => {
    // After an error the feed decides when to try again.
    if (fresh.length > MAX_FRESH && !list.loading && list.error === null) list.reload();
  }, [fresh.length, list.loading, list.error, list.reload]);
  return (
    <When load={list} label="the trail">
      {({ data }) => (
        <>
          <Entries entries={distinct([...fresh, ...data])} />
          <PagesEnd pages={list} more="Show older" />
        </>
      )}
    </When>
  );
}

/** An entry from the stream may also be on the first page. */
function distinct(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  const bySequence = new Map(entries.map((entry) => [entry.sequence, entry]));
  return [...bySequence.values()].sort((left, right) => right.sequence - left.sequence);
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
          <LocalTime iso={entry.timestamp} />
          <span>
            <strong>{sentence(entry)}</strong>{' '}
            <bdi class="exact">
              <WithNames text={aboutText(entry, nameOf)} />
            </bdi>{' '}
            <span class="quiet">by {actorText(entry, nameOf)}</span>
            {entry.outcome === 'success' ? null : (
              <>
                {' '}
                <Badge value={entry.outcome} />
              </>
            )}
            {entry.reason === null ? null : <span class="quiet"> {reasonText(entry.reason)}</span>}
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
