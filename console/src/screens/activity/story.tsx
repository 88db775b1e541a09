import type { JSX } from 'preact';
import { useLoad } from '../../api/load.js';
import { useFeed } from '../../api/use-feed.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import { countText } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { actorText, reasonText, sentence } from './sentences.js';

/** The maximum page length of the API. */
const MAX_ENTRIES = 1_000;

interface StoryProps {
  readonly subjectIds: readonly string[];
  /** A new value triggers a reload. */
  readonly version: string;
}

/** Shows the history of some records on one timeline; each step links to its proof. */
export function Story({ subjectIds, version }: StoryProps): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const story = useLoad(
    async (signal) => {
      const query = { order: 'asc', limit: MAX_ENTRIES } as const;
      const pages = await Promise.all(
        subjectIds.map((subjectId) => client.get('/api/v1/audit', { query: { ...query, subjectId }, signal })),
      );
      const entries = pages.flatMap(({ data }) => data).sort((left, right) => left.sequence - right.sequence);
      return { entries, later: pages.reduce((sum, { data, total }) => sum + total - data.length, 0) };
    },
    [client, subjectIds.join(' '), version],
  );
  // The contents of entries go after those of the record.
  useFeed(story.reload, ({ action }) => action === 'erasure.completed' || action.endsWith('.erased'));
  return (
    <When load={story} label="the timeline">
      {({ entries, later }) => (
        <>
          <ol class="story">
            {entries.map((entry) => (
              <li key={entry.id} class={entry.outcome}>
                <LocalTime iso={entry.timestamp} /> <strong>{sentence(entry)}</strong>{' '}
                <span class="quiet">
                  by {actorText(entry, nameOf)}
                  {entry.reason === null ? '' : `: ${reasonText(entry.reason)}`}
                </span>{' '}
                <Link to={`proof?entry=${entry.sequence}`} class="proof-link">
                  Proof of entry {entry.sequence}
                </Link>
              </li>
            ))}
          </ol>
          {later === 0 ? null : (
            <p class="quiet">And {countText(later, 'later entry', 'later entries')}: see the API.</p>
          )}
        </>
      )}
    </When>
  );
}
