import { useLayoutEffect, useReducer } from 'preact/hooks';
import { showInvisible } from '../ui/format.js';
import { type Names, shortId } from './names.js';
import { useSession } from './session.js';

/** An agent's name, or its id until that is known. */
export function useNames(): (id: string | null) => string {
  const { names } = useSession();
  useChanges(names);
  return (id) => (id === null ? 'a key that is bound to nobody' : showInvisible(names.get(id) ?? shortId(id)));
}

/** An entity's name, or its id until that is known. */
export function useEntityNames(): (id: string) => string {
  const { entityNames } = useSession();
  useChanges(entityNames);
  return (id) => entityNames.get(id) ?? id;
}

function useChanges(names: Names): void {
  const [, refresh] = useReducer((count: number, step: number) => count + step, 0);
  // Immediately: a name may arrive before the next frame.
  useLayoutEffect(() => names.follow(() => refresh(1)), [names]);
}
