import type { Axis } from './pattern-tree';
import { resourceText, setsAround, type ResourceKey } from './resource-key';

export const ACTIONS: Axis<string> = {
  root: '*',
  always: [],
  around: prefixesOf,
  text: (action) => action,
};

export const RESOURCES: Axis<ResourceKey> = {
  root: '*',
  // Every id is one or the other. No pattern stands for ids that are not URLs: they are all, except the URLs.
  always: [
    ['://', null],
    ['paths', '://'],
  ],
  around: setsAround,
  text: resourceText,
};

/** Prefixes of an action, as patterns, the longest first. */
function* prefixesOf(action: string): Generator<string> {
  if (action === '*') return;
  const isPrefix = action.endsWith('*');
  for (let length = isPrefix ? action.length - 2 : action.length; length >= 0; length -= 1)
    yield `${action.slice(0, length)}*`;
}
