import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useQuery } from '../../app/router.js';
import { type ActivityFilter, filterIn, Filters } from './filters.js';
import { Trail } from './trail.js';

/** The audit trail as it is written, newest first. */
export function Activity(): JSX.Element {
  const query = useQuery();
  return <FilteredTrail key={query.toString()} initial={filterIn(query)} />;
}

function FilteredTrail({ initial }: { readonly initial: ActivityFilter }): JSX.Element {
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
