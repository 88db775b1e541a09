import type { FunctionComponent } from 'preact';
import { useLoad } from '../api/load.js';
import { When } from './parts.js';

/** A screen that is loaded when it is first shown: a file of its own. @param what it shows */
export function lazyScreen<Props extends object = object>(
  what: string,
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  return function LazyScreen(props) {
    const loaded = useLoad(load, []);
    return (
      <When of={loaded} what={what}>
        {(Screen) => <Screen {...props} />}
      </When>
    );
  };
}
