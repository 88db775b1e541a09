import type { JSX } from 'preact';
import { useEntityNames } from '../api/use-names.js';
import { showInvisible } from './format.js';

/** Matches an id of an entity, with the path before it. */
const ENTITY = /((?:[^\s/]+\/)*\bent_[0-9A-HJKMNP-TV-Z]{26}\b)/;

/**
 * Shows a text with the names of entities before their ids. The ids stay, since two entities may have one name, and two
 * paths may lead to one entity.
 */
export function WithNames({ text }: { readonly text: string }): JSX.Element {
  const nameOf = useEntityNames();
  return (
    <>
      {text.split(ENTITY).map((part, index) => {
        // Every second part is a match.
        if (index % 2 === 0) return part;
        const end = part.lastIndexOf('/') + 1;
        const id = part.slice(end);
        const name = nameOf(id);
        return (
          <span key={index}>
            <span class="path">{part.slice(0, end)}</span>
            {name === id ? null : (
              <>
                <bdi>{showInvisible(name)}</bdi>{' '}
              </>
            )}
            <code class="id">{id}</code>
          </span>
        );
      })}
    </>
  );
}
