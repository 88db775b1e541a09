import type { JSX } from 'preact';
import { useLoad } from '../../api/load.js';
import { When } from '../../ui/parts.js';

/** The overview, whose charts are loaded when it is first shown. */
export function OverviewScreen(): JSX.Element {
  const loaded = useLoad(() => import('./overview.js'), []);
  return (
    <When of={loaded} what="the overview">
      {({ Overview }) => <Overview />}
    </When>
  );
}
