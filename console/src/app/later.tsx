import type { FunctionComponent, JSX } from 'preact';
import { useLoad } from '../api/load.js';
import { When } from '../ui/parts.js';

/** A screen whose code is loaded when it is first shown. */
export function later<Props extends object>(load: () => Promise<FunctionComponent<Props>>): FunctionComponent<Props> {
  return function Later(props: Props): JSX.Element {
    const moduleLoad = useLoad(load, []);
    return (
      <When load={moduleLoad} label="the screen">
        {(Screen) => <Screen {...props} />}
      </When>
    );
  };
}
