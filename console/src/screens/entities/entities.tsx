import type { JSX, TargetedSubmitEvent } from 'preact';
import { useId, useState } from 'preact/hooks';
import { usePages } from '../../api/pages.js';
import { useSession } from '../../api/session.js';
import { useFeed } from '../../api/use-feed.js';
import { go } from '../../app/router.js';
import { textOf } from '../../ui/form-sending.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Options } from '../../ui/options.js';
import { PagesEnd } from '../../ui/pages-end.js';
import { Empty, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';

const ID = /^ent_[0-9A-HJKMNP-TV-Z]{26}$/;

/** The things that agents work with: the newest, or those of a type and a name. */
export function Entities(): JSX.Element {
  const { client } = useSession();
  const [filter, setFilter] = useState<{ type?: string; name?: string }>({});
  const list = usePages(filter, (query, signal) => client.get('/api/v1/entities', { query, signal }));
  useFeed(
    () => {
      if (!list.isDeep) list.reload();
    },
    ({ action }) => action.startsWith('entity.'),
  );
  const types = [...new Set(list.data?.data.map(({ type }) => type))];
  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Entities</h1>
          <p class="quiet">What agents work with, and what is known about it.</p>
        </div>
      </header>
      <Search types={types} onSearch={setFilter} />
      <When load={list} label="the entities">
        {({ data, total }) =>
          total === 0 ? (
            <Empty title="There are none.">
              <p>An entity is found by its exact type and name, or by its id.</p>
            </Empty>
          ) : (
            <>
              <ul class="rows">
                {data.map(({ id, type, name, createdAt }) => (
                  <li key={id}>
                    <Link to={`entities/${id}`} class="row">
                      <span class="row-who exact">{showInvisible(type)}</span>
                      <span class="row-what">
                        <strong>
                          <bdi>{showInvisible(name)}</bdi>
                        </strong>
                        <code class="id">{id}</code>
                      </span>
                      <span class="row-state">
                        <span>
                          since <LocalTime iso={createdAt} />
                        </span>
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              <PagesEnd pages={list} text={countText(total, 'entity', 'entities')} />
            </>
          )
        }
      </When>
    </>
  );
}

interface SearchProps {
  /** The types of the loaded entities. */
  readonly types: readonly string[];
  readonly onSearch: (filter: { type?: string; name?: string }) => void;
}

function Search({ types, onSearch }: SearchProps): JSX.Element {
  const list = useId();
  const search = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [type, name] = [textOf(form, 'type').trim(), textOf(form, 'name').trim()];
    if (ID.test(name)) go(`entities/${name}`);
    else onSearch({ ...(type !== '' && { type }), ...(name !== '' && { name }) });
  };
  return (
    <form class="filters" role="search" aria-label="Search" onSubmit={search}>
      <label>
        Type
        <input name="type" list={list} maxLength={100} autocomplete="off" placeholder="Any" />
        <datalist id={list}>
          <Options choices={types.map((type) => [type, showInvisible(type)])} />
        </datalist>
      </label>
      <label>
        Name or id
        <input name="name" type="search" maxLength={255} autocomplete="off" placeholder="Any" />
      </label>
      <button type="submit">Search</button>
    </form>
  );
}
